//! What a release drops, renames and adds: its manifest says so, and the trial expects the services that follow from it.

use super::{BundleError, Manifest, is_word, words::is_service};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

const WHAT: &str = "the manifest's changes";
/// Most entries of each list.
const MOST: usize = 64;

/// The changes since the oldest release from which this one may be installed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Changes {
    #[serde(default, skip_serializing_if = "ServiceChanges::is_empty")]
    pub services: ServiceChanges,
    #[serde(default, skip_serializing_if = "SettingChanges::is_empty")]
    pub settings: SettingChanges,
}

/// Changes of the services that are active on a device. Lists are sorted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ServiceChanges {
    /// Need not be active any more.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub drops: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub renames: Vec<Renamed>,
    /// Have to be active.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub adds: Vec<String>,
}

/// Changes of settings, `section.key`. Lists are sorted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SettingChanges {
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub drops: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub renames: Vec<Renamed>,
}

/// `to` takes the place of `from`. Not a field of a map: JSON readers differ about a key that is there twice.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Renamed {
    pub from: String,
    pub to: String,
}

impl ServiceChanges {
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// The services that have to be active after these changes, if `before` were before.
    pub fn applied(&self, before: &BTreeSet<String>) -> BTreeSet<String> {
        let stays = |name: &String| !self.drops.contains(name) && !self.renames.iter().any(|one| one.from == *name);
        let mut after: BTreeSet<String> = before.iter().filter(|name| stays(name)).cloned().collect();
        after.extend(self.renames.iter().filter(|one| before.contains(&one.from)).map(|one| one.to.clone()));
        after.extend(self.adds.iter().cloned());
        after
    }

    /// The way back to the release before. Whether a service that was dropped was active there is not known: nothing is expected of it.
    #[must_use]
    pub fn reversed(&self) -> Self {
        let mut renames: Vec<Renamed> =
            self.renames.iter().map(|one| Renamed { from: one.to.clone(), to: one.from.clone() }).collect();
        base::sort::sort(&mut renames);
        Self { drops: self.adds.clone(), renames, adds: Vec::new() }
    }
}

impl SettingChanges {
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// What became of a setting, for people; `None`: nothing is said of it.
    pub fn describe(&self, key: &str, version: &str) -> Option<String> {
        if self.drops.iter().any(|dropped| dropped == key) {
            return Some(format!("{key} was dropped in version {version}"));
        }
        let renamed = self.renames.iter().find(|one| one.from == key)?;
        Some(format!("{key} is called {} from version {version} on", renamed.to))
    }
}

impl Changes {
    /// With sorted lists, as a manifest has them.
    #[must_use]
    pub fn sorted(&self) -> Self {
        let Self { mut services, mut settings } = self.clone();
        for names in [&mut services.drops, &mut services.adds, &mut settings.drops] {
            base::sort::sort(names);
        }
        for renames in [&mut services.renames, &mut settings.renames] {
            base::sort::sort(renames);
        }
        Self { services, settings }
    }

    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Whether they are within their bounds and consistent with the rest of the manifest.
    pub(super) fn check(&self, manifest: &Manifest) -> Result<(), BundleError> {
        let Self { services, settings } = self;
        checked("services", &services.drops, &services.renames, &services.adds, is_service)?;
        checked("settings", &settings.drops, &settings.renames, &[], is_word)?;
        if manifest.config_keys.is_empty() {
            return Ok(());
        }
        let known = |key: &String| manifest.config_keys.contains(key);
        let gone = settings.drops.iter().chain(settings.renames.iter().map(|one| &one.from));
        if let Some(key) = gone.into_iter().find(|key| known(key)) {
            return Err(BundleError::malformed(WHAT, format!("settings: {key} is gone, and config_keys has it")));
        }
        match settings.renames.iter().find(|one| !known(&one.to)) {
            Some(one) => Err(BundleError::malformed(
                WHAT,
                format!("settings: {} is the new name of {}, and config_keys does not have it", one.to, one.from),
            )),
            None => Ok(()),
        }
    }
}

fn checked(
    of: &str,
    drops: &[String],
    renames: &[Renamed],
    adds: &[String],
    is_name: fn(&str) -> bool,
) -> Result<(), BundleError> {
    let wrong = |problem: &str| Err(BundleError::malformed(WHAT, format!("{of}: {problem}")));
    if drops.len() > MOST || renames.len() > MOST || adds.len() > MOST {
        return wrong("a list has more than 64 entries");
    }
    let ascends = |names: &[String]| names.is_sorted_by(|one, next| one < next);
    if !ascends(drops) || !ascends(adds) || !renames.is_sorted_by(|one, next| one.from < next.from) {
        return wrong("a list is out of order, or has an entry twice");
    }
    let gone = || drops.iter().chain(renames.iter().map(|one| &one.from));
    let come = || adds.iter().chain(renames.iter().map(|one| &one.to));
    if let Some(name) = gone().chain(come()).find(|name| !is_name(name)) {
        return wrong(&format!("{name:?} is no name"));
    }
    let mut seen = BTreeSet::new();
    match gone().chain(come()).find(|name| !seen.insert(name.as_str())) {
        Some(name) => wrong(&format!("{name} is named twice")),
        None => Ok(()),
    }
}
