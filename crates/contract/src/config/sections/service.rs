//! `[service]`: the services that tools may change.

use crate::config::{declare::section, key::InState, kind::SettingKind};

section! {
    /// Which services `service.*` may touch.
    [service] pub struct Service {
        /// Services that tools may start, stop, restart, reload, enable and disable. None unless named; on a simulated
        /// machine all of its own. What the device cannot do without (this server, its agent, D-Bus, systemd, logins,
        /// its network) is protected whatever stands here.
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
