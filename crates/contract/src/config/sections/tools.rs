//! `[tools]`: namespaces and tools that are on, off, or open one at a time.

use crate::config::{
    declare::{choice, section},
    key::InState,
    kind::SettingKind,
    sections::allow::{GRANTS, Grant},
};
use std::collections::BTreeSet;

section! {
    /// Which tools there are. A fresh server only reads.
    [tools] pub struct Tools {
        /// Which tools `tools/list` gives. `default` leaves out those that are seldom needed, so that a model reads less;
        /// `tools.search` finds them, and `tools.run_read` and `tools.run` call them. `all` gives every tool.
        profile: Profile = Profile::Default, Profile::KIND, InState::Free;
        /// Namespaces whose writing tools are on. Everything else only reads.
        enable: BTreeSet<String> = BTreeSet::new(), SettingKind::Namespaces, InState::Fewer;
        /// Tools and whole namespaces that are off: what they are there for is denied, whichever tool does it.
        disable: BTreeSet<String> = BTreeSet::new(), SettingKind::ToolsOrNamespaces, InState::More;
        /// Tools opened one at a time, by `raspi-mcp allow` (docs/allow.md). An entry opens its tool's namespace and
        /// the entries of its lists for that tool alone; `for` lets callers have it whatever their role.
        /// `tools.disable` and `policy` stay above it.
        allow: Vec<Grant> = Vec::new(), SettingKind::Tables(&GRANTS), InState::Never;
    }
}

choice! {
    /// `tools.profile`: which tools `tools/list` gives. Every tool can be called.
    pub enum Profile {
        Default = "default",
        All = "all",
    }
}
