//! `[service]`: which services tools may touch.

use serde::{Deserialize, Serialize};

/// The section.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Service {
    /// Names of services with `*` and `?` in them. Nobody has to be named to be read.
    pub allow: Vec<String>,
}

impl Service {
    /// What tools may touch: on a simulated machine its own services, all of them, where nothing is said.
    pub fn allowed(&self, simulated: bool) -> Vec<String> {
        if simulated && self.allow.is_empty() { vec!["*.service".into()] } else { self.allow.clone() }
    }
}
