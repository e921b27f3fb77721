//! Whether a release knows the settings of this machine, before its image is fetched: with a setting that it does not know it would not
//! start, or only restricted, and its trial would end.

use crate::UpdateClient;
use base::{error::ToolError, os::blocking};
use contract::config::InForce;
use update::bundle::Manifest;

/// Most settings that an error names.
const NAMED: usize = 8;

impl UpdateClient {
    /// Compares the settings as they are in the files now with those that the release of `manifest` knows.
    ///
    /// # Errors
    /// `failed_precondition`, naming each setting that it does not know and where it is made.
    pub(crate) async fn knows_settings(&self, manifest: &Manifest) -> Result<(), ToolError> {
        if manifest.config_keys.is_empty() && manifest.changes.settings.is_empty() {
            return Ok(());
        }
        let sources = self.0.settings.sources.clone();
        let read = blocking::run("update", move |_| {
            sources.owner_settings().map_err(|faults| ToolError::precondition(faults.to_string()))
        });
        match read.await {
            Ok(set) => known(manifest, &set),
            // What this version cannot read is no reason against another one; the trial decides.
            Err(error) => {
                tracing::warn!(target: "update", %error, "the settings here cannot be compared with those that the release knows");
                Ok(())
            }
        }
    }
}

fn known(manifest: &Manifest, set: &[InForce]) -> Result<(), ToolError> {
    let unknown: Vec<&InForce> = set.iter().filter(|one| manifest.knows_setting(&one.key) == Some(false)).collect();
    if unknown.is_empty() {
        return Ok(());
    }
    let mut named: Vec<String> =
        unknown.iter().take(NAMED).map(|one| format!("{}, which {} sets", one.key, one.origin)).collect();
    if let more @ 1.. = unknown.len() - named.len() {
        named.push(format!("{more} more"));
    }
    let became: Vec<String> = unknown.iter().filter_map(|one| manifest.became_of(&one.key)).take(NAMED).collect();
    let then = match became.is_empty() {
        true => "see that version's docs/configuration.md for what took their place".to_owned(),
        false => format!("make what you still need once the update is committed: {}", became.join("; ")),
    };
    let keys: Vec<&str> = unknown.iter().map(|one| one.key.as_str()).collect();
    Err(ToolError::precondition(format!("version {} does not know {}", manifest.version, named.join("; ")))
        .with("settings", keys)
        .hint(format!("nothing was fetched: take these settings out first, and {then}")))
}
