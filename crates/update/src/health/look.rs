//! The server half's observations of the machine at one moment.

use std::collections::BTreeMap;

/// The result of one check; the reason is for people.
pub type Probe = Result<(), String>;

/// One set of observations.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Observations {
    /// The machine's own interfaces (not the loopback, not those created by programs): whether they are up with an
    /// address that others can reach.
    pub interfaces: BTreeMap<String, Probe>,
    /// Whether the default gateway answers; `None` when there is no default route.
    pub gateway: Option<Probe>,
    /// Whether the channel's index was fetched and verified; `None` when no channel is configured.
    pub channel: Option<Probe>,
    /// Services that start at boot, and those that the configuration names: whether they are active.
    pub units: BTreeMap<String, Probe>,
    /// Configured web addresses.
    pub urls: BTreeMap<String, Probe>,
    /// Whether this server answers on its own socket; `None` when it has none.
    pub server: Option<Probe>,
}

impl Observations {
    /// Whether the machine has a network now, by whatever interface: it reaches its channel or, if none is configured, its gateway.
    pub fn has_network(&self) -> bool {
        let reached = if self.channel.is_some() { &self.channel } else { &self.gateway };
        matches!(reached, Some(Ok(())))
    }
}
