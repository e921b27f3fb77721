//! `[service]`: the services that tools may change.

use crate::config::{declare::section, key::InState, kind::SettingKind};

section! {
    /// Services that `service.*` may change.
    [service] pub struct Service {
        /// Services that tools may start, stop, restart, reload, enable and disable. An empty list allows none; on a
        /// simulated machine, all of its own. Services that the device depends on (this server, its agent, D-Bus,
        /// systemd, logins, its network) are always protected.
        // Reading a service needs no entry here.
        allow: Vec<String> = Vec::new(), SettingKind::Services, InState::Fewer;
    }
}

impl Service {
    /// The services that tools may change. On a simulated machine an empty list allows all of its own.
    pub fn allowed(&self, simulated: bool) -> Vec<String> {
        if simulated && self.allow.is_empty() { vec!["*.service".into()] } else { self.allow.clone() }
    }
}
