//! The settings in force, each with its origin, for `raspi-mcp doctor` and for the question whether a release knows them.

use super::{
    Places, Settings, Sources,
    fault::{Faults, Origin},
    keys::KEYS,
    kind::SettingKind,
    load,
};
use serde_json::Value;
use std::{fmt, sync::Arc};

/// One setting.
#[derive(Clone, Debug)]
pub struct InForce {
    /// `section.key`, or `policy.<tool>`.
    pub key: String,
    /// As in [`Settings::summary`]: tokens without their hashes.
    pub value: Value,
    pub origin: Origin,
}

impl InForce {
    /// Whether the running release brought it: a default, a fragment of the image or of the identity that `raspi-mcp prepare` makes at
    /// each start, or a flag of the unit. Another release brings its own.
    pub fn is_of_the_release(&self, places: &Places) -> bool {
        match &self.origin {
            Origin::Default | Origin::Flag(_) => true,
            Origin::File { path, .. } => path.starts_with(&places.image_dir) || path.starts_with(&places.identity_dir),
            Origin::Variable(_) => false,
        }
    }
}

/// What the settings of a process were read from, to read them again as they are now. Empty if they came from no files.
#[derive(Clone, Default, PartialEq)]
pub struct SettingSources(Option<Arc<Sources>>);

impl SettingSources {
    pub fn of(sources: &Sources) -> Self {
        Self(Some(Arc::new(sources.clone())))
    }

    /// The settings that this machine's owner made, as the next start would read them. Fragments of the state folder, which the server
    /// wrote itself, are not among them: one that a release does not know is set aside as a whole.
    ///
    /// # Errors
    /// As [`load`](super::load).
    pub fn owner_settings(&self) -> Result<Vec<InForce>, Faults> {
        let Some(sources) = &self.0 else { return Ok(Vec::new()) };
        let (settings, mut set) = explain(sources)?;
        let state = settings.places.state_dir.join("conf.d");
        let is_state = |one: &InForce| matches!(&one.origin, Origin::File { path, .. } if path.starts_with(&state));
        set.retain(|one| !one.is_of_the_release(&sources.places) && !is_state(one));
        Ok(set)
    }
}

impl fmt::Debug for SettingSources {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Variables may have secrets.
        f.debug_struct("SettingSources").finish_non_exhaustive()
    }
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
