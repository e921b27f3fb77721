//! `approval.kinds`: which kinds of approver keys may approve which tools.

use serde::{Deserialize, Serialize};

/// The kinds of approver keys.
pub const KINDS: &[&str] = &["cli", "passkey", "browser"];

/// The entries, in the form `TOOL=KIND+KIND`, checked when they are read. They only narrow: whether a kind counts at
/// all is decided elsewhere.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ApproverKinds(Vec<String>);

impl ApproverKinds {
    /// Whether a key of this kind may approve `tool`: every entry for the tool, its namespace or `*` names the kind.
    pub fn allow(&self, tool: &str, kind: &str) -> bool {
        let namespace = tool.split_once('.').map_or(tool, |(namespace, _)| namespace);
        let entries = self.0.iter().filter_map(|entry| entry.split_once('='));
        let mut about = entries.filter(|(name, _)| [tool, namespace, "*"].contains(name));
        about.all(|(_, kinds)| kinds.split('+').any(|listed| listed == kind))
    }

    /// From these entries; malformed ones allow no kind.
    pub fn from_entries<'a>(entries: impl IntoIterator<Item = &'a str>) -> Self {
        Self(entries.into_iter().map(str::to_owned).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_counts_if_every_entry_about_the_tool_names_it() {
        let kinds = ApproverKinds::from_entries(["*=cli+passkey", "gpio=passkey+browser", "gpio.write_pin=passkey"]);
        let counting = |tool| KINDS.iter().filter(|kind| kinds.allow(tool, kind)).copied().collect::<Vec<_>>();
        assert_eq!(counting("system.reboot"), ["cli", "passkey"]);
        assert_eq!(counting("gpio.set_pwm"), ["passkey"]);
        assert_eq!(counting("gpio.write_pin"), ["passkey"]);
        assert_eq!(counting("gpiox.write_pin"), ["cli", "passkey"], "another namespace");
        assert!(KINDS.iter().all(|kind| ApproverKinds::default().allow("system.reboot", kind)));
        assert!(!ApproverKinds::from_entries(["gpio="]).allow("gpio.write_pin", "cli"));
    }
}
