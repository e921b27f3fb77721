//! What a check of a machine found missing, in a form in which two systems can be compared.

use crate::bundle::ServiceChanges;
use serde::{Deserialize, Serialize};
use std::{collections::BTreeSet, path::PathBuf};

/// What does not work. A release whose trial lacks only what the old system lacks as well is not the cause.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Missing {
    /// An interface, the gateway, the channel or a web address.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub network: bool,
    /// Services by name.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub services: BTreeSet<String>,
    /// Programs of `update.health_commands`.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub commands: BTreeSet<PathBuf>,
    /// raspi-mcp itself: no other system excuses that.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub server: bool,
}

impl Missing {
    /// The network alone is missing.
    pub fn network() -> Self {
        Self { network: true, ..Self::default() }
    }

    /// The server half alone is missing.
    pub fn server() -> Self {
        Self { server: true, ..Self::default() }
    }

    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    pub fn is_only_network(&self) -> bool {
        *self == Self::network()
    }

    /// What this or `other` lacks.
    #[must_use]
    pub fn and(mut self, other: &Self) -> Self {
        self.network |= other.network;
        self.server |= other.server;
        self.services.extend(other.services.iter().cloned());
        self.commands.extend(other.commands.iter().cloned());
        self
    }

    /// This with the names that services had before these changes.
    #[must_use]
    pub fn before(mut self, changes: &ServiceChanges) -> Self {
        for renamed in &changes.renames {
            if self.services.remove(&renamed.to) {
                self.services.insert(renamed.from.clone());
            }
        }
        self
    }

    /// Whether a service or command is in both.
    pub fn overlaps(&self, other: &Self) -> bool {
        !self.services.is_disjoint(&other.services) || !self.commands.is_disjoint(&other.commands)
    }

    /// Whether this is something, and `other` misses all of it.
    pub fn is_missing_in(&self, other: &Self) -> bool {
        !self.is_empty()
            && !self.server
            && (!self.network || other.network)
            && self.services.is_subset(&other.services)
            && self.commands.is_subset(&other.commands)
    }

    /// For people, each by its name.
    pub fn names(&self) -> Vec<String> {
        let network = self.network.then(|| "the network".to_owned());
        let services = self.services.iter().map(|name| format!("service {name}"));
        let commands = self.commands.iter().map(|program| format!("command {}", program.display()));
        let server = self.server.then(|| "the server".to_owned());
        network.into_iter().chain(services).chain(commands).chain(server).collect()
    }
}
