//! `[service]`: which services tools may touch.

use crate::config::{declare::section, key::InState, kind::Kind};

section! {
    /// Which services `service.*` may touch.
    [service] pub struct Service {
        /// Services that tools may start, stop, restart, reload, enable and disable. None unless named; on a simulated
        /// machine all of its own. What the device cannot do without (this server, its agent, D-Bus, systemd, logins,
        /// its network) is protected whatever stands here.
        // Nobody has to be named to be read.
        allow: Vec<String> = Vec::new(), Kind::Services, InState::Fewer;
    }
}

impl Service {
    /// What tools may touch: on a simulated machine its own services, all of them, where nothing is said.
    pub fn allowed(&self, simulated: bool) -> Vec<String> {
        if simulated && self.allow.is_empty() { vec!["*.service".into()] } else { self.allow.clone() }
    }
}
