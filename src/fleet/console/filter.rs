//! Which devices are meant, and groups of them.

use super::report::{DeviceHealth, DeviceRow};
use std::collections::BTreeMap;

/// All that is given has to fit; of several values of one kind, one.
#[derive(Default)]
pub struct DeviceFilter {
    pub names: Vec<String>,
    pub versions: Vec<String>,
    pub healths: Vec<DeviceHealth>,
    pub tags: Vec<String>,
}

impl DeviceFilter {
    /// Whether it can be answered by the registry alone.
    pub fn is_about_registry(&self) -> bool {
        self.versions.is_empty() && self.healths.is_empty() && self.tags.is_empty()
    }

    pub fn fits(&self, row: &DeviceRow<'_>) -> bool {
        let named = |list: &[String], text: &str| list.iter().any(|item| item == text);
        (self.names.is_empty() || named(&self.names, &row.device.name))
            && (self.versions.is_empty() || row.version().is_some_and(|version| named(&self.versions, version)))
            && (self.healths.is_empty() || self.healths.contains(&row.health()))
            && (self.tags.is_empty() || row.tags().any(|tag| named(&self.tags, tag)))
    }
}

/// What devices are counted by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeviceGrouping {
    Version,
    Health,
    Tag,
    Update,
}

/// How many devices of a group are in each state of health, in the order of [`DeviceHealth::ALL`].
pub type Counts = [usize; 4];

/// Groups by their name; a device with several tags is in several.
pub fn groups<'a>(rows: impl Iterator<Item = DeviceRow<'a>>, by: DeviceGrouping) -> BTreeMap<String, Counts> {
    let mut groups: BTreeMap<String, Counts> = BTreeMap::new();
    for row in rows {
        let health = row.health();
        let mut names: Vec<String> = match by {
            DeviceGrouping::Version => row.version().map(str::to_owned).into_iter().collect(),
            DeviceGrouping::Health => vec![health.word().into()],
            DeviceGrouping::Tag => row.tags().map(str::to_owned).collect(),
            DeviceGrouping::Update => {
                row.attempt().map(|attempt| format!("{} {}", attempt.version, attempt.phase)).into_iter().collect()
            }
        };
        if names.is_empty() {
            names.push("-".into());
        }
        for name in names {
            groups.entry(name).or_default()[health as usize] += 1;
        }
    }
    groups
}
