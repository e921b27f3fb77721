//! Whether a release would accept the configuration of this machine: `raspi-mcp doctor --update --bundle FILE`.

use super::{Finding, update::Preflight};
use contract::config::{InForce, Origin, Settings};

/// Compares its manifest with the settings here. Does not verify signatures: this is advice, and the agent checks what
/// is installed.
pub(super) fn findings(about: &Preflight, settings: &Settings, set: &[InForce]) -> Vec<Finding> {
    let manifest = match &about.release {
        None => return Vec::new(),
        Some(Ok(manifest)) => manifest,
        Some(Err(why)) => {
            return vec![Finding::wrong("release", why.clone(), "name the file of a bundle, or of its head")];
        }
    };
    let version = &manifest.version;
    if manifest.config_keys.is_empty() && manifest.changes.settings.is_empty() {
        return vec![Finding::note(
            "release",
            format!("version {version} does not say which settings it knows"),
            "compare its docs/configuration.md with what `raspi-mcp doctor` shows; `raspi-mcp bundle build --config-keys` has it say so",
        )];
    }
    let unknown = set.iter().filter(|one| manifest.knows_setting(&one.key) == Some(false));
    let state = settings.places.state_dir.join("conf.d");
    let mut findings: Vec<Finding> = unknown
        .filter_map(|InForce { key, origin, .. }| {
            let says = format!("version {version} does not know {key}, which {origin} sets");
            let became = manifest.became_of(key);
            let became = became
                .unwrap_or_else(|| "look into that version's docs/configuration.md for what took its place".into());
            let mend = format!("take {key} out of {origin} first; {became}");
            match origin {
                Origin::Default => None,
                // The release brings its own fragments.
                Origin::File { path, .. } if path.starts_with(&about.image_dir) => None,
                Origin::File { path, .. } if path.starts_with(&state) => {
                    Some(Finding::note("release", format!("{says}: all of that file would be set aside"), mend))
                }
                Origin::File { path, .. }
                    if about.shared_dir.as_ref().is_some_and(|shared| path.starts_with(shared)) =>
                {
                    let says = format!("{says}: it would set that section aside and start restricted");
                    Some(Finding::wrong("release", says, mend))
                }
                _ => Some(Finding::wrong(
                    "release",
                    format!("{says}: it would not start, and its trial would end"),
                    mend,
                )),
            }
        })
        .collect();
    if findings.is_empty() {
        findings.push(Finding::ok("release", format!("version {version} knows every setting that is made here")));
    }
    findings
}
