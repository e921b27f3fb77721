//! The machine as tools see it: every port, made once by `daemon.rs`.

use crate::{access::policy::Policy, registry::Registry};
use time::OffsetDateTime;

pub struct World {
    pub registry: Registry,
    pub policy: Policy,
    pub started: OffsetDateTime,
}
