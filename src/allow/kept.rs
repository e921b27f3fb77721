//! The contents of a fragment: grants, and the policy of their tools.

use contract::{
    config::{
        Assignment, ConfigError, Faults, Fragment, Grant, Origin, Sources, fragment_of, keys::NAMESPACES, read_fragment,
    },
    meta::Mode,
};
use std::{collections::BTreeMap, fmt::Write, path::Path};

const HEAD: &str = "\
# Written by `raspi-mcp allow` and `raspi-mcp revoke`, which show and change it: `raspi-mcp allow --list`.
# Both halves read it; a change counts at once, without a restart.
";

/// One fragment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GrantFragment {
    pub grants: Vec<Grant>,
    pub policy: BTreeMap<String, Mode>,
}

impl GrantFragment {
    /// The file's contents; empty if there is no file.
    ///
    /// # Errors
    /// Faults in it, and settings that `raspi-mcp allow` does not write, which would be lost.
    pub fn read(path: &Path, sources: &Sources) -> Result<Self, Faults> {
        match path.symlink_metadata() {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Self::default()),
            Ok(about) if !about.is_file() => {
                let message = "is not a regular file, so nothing is written there; remove it";
                return Err(Faults(vec![ConfigError::new(Origin::file(path), message)]));
            }
            _ => {}
        }
        let Fragment { assignments, mut faults, .. } = read_fragment(path, sources.places.policy_owner, &sources.tools);
        let mut kept = Self::default();
        for Assignment { key, tool, value, origin } in assignments {
            let taken = match (key.name, tool) {
                ("tools.allow", _) => serde_json::from_value(value).map(|mut grants| kept.grants.append(&mut grants)),
                ("policy", Some(tool)) => {
                    serde_json::from_value(value).map(|mode| kept.policy.extend([(tool.to_owned(), mode)]))
                }
                (name, _) => {
                    let message = format!("raspi-mcp allow does not write {name}; move it to a file of its own");
                    faults.push(ConfigError::new(origin, message));
                    continue;
                }
            };
            if let Err(error) = taken {
                faults.push(ConfigError::new(origin, error.to_string()));
            }
        }
        if faults.is_empty() { Ok(kept) } else { Err(Faults(faults)) }
    }

    pub fn is_empty(&self) -> bool {
        self.grants.is_empty() && self.policy.is_empty()
    }

    /// The file's text.
    pub fn text(&self) -> String {
        let mut text = String::from(HEAD);
        if !self.policy.is_empty() {
            text.push_str("\n[policy]\n");
        }
        for (tool, mode) in &self.policy {
            let _ = writeln!(text, "{tool:?} = {}", serde_json::json!(mode));
        }
        for grant in &self.grants {
            text.push_str("\n[[tools.allow]]\n");
            // JSON and TOML write plain strings, integers and lists of them alike; other characters in strings were
            // refused before.
            let fields = serde_json::to_value(grant).unwrap_or_default();
            for (name, value) in fields.as_object().into_iter().flatten() {
                let _ = writeln!(text, "{name} = {value}");
            }
        }
        text
    }
}

/// Every non-empty fragment of the site.
///
/// # Errors
/// Those of [`GrantFragment::read`].
pub fn all(sources: &Sources) -> Result<Vec<GrantFragment>, Faults> {
    let mut all = Vec::new();
    for namespace in NAMESPACES.iter().chain(&["tools"]) {
        let kept = GrantFragment::read(&fragment_of(&sources.places.site_dir, namespace), sources)?;
        if !kept.is_empty() {
            all.push(kept);
        }
    }
    Ok(all)
}
