//! `[dbus]`: the server's name on the system bus.

use crate::{
    config::{
        declare::section,
        found::ConfigEntry,
        key::InState,
        kind::{Complaint, SettingKind},
        words::is_name,
    },
    meta::Role,
};
use serde_json::Value;
use std::collections::BTreeMap;

section! {
    /// The system bus, for programs and scripts of this machine (docs/bus.md). Callers are identified by their user and
    /// group, as on the Unix socket.
    [dbus] pub struct DbusSettings {
        /// Whether to own the name `org.raspimcp` on the system bus and to serve calls there. Packages and images set it
        /// to true in `/usr/lib/raspi-mcp/conf.d/20-dbus.toml`. Without an owner every call there is refused.
        serve: bool = false, SettingKind::Bool, InState::Off;
        /// Users of this machine whose role on the bus is another than `read_only`. Root and the members of
        /// `access.admin_group` are `admin` in any case.
        roles: BTreeMap<String, Role> = BTreeMap::new(), SettingKind::UserRoles, InState::Never;
    }
}

/// The most users with a role of their own.
const USERS: usize = 64;

/// Checks `roles`; returns it as a JSON object.
///
/// # Errors
/// The first entry that is no user with a role, or the number of entries.
pub fn roles(name: &str, entries: &[ConfigEntry]) -> Result<Value, Complaint> {
    if entries.len() > USERS {
        return Err((None, format!("{name} has {} users, at most {USERS} are allowed", entries.len())));
    }
    let one = |entry: &ConfigEntry| {
        let role = entry.found.good_text(|text| ["read_only", "ops_rw", "admin"].contains(&text));
        let pair = role.filter(|_| is_name(&entry.key, 32)).map(|role| (entry.key.clone(), role.into()));
        pair.ok_or_else(|| (entry.key_at, format!("{name} must be {}", SettingKind::UserRoles.expected())))
    };
    entries.iter().map(one).collect::<Result<_, _>>().map(Value::Object)
}
