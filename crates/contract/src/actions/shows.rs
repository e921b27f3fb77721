//! What answers show beside what their call does. Policy is of the deed for reads too: a tool or an endpoint that would
//! show what an action reads is listed here, and leaves that part out where policy does not let the action run without
//! a question. A tool whose whole answer is such a part has the action in its row of `DOES` instead.

/// A tool, or the path of an endpoint, and the actions of whose results its answer has a part.
pub const SHOWS: &[(&str, &[&str])] = &[
    ("/metrics", &["system:health"]),
    ("gpio.configure_pin", &["gpio:read"]),
    ("gpio.release_pin", &["gpio:read"]),
    ("gpio.write_pin", &["gpio:read"]),
    ("logs.query_journal", &["logs:app"]),
    ("metrics.get_samples", &["onewire:read", "sensors:read", "system:health"]),
    ("metrics.query_history", &["onewire:read", "sensors:read", "system:health"]),
    ("sensors.read", &["onewire:read"]),
    ("serial.list_ports", &["serial:read"]),
    ("service.get_status", &["logs:journal"]),
    ("vector.get_status", &["files:list", "files:read"]),
    ("vector.search", &["files:list", "files:read"]),
];

/// Whether `reader` is listed with `action`.
pub fn is_declared(reader: &str, action: &str) -> bool {
    SHOWS.iter().any(|(name, actions)| *name == reader && actions.contains(&action))
}
