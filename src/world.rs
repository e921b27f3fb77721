//! The machine as tools see it: every port, made once by `daemon.rs`.

use crate::{
    access::{audit::Audit, policy::Policy},
    agent::AgentLink,
    config::Settings,
    log::Ring,
    machine::Machine,
    registry::Registry,
};
use std::sync::Arc;
use time::OffsetDateTime;

pub struct World {
    pub settings: Arc<Settings>,
    pub registry: Registry,
    pub policy: Policy,
    /// The half that may change the machine.
    pub agent: AgentLink,
    pub audit: Audit,
    /// The newest lines of the server's own log.
    pub log: Ring,
    /// The machine itself, to be read.
    pub machine: Machine,
    pub started: OffsetDateTime,
}
