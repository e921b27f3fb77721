//! The settings in force, each with its origin, for `raspi-mcp doctor`.

use super::{
    Settings, Sources,
    fault::{Faults, Origin},
    keys::KEYS,
    kind::SettingKind,
    load,
};
use serde_json::Value;

/// One setting.
#[derive(Clone, Debug)]
pub struct InForce {
    /// `section.key`, or `policy.<tool>`.
    pub key: String,
    /// As in [`Settings::summary`]: tokens without their hashes.
    pub value: Value,
    pub origin: Origin,
}

/// As [`load`](super::load), with the value and origin of every key, in the order of the documentation.
///
/// # Errors
/// As [`load`](super::load).
pub fn explain(sources: &Sources) -> Result<(Settings, Vec<InForce>), Faults> {
    let (settings, draft) = load::loaded(sources)?;
    let summary = settings.summary();
    let mut all = Vec::new();
    for key in KEYS {
        if key.kind == SettingKind::Mode {
            all.extend(settings.policy.keys().map(|tool| {
                let name = format!("{}.{tool}", key.name);
                InForce { value: summary[key.name][tool].clone(), origin: draft.origin(&name), key: name }
            }));
            continue;
        }
        let value = key.name.split('.').fold(&summary, |at, part| &at[part]).clone();
        all.push(InForce { key: key.name.to_owned(), value, origin: draft.origin(key.name) });
    }
    Ok((settings, all))
}
