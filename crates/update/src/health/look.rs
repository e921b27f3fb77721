//! What the server half sees of the machine at one moment.

use std::collections::BTreeMap;

/// How one thing that was tried went; the reason is for people.
pub type Probe = Result<(), String>;

/// One look.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Look {
    /// Interfaces of the machine's own (not the loopback, not those that programs made for themselves): whether they are up with an
    /// address that others can reach.
    pub interfaces: BTreeMap<String, Probe>,
    /// Whether the default gateway answers; `None` when there is no default route.
    pub gateway: Option<Probe>,
    /// Whether the channel's index was fetched and verified; `None` when no channel is configured.
    pub channel: Option<Probe>,
    /// Services that start with the machine, and those that the configuration names: whether they are active.
    pub units: BTreeMap<String, Probe>,
    /// Configured web addresses.
    pub urls: BTreeMap<String, Probe>,
    /// Whether this server answers on its own socket; `None` when it has none.
    pub server: Option<Probe>,
}
