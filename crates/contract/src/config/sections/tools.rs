//! `[tools]`: namespaces and tools that are on, off, or open one at a time.

use crate::config::{
    declare::{choice, section},
    key::InState,
    kind::SettingKind,
    sections::allow::{GRANTS, Grant},
};
use std::collections::BTreeSet;

section! {
    /// Which tools are enabled. By default the server only reads.
    [tools] pub struct Tools {
        /// Which tools `tools/list` returns. `default` leaves out those that are seldom needed, so that a model reads
        /// less; `tools.search` finds them, and `tools.run_read` and `tools.run` call them. `all` returns every tool.
        profile: Profile = Profile::Default, Profile::KIND, InState::Free;
        /// Namespaces whose write tools are enabled. All other namespaces only read.
        enable: BTreeSet<String> = BTreeSet::new(), SettingKind::Namespaces, InState::Fewer;
        /// Disabled tools and namespaces. The main actions of a disabled tool are denied to every other tool as well.
        disable: BTreeSet<String> = BTreeSet::new(), SettingKind::ToolsOrNamespaces, InState::More;
        /// Tools enabled one at a time with `raspi-mcp allow` (docs/allow.md). An entry enables its tool's namespace,
        /// and the entries of its lists, for that tool only. The callers in `for` may call it whatever their role.
        /// `tools.disable` and `policy` take precedence.
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
