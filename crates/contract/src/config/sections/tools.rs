//! `[tools]`: namespaces and tools that are on, off, or open one at a time.

use crate::config::{
    declare::section,
    key::InState,
    kind::Kind,
    sections::allow::{GRANTS, Grant},
};
use std::collections::BTreeSet;

section! {
    /// Which tools there are. A fresh server only reads.
    [tools] pub struct Tools {
        /// Namespaces whose writing tools are on. Everything else only reads.
        enable: BTreeSet<String> = BTreeSet::new(), Kind::Namespaces, InState::Fewer;
        /// Tools and whole namespaces that are off: what they are there for is denied, whichever tool does it.
        disable: BTreeSet<String> = BTreeSet::new(), Kind::ToolsOrNamespaces, InState::More;
        /// Tools opened one at a time, by `raspi-mcp allow` (docs/allow.md). An entry opens its tool's namespace and
        /// the entries of its lists for that tool alone; `for` lets callers have it whatever their role.
        /// `tools.disable` and `policy` stay above it.
        allow: Vec<Grant> = Vec::new(), Kind::Tables(&GRANTS), InState::Never;
    }
}
