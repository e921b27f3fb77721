//! Files that come with a backup: of the site's folder, and of the agent's own.
//!
//! On the machine that is restored they are in the record with everything else, in one write, and stay there until each is
//! on the data partition under its name. A power cut in between is followed by the same steps once more.

use base::os::whole;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::{
    collections::BTreeMap,
    fs::{self, Permissions},
    io::{self, Write},
    os::unix::fs::{DirBuilderExt, PermissionsExt},
    path::Path,
};
use update::slots::StateRecord;

/// Its key in [`StateRecord::kept`].
const KEY: &str = "restore";
/// Most files, bytes of one and bytes of all.
pub(super) const MOST: usize = 128;
pub(super) const LONGEST: usize = 64 << 10;
pub(super) const ALL: usize = 256 << 10;
/// Files of the agent that are kept: who approves, which agents are accepted, and which orders of the fleet were followed.
pub(super) const AGENT_FILES: [&str; 3] = [APPROVERS, "agents.json", RISING];
pub(super) const APPROVERS: &str = "approvers.json";
/// Of these the higher numbers count, wherever they are: no order is followed twice.
const RISING: &str = "fleet.json";

/// Files by their path in their folder: `20-mine.toml`, `routeros/office`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SavedFiles {
    /// Of the site's folder, `/etc/raspi-mcp`.
    #[serde(default)]
    pub site: BTreeMap<String, SavedFile>,
    /// Of the agent's folder.
    #[serde(default)]
    pub agent: BTreeMap<String, SavedFile>,
}

/// A file. Its debug form does not show what is in it.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SavedFile {
    pub text: String,
    /// Permissions, without those of others to write.
    pub mode: u32,
}

impl std::fmt::Debug for SavedFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} bytes", self.text.len())
    }
}

impl SavedFiles {
    /// Checks names, numbers and sizes: no path leads out of its folder.
    ///
    /// # Errors
    /// What is wrong.
    pub(super) fn check(&self) -> Result<(), String> {
        let all = || self.site.iter().chain(&self.agent);
        if all().count() > MOST || all().map(|(_, file)| file.text.len()).sum::<usize>() > ALL {
            return Err(format!("it has more than {MOST} files or {ALL} bytes in them"));
        }
        let bad_site = self.site.keys().find(|path| !is_site_path(path));
        let bad_agent = self.agent.keys().find(|name| !AGENT_FILES.contains(&name.as_str()));
        if let Some(path) = bad_site.or(bad_agent) {
            return Err(format!("it has a file {path:?}, which is none of a backup"));
        }
        match all().find(|(_, file)| file.mode & !0o755 != 0 || file.text.len() > LONGEST) {
            Some((path, file)) => {
                Err(format!("its file {path} has mode {:o} and {} bytes", file.mode, file.text.len()))
            }
            None => Ok(()),
        }
    }

    /// Those that a state still has to write; `None` if there are none.
    ///
    /// # Errors
    /// Why they cannot be read.
    pub fn pending(state: &StateRecord) -> Result<Option<Self>, String> {
        let Some(bytes) = state.kept.get(KEY) else { return Ok(None) };
        let files: Self = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
        files.check()?;
        Ok(Some(files))
    }

    /// Whether a state has files to write, readable or not.
    pub fn are_pending(state: &StateRecord) -> bool {
        state.kept.contains_key(KEY)
    }

    pub(super) fn keep(&self, state: &mut StateRecord) {
        // Strings and numbers, so this cannot fail.
        state.kept.insert(KEY.into(), serde_json::to_vec(self).unwrap_or_default());
    }

    /// After they were written, and after a reset.
    pub fn forget(state: &mut StateRecord) {
        state.kept.remove(KEY);
    }

    /// Writes them, each atomically. Files that are there under other names stay. Returns their number.
    ///
    /// # Errors
    /// Those of the first file that cannot be written, with its path; all of it can be repeated.
    pub fn write(&self, site: &Path, agent: &Path) -> Result<usize, String> {
        for (folder, files) in [(site, &self.site), (agent, &self.agent)] {
            for (path, file) in files {
                let path = folder.join(path);
                put(&path, file).map_err(|error| format!("{}: {error}", path.display()))?;
            }
        }
        Ok(self.site.len() + self.agent.len())
    }
}

fn put(path: &Path, file: &SavedFile) -> io::Result<()> {
    let text = match path.file_name().is_some_and(|name| name == RISING) {
        true => rising(path, &file.text),
        false => file.text.clone(),
    };
    if let Some(folder) = path.parent() {
        // A folder that is not there is as private as its first file.
        let mode = if file.mode & 0o077 == 0 { 0o700 } else { 0o755 };
        fs::DirBuilder::new().recursive(true).mode(mode).create(folder)?;
    }
    // The suffix of the file that is written first would be the same for `a.toml` and `a.txt`; they are written one by one.
    whole::replace(path, 0o600, |to| {
        to.write_all(text.as_bytes())?;
        to.set_permissions(Permissions::from_mode(file.mode))
    })
}

/// The JSON of a file and of the one that is there, with the higher number of each.
fn rising(path: &Path, text: &str) -> String {
    let there = fs::read(path).ok().and_then(|bytes| serde_json::from_slice::<Value>(&bytes).ok());
    match (there, serde_json::from_str::<Value>(text)) {
        (Some(there), Ok(new)) => highest(there, new).to_string(),
        _ => text.to_owned(),
    }
}

fn highest(one: Value, other: Value) -> Value {
    match (one, other) {
        (Value::Object(mut one), Value::Object(other)) => {
            for (name, value) in other {
                let known = one.remove(&name).unwrap_or_default();
                one.insert(name, highest(known, value));
            }
            Value::Object(one)
        }
        (Value::Number(one), Value::Number(other)) => {
            Value::Number(if one.as_u64() > other.as_u64() { one } else { other })
        }
        (one, Value::Null) => one,
        (_, other) => other,
    }
}

/// A file of the site's folder, or of a folder in it: no hidden one, and no way out.
pub(super) fn is_site_path(path: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._@-".contains(&byte);
    let name = |part: &str| (1..=64).contains(&part.len()) && !part.starts_with('.') && part.bytes().all(plain);
    path.split('/').count() <= 2 && path.split('/').all(name) && !path.ends_with(".new")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn no_path_leads_out_of_its_folder() {
        for good in ["20-mine.toml", "routeros/office", "conf.d/a@b_c.toml"] {
            assert!(is_site_path(good), "{good}");
        }
        for bad in ["", "/etc/passwd", "../x", "a/../b", ".x", "a/.x", "a/b/c", "a b", "a\\b", "a//b", "a.new", "ä"] {
            assert!(!is_site_path(bad), "{bad}");
            let site = BTreeMap::from([(bad.to_owned(), SavedFile::default())]);
            assert!(SavedFiles { site, ..SavedFiles::default() }.check().is_err(), "{bad}");
        }
        let agent = |name: &str, mode| SavedFiles {
            agent: BTreeMap::from([(name.to_owned(), SavedFile { mode, ..SavedFile::default() })]),
            ..SavedFiles::default()
        };
        agent("approvers.json", 0o600).check().unwrap();
        assert!(agent("halt.json", 0o600).check().is_err() && agent("approvers.json", 0o4755).check().is_err());
        assert!(agent("approvers.json", 0o666).check().is_err());
    }

    #[test]
    fn numbers_and_sizes_are_bounded() {
        let with = |count: usize, bytes: usize| {
            let file = SavedFile { text: "x".repeat(bytes), mode: 0o600 };
            let site = (0..count).map(|n| (format!("{n}.toml"), file.clone())).collect();
            SavedFiles { site, ..SavedFiles::default() }.check()
        };
        with(MOST, 1).unwrap();
        with(4, LONGEST).unwrap();
        assert!(with(MOST + 1, 1).is_err() && with(5, LONGEST).is_err() && with(1, LONGEST + 1).is_err());
    }

    #[test]
    fn of_what_only_rises_the_higher_number_counts() {
        let there = json!({ "reserved": 9, "orders": { "halt": 5, "lift": 3 }, "report_minutes": null });
        let new = json!({ "reserved": 7, "orders": { "halt": 6, "interval": 1 }, "report_minutes": 4 });
        assert_eq!(
            highest(there, new),
            json!({ "reserved": 9, "orders": { "halt": 6, "lift": 3, "interval": 1 }, "report_minutes": 4 })
        );
    }

    #[test]
    fn they_are_kept_until_they_are_forgotten() {
        let mut state = StateRecord::default();
        assert_eq!(SavedFiles::pending(&state), Ok(None));
        SavedFiles::default().keep(&mut state);
        assert_eq!(SavedFiles::pending(&state), Ok(Some(SavedFiles::default())));
        state.kept.insert(KEY.into(), b"{".to_vec());
        assert!(SavedFiles::pending(&state).is_err() && SavedFiles::are_pending(&state));
        SavedFiles::forget(&mut state);
        assert!(!SavedFiles::are_pending(&state));
    }
}
