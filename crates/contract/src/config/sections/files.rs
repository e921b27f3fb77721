//! `[[files.roots]]`: the folders that `files.*` may reach, and the check that none of them exposes protected paths.

use crate::config::{
    declare::section,
    found::{LocatedValue, UncheckedValue},
    key::InState,
    kind::{Complaint, GIB, KIB, KnownTools, SettingKind, bytes},
    settings::Settings,
    table_setting::TableSetting,
    words::{full_path, is_name},
};
use base::os::{real_path::resolved, roots::FolderRoot};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::path::{Path, PathBuf};

section! {
    /// Folders that `files.*` can access. Without one, those tools access nothing.
    [files] pub struct Files {
        /// Folders, one `[[files.roots]]` each. Relative paths start in the first. A folder must not overlap another
        /// one, the state, the configuration, `/run`, `/dev`, `/proc` or `/sys`. For the service, a writable one also
        /// needs `ReadWritePaths=` in a drop-in (`systemctl edit raspi-mcp`).
        roots: Vec<FileRoot> = Vec::new(), SettingKind::Tables(&ROOTS), InState::Never;
    }
}

/// A folder that `files.*` may reach.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileRoot {
    /// The name that callers use; unique.
    pub name: String,
    /// A full path.
    pub path: PathBuf,
    /// Whether files may be written and deleted there.
    #[serde(default)]
    pub writable: bool,
    /// Maximum bytes of a file that is read or written there.
    #[serde(default = "default_max_bytes")]
    pub max_bytes: u64,
    /// Whether `vector.search` finds its text files.
    #[serde(default)]
    pub index: bool,
}

impl FileRoot {
    /// A folder of a grant, with its path as its name.
    pub fn granted(path: &str, writable: bool) -> Self {
        Self { name: path.to_owned(), path: path.into(), writable, max_bytes: DEFAULT_MAX_BYTES, index: false }
    }

    /// The root to open. Symbolic links in its path are resolved now and never again.
    pub fn folder(&self) -> FolderRoot {
        FolderRoot {
            name: self.name.clone(),
            path: self.path.clone(),
            writable: self.writable,
            max_bytes: self.max_bytes,
            indexed: self.index,
            resolved: resolved(&self.path),
        }
    }

    /// The root to open for the folder of a grant. Its path is used as written: one with a symbolic link in it cannot
    /// be opened.
    pub fn granted_folder(path: &str, writable: bool) -> FolderRoot {
        let Self { name, path, writable, max_bytes, index } = Self::granted(path, writable);
        FolderRoot { name, resolved: path.clone(), path, writable, max_bytes, indexed: index }
    }
}

/// A file is hashed completely when it is read, and a Pi 4 hashes 200 MB per second.
const DEFAULT_MAX_BYTES: u64 = 16 << 20;
const MAX_BYTES: SettingKind = bytes(KIB, GIB);
/// Maximum number of roots, more than anybody sets up by hand. A refusal lists all of them.
const MOST: usize = 32;

fn default_max_bytes() -> u64 {
    DEFAULT_MAX_BYTES
}

/// `files.roots`.
pub const ROOTS: TableSetting = TableSetting {
    key: "files.roots",
    noun: "root",
    most: MOST,
    named: true,
    secret: false,
    required: &["name", "path"],
    optional: &["writable (false)", "max_bytes (16 MiB)", "index (false)"],
    check_field,
    example: "\
#[[files.roots]]
#name = \"data\"
#path = \"/srv/raspi-mcp\"
#writable = true
#max_bytes = 16777216
#index = true
",
};

fn check_field(field: &str, found: &LocatedValue, tools: &KnownTools) -> Option<Result<Value, Complaint>> {
    let refuse = |message: String| Err((found.at, message));
    Some(match (field, &found.value) {
        ("name", UncheckedValue::Text(text)) if is_name(text, 64) => Ok(text.as_str().into()),
        ("name", _) => refuse("files.roots.name must be 1 to 64 characters from a-z, 0-9, \"_\" and \"-\"".into()),
        ("path", UncheckedValue::Text(text)) if full_path(text) => Ok(text.as_str().into()),
        ("path", _) => {
            refuse(format!("files.roots.path must be {}, not {}", SettingKind::Folder.expected(), found.shown()))
        }
        ("writable", _) => SettingKind::Bool.check_field("files.roots.writable", found, tools),
        ("index", _) => SettingKind::Bool.check_field("files.roots.index", found, tools),
        ("max_bytes", _) => MAX_BYTES.check_field("files.roots.max_bytes", found, tools),
        _ => return None,
    })
}

/// Folders of the system that no root may overlap.
const SYSTEM: [&str; 4] = ["/run", "/dev", "/proc", "/sys"];

/// The protected paths, with symbolic links resolved.
fn guarded<'a>(settings: &'a Settings, configuration: &'a [PathBuf]) -> Vec<(&'static str, PathBuf)> {
    let places = &settings.places;
    let own = [
        ("the state", &places.state_dir),
        ("the sockets", &places.runtime_dir),
        ("the agent's state", &places.agent_state_dir),
        ("the agent's socket", &places.agent_socket),
        ("the server's socket", &settings.socket.path),
        ("the private key", &settings.tls.key),
        ("the certificate", &settings.tls.certificate),
        ("the keys of [jwt]", &settings.jwt.keys_file),
    ];
    own.into_iter()
        .map(|(what, path)| (what, path.as_path()))
        .chain(configuration.iter().map(|path| ("the configuration", path.as_path())))
        .chain(SYSTEM.iter().map(|path| ("the system's own files", Path::new(path))))
        .map(|(what, path)| (what, resolved(path)))
        .collect()
}

fn overlap(one: &Path, other: &Path) -> bool {
    one.starts_with(other) || other.starts_with(one)
}

/// Whether a folder may be granted, as far as that does not depend on this machine's settings: never one that overlaps
/// `/etc`, `/run`, `/dev`, `/proc` or `/sys`.
pub fn is_grantable(folder: &Path) -> bool {
    !SYSTEM.iter().chain(&["/etc"]).any(|path| overlap(folder, Path::new(path)))
}

/// The faults of granted folders that overlap protected paths. Symbolic links are not resolved: a folder that is
/// reached through one is not entered, and otherwise whoever creates a link could cause a grant's file to be set aside.
pub fn wrong_grants(settings: &Settings, configuration: &[PathBuf]) -> Vec<String> {
    let guarded = guarded(settings, configuration);
    let paths = settings.tools.allow.iter().flat_map(|grant| grant.paths.iter().map(move |path| (&grant.tool, path)));
    let wrong = |(tool, shown): (&String, &String)| {
        let path = Path::new(shown);
        let (what, other) = guarded.iter().find(|(_, other)| overlap(path, other))?;
        let other = other.display();
        Some(format!("tools.allow: {tool} has {shown}, which overlaps {what} in {other}; name another folder"))
    };
    paths.filter_map(wrong).collect()
}

/// The faults of roots that overlap protected paths or other roots, in either direction. `configuration` is where the
/// configuration was read from. Paths are compared with symbolic links resolved.
pub fn overlaps(settings: &Settings, configuration: &[PathBuf]) -> Vec<String> {
    let guarded = guarded(settings, configuration);
    let mut faults = Vec::new();
    let mut seen: Vec<(&FileRoot, PathBuf)> = Vec::new();
    for root in &settings.files.roots {
        let (name, path) = (&root.name, resolved(&root.path));
        let shown = root.path.display();
        if let Some((what, other)) = guarded.iter().find(|(_, other)| overlap(&path, other)) {
            faults.push(format!(
                "files.roots: {name} is {shown}, which overlaps {what} in {}; give it a folder of its own",
                other.display()
            ));
        }
        if let Some((other, _)) = seen.iter().find(|(_, other)| overlap(&path, other)) {
            let (theirs, there) = (&other.name, other.path.display());
            faults.push(format!(
                "files.roots: {name} is {shown}, which overlaps {theirs} in {there}; a file must have one root"
            ));
        }
        seen.push((root, path));
    }
    faults
}
