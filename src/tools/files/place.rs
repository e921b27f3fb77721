//! Maps a path argument to a root and a path below it, and describes errors there.

use super::{content::from_base64, reach::reach};
use crate::registry::context::Context;
use base::{
    error::{ErrorCode, ToolError},
    os::{beneath::Beneath, roots::FolderRoot},
};
use rustix::io::Errno;
use std::{
    ffi::OsStr,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
    sync::Arc,
};

/// Longest path, in characters; the kernel's own limit is as many bytes (PATH_MAX, without the final NUL).
pub const LONGEST_PATH: usize = 4095;
/// Longest path in base64, in characters.
pub const LONGEST_PATH_BASE64: usize = LONGEST_PATH.div_ceil(3) * 4;

/// The access that a call needs. The names are those in permissions: `files:read:/srv/data/a`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileAccess {
    Read,
    List,
    Write,
    Delete,
}

impl FileAccess {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::List => "list",
            Self::Write => "write",
            Self::Delete => "delete",
        }
    }
    /// Whether it needs a writable root.
    pub const fn is_change(self) -> bool {
        matches!(self, Self::Write | Self::Delete)
    }
    /// The word after "cannot be".
    const fn done(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::List => "listed",
            Self::Write => "written",
            Self::Delete => "deleted",
        }
    }
}

/// How a call names a file or folder.
#[derive(Clone, Copy)]
pub struct PathArguments<'a> {
    pub path: &'a str,
    /// The bytes of the path in base64, where they are not UTF-8; `path` then has U+FFFD in place of what cannot be written.
    pub path_base64: Option<&'a str>,
    /// Name of the root in which a relative path begins.
    pub root: Option<&'a str>,
}

impl PathArguments<'_> {
    /// The bytes of the path.
    ///
    /// # Errors
    /// `invalid_argument` where `path_base64` is not base64, or names another path than `path`: a person who approves the call,
    /// and the audit, read `path`.
    fn bytes(&self) -> Result<Vec<u8>, ToolError> {
        let Some(coded) = self.path_base64 else { return Ok(self.path.as_bytes().to_vec()) };
        let bytes = from_base64(coded, "path_base64")?;
        if String::from_utf8_lossy(&bytes) != self.path {
            return Err(ToolError::invalid("path_base64 is not the base64 of path")
                .with("parameter", "path_base64")
                .hint("give path and path_base64 of one entry of files.list, both as they are"));
        }
        Ok(bytes)
    }
}

/// A path in a root. Not resolved yet: the kernel does that when it is opened.
#[derive(Clone, Debug)]
pub struct RootedPath {
    pub root: Arc<FolderRoot>,
    /// Path below the root, without `.` or `..`; empty for the root itself.
    pub relative: PathBuf,
    want: FileAccess,
}

impl RootedPath {
    /// Finds the root of a path: for an absolute one, the one that contains it; otherwise the root that is named, or the first.
    ///
    /// # Errors
    /// `invalid_argument` for an invalid path, `permission_denied` if no root contains it, or for a change in a
    /// read-only root.
    pub fn of(cx: &Context, given: PathArguments<'_>, want: FileAccess) -> Result<Self, ToolError> {
        let all = reach(cx, want);
        let bad = |why: &str| Err(ToolError::invalid(format!("the path {why}")).with("parameter", "path"));
        let bytes = given.bytes()?;
        if bytes.contains(&0) {
            return bad("holds a NUL, which no file name can");
        }
        let mut relative = PathBuf::new();
        for part in bytes.split(|byte| *byte == b'/') {
            match part {
                b"" | b"." => {}
                b".." => return bad("goes up with \"..\"; write where it leads to instead"),
                name => relative.push(OsStr::from_bytes(name)),
            }
        }
        let root = match given.root {
            Some(name) => Some(all.iter().find(|root| root.name == name).ok_or_else(|| {
                ToolError::not_found(format!("there is no root called {name:?}"))
                    .with("parameter", "root")
                    .with("roots", names(&all))
                    .hint("files.list shows the roots; leave root out for the first one")
            })?),
            None => None,
        };
        let found = if bytes.starts_with(b"/") {
            let full = Path::new("/").join(&relative);
            let held = |root: &&Arc<FolderRoot>| {
                full.strip_prefix(&root.path).or_else(|_| full.strip_prefix(&root.resolved)).is_ok()
            };
            let holder = root.or_else(|| all.iter().find(held)).filter(held);
            holder.map(|root| {
                let below = full.strip_prefix(&root.path).or_else(|_| full.strip_prefix(&root.resolved));
                (root, below.unwrap_or(&full).to_owned())
            })
        } else {
            root.or_else(|| all.first()).map(|root| (root, relative))
        };
        let Some((root, relative)) = found else { return Err(outside(&all, given.path, want)) };
        let mut place = Self { root: Arc::clone(root), relative, want };
        if want.is_change() && !root.writable {
            // A grant may open a folder in it to this tool.
            let full = root.resolved.join(&place.relative);
            let inner = |root: &&Arc<FolderRoot>| root.writable && full.starts_with(&root.resolved);
            if let Some(inner) = all.iter().find(inner) {
                place.relative = full.strip_prefix(&inner.resolved).unwrap_or(&full).to_owned();
                place.root = Arc::clone(inner);
                return Ok(place);
            }
            let name = &root.name;
            return Err(ToolError::denied(format!("{} is in the root {name}, which is read-only", place.shown()))
                .with("parameter", "path")
                .with("writable", false)
                .with("required_permission", place.permission())
                .hint(format!("the owner of this machine can set writable = true for {name} in [[files.roots]]")));
        }
        Ok(place)
    }

    /// The absolute path, with the root as configured.
    pub fn shown(&self) -> String {
        self.root.path.join(&self.relative).to_string_lossy().trim_end_matches('/').to_owned()
    }

    /// The permission that a call needs here.
    pub fn permission(&self) -> String {
        format!("files:{}:{}", self.want.name(), self.shown())
    }

    /// Whether this is the root itself.
    pub fn is_root(&self) -> bool {
        self.relative.as_os_str().is_empty()
    }

    /// Opens the root.
    ///
    /// # Errors
    /// `unavailable` if it does not exist, or has become a link.
    pub fn open(&self) -> Result<Beneath, ToolError> {
        self.root.open().map_err(|fault| {
            let (name, path) = (&self.root.name, self.root.path.display());
            let error = match fault {
                Errno::NOSYS => return old_kernel(),
                Errno::NOENT | Errno::NOTDIR => {
                    ToolError::unavailable(format!("the root {name} has no folder: {path} is not there"))
                        .hint("make it, or mount what belongs there; raspi-mcp doctor looks at every root")
                }
                Errno::LOOP => ToolError::unavailable(format!("{path} is reached by a symbolic link by now")).hint(
                    "restart raspi-mcp if that is right; a grant of raspi-mcp allow has to name the folder itself",
                ),
                Errno::ACCESS => ToolError::unavailable(format!("this server's user may not enter {path}"))
                    .hint("let it in (chmod, or a group); raspi-mcp doctor looks at every root"),
                other => ToolError::unavailable(format!("the root {name} ({path}) cannot be opened: {}", words(other))),
            };
            error.with("resource", path.to_string())
        })
    }

    /// Converts an error at this place, with a code and the next step.
    pub fn fault(&self, fault: Errno) -> ToolError {
        let (shown, done) = (self.shown(), self.want.done());
        let error = match fault {
            Errno::NOENT => ToolError::not_found(format!("there is no {shown}")).hint("files.list shows what there is"),
            Errno::LOOP => ToolError::denied(format!(
                "the way to {shown} never ends, through symbolic links that lead back to themselves or more than 40 of \
                 them, or goes through a link of /proc, which is not followed"
            ))
            .with("required_permission", self.permission())
            .hint("files.list shows what each link says (target); name the file that it is about"),
            Errno::XDEV => {
                ToolError::denied(format!("the way to {shown} leads out of the root {}", self.root.name))
                    .with("required_permission", self.permission())
                    .hint("a symbolic link or a mount on the way points elsewhere; what is mounted there can be a root of its own")
            }
            Errno::ACCESS | Errno::PERM => {
                ToolError::denied(format!("this server's user has no right that lets {shown} be {done}"))
                    .with("required_permission", self.permission())
                    .hint("its owner can change mode or group; files.list shows the mode")
            }
            Errno::ROFS => ToolError::denied(format!("{shown} cannot be {done}: for this server it is read-only there"))
                .with("required_permission", self.permission())
                .hint(format!(
                    "as a service it may only write where its unit says: run \"systemctl edit raspi-mcp\", add the lines \
                     [Service] and ReadWritePaths={}, and restart it; a read-only mount needs a remount",
                    self.root.path.display()
                )),
            Errno::NOSPC | Errno::DQUOT => {
                ToolError::exhausted(format!("there is no space left to write {shown}; nothing was changed"))
                    .hint("delete something, or raise the quota")
            }
            Errno::FBIG => ToolError::new(ErrorCode::ContentTooLarge, format!("{shown} would be too large for its disk")),
            Errno::NAMETOOLONG => ToolError::invalid(format!("a name in the path has more than 255 bytes, or all of it more than {LONGEST_PATH}")),
            Errno::ISDIR => ToolError::precondition(format!("{shown} is a directory")),
            Errno::NOTDIR => ToolError::precondition(format!("something on the way to {shown} is no directory")),
            Errno::NOSYS => return old_kernel(),
            Errno::MFILE | Errno::NFILE => ToolError::exhausted("too many files are open").hint("try again in a moment"),
            other => ToolError::unavailable(format!("{shown} cannot be {done}: {}", words(other))).hint("try again"),
        };
        error.with("parameter", "path").with("resource", shown)
    }
}

/// The system's error text.
pub fn words(fault: Errno) -> String {
    std::io::Error::from(fault).to_string()
}

fn old_kernel() -> ToolError {
    ToolError::missing("there is no openat2 here, without which no path is safe")
        .hint("it needs Linux 5.6, and a unit without RestrictSUIDSGID=, which hides it")
}

fn names(all: &[Arc<FolderRoot>]) -> Vec<String> {
    all.iter().map(|root| root.name.clone()).collect()
}

fn outside(all: &[Arc<FolderRoot>], path: &str, want: FileAccess) -> ToolError {
    let shown: String = path.chars().take(200).collect();
    let folders: Vec<String> = all.iter().map(|root| root.path.display().to_string()).collect();
    let error = if folders.is_empty() {
        ToolError::denied(format!("no folder is open to files.{}", want.name()))
            .hint(format!(
                "the owner opens a folder with `raspi-mcp allow files.{} --path FOLDER`, or with [[files.roots]] in /etc/raspi-mcp",
                want.name()
            ))
    } else {
        ToolError::denied(format!("{shown} is in none of the folders that files.{} may reach", want.name()))
            .hint(format!("they are {}; relative paths begin in the first", folders.join(", ")))
    };
    error
        .with("parameter", "path")
        .with("required_permission", format!("files:{}:{shown}", want.name()))
        .with("roots", folders)
}
