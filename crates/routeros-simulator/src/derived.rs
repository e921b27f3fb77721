//! What a listing shows beside what is stored: interfaces of all kinds, connected routes, flags, the clock.

use crate::{
    clock::date_and_time,
    duration,
    management::CLIENT,
    network::network_of,
    state::State,
    table::{Row, RowId},
};
use serde_json::{Map, Value};

/// The tables that are interfaces, and what `interface` calls them.
pub(crate) const INTERFACES: [(&str, &str); 5] = [
    ("interface/ethernet", "ether"),
    ("interface/bridge", "bridge"),
    ("interface/vlan", "vlan"),
    ("interface/wireless", "wlan"),
    ("interface/wifi", "wifi"),
];
/// Rows that RouterOS makes itself have ids from here on.
const MADE: u32 = 0x8000_0000;
const FALSE: &str = "false";

impl State {
    /// The rows of a menu as they are listed.
    pub fn rows(&self, path: &str) -> Vec<Row> {
        match path {
            "interface" => self.interfaces(),
            "ip/address" => self.stored(path).iter().map(|row| self.address(row)).collect(),
            "ip/route" => self.routes(),
            "system/scheduler" => self.stored(path).iter().map(|row| with_next_run(self, row)).collect(),
            "user/active" => vec![session()],
            "user" => self.stored(path).iter().map(without_secrets).collect(),
            _ => self.stored(path).to_vec(),
        }
    }

    /// The fields of a singleton.
    pub fn singleton(&self, path: &str) -> Map<String, Value> {
        let mut fields = self.singletons.get(path).cloned().unwrap_or_default();
        let date = date_and_time(self.clock());
        let (day, time) = date.split_once(' ').unwrap_or_default();
        match path {
            "system/resource" => {
                fields.insert("uptime".into(), duration::shown(self.uptime()).into());
            }
            "system/clock" => {
                fields.insert("date".into(), day.into());
                fields.insert("time".into(), time.into());
            }
            _ => {}
        }
        fields
    }

    fn interfaces(&self) -> Vec<Row> {
        let mut all = Vec::new();
        for (path, kind) in INTERFACES {
            for stored in self.stored(path) {
                let mut row = Row::new(stored.id, &[]);
                for name in ["name", "default-name", "comment"] {
                    if !stored.get(name).is_empty() {
                        row.set(name, stored.get(name));
                    }
                }
                let running = stored.is_enabled() && stored.get("running") != FALSE;
                let slave = self
                    .stored("interface/bridge/port")
                    .iter()
                    .any(|port| port.is_enabled() && port.get("interface") == stored.get("name"));
                for (name, value) in [
                    ("type", kind),
                    ("mtu", stored.fields.get("mtu").and_then(Value::as_str).unwrap_or("1500")),
                    ("actual-mtu", "1500"),
                    ("mac-address", stored.get("mac-address")),
                    ("disabled", if stored.is_enabled() { FALSE } else { "true" }),
                    ("running", if running { "true" } else { FALSE }),
                    ("slave", if slave { "true" } else { FALSE }),
                    ("dynamic", FALSE),
                ] {
                    row.set(name, value);
                }
                let bytes = if running { 1_000 * (self.uptime().as_secs() + 1) } else { 0 };
                for (name, value) in [
                    ("rx-byte", bytes * 3),
                    ("tx-byte", bytes),
                    ("rx-packet", bytes / 100),
                    ("tx-packet", bytes / 300),
                    ("rx-error", 0),
                    ("tx-error", 0),
                    ("rx-drop", 0),
                    ("tx-drop", 0),
                    ("link-downs", 0),
                ] {
                    row.set(name, value.to_string());
                }
                all.push(row);
            }
        }
        all
    }

    /// Whether there is an interface of this name.
    pub fn interface(&self, name: &str) -> Option<&Row> {
        INTERFACES.iter().flat_map(|(path, _)| self.stored(path)).find(|row| row.get("name") == name)
    }

    fn address(&self, stored: &Row) -> Row {
        let mut row = stored.clone();
        let network = network_of(stored.get("address")).map(|(network, _)| network.to_string()).unwrap_or_default();
        row.set("network", network);
        row.set("actual-interface", stored.get("interface"));
        row.set("invalid", if self.interface(stored.get("interface")).is_some() { FALSE } else { "true" });
        for flag in ["disabled", "dynamic"] {
            row.fields.entry(flag).or_insert(FALSE.into());
        }
        row
    }

    /// The stored routes, and one for each network that an address is in.
    fn routes(&self) -> Vec<Row> {
        self.routes_to(|_| true)
    }

    /// Those whose destination is as `is_wanted` says: of a long table, the others are not copied.
    pub fn routes_to(&self, is_wanted: impl Fn(&str) -> bool) -> Vec<Row> {
        let mut routes: Vec<Row> = self
            .stored("ip/route")
            .iter()
            .filter(|stored| is_wanted(stored.get("dst-address")))
            .map(|stored| {
                let mut row = stored.clone();
                let enabled = row.is_enabled();
                for flag in ["disabled", "dynamic"] {
                    row.fields.entry(flag).or_insert(FALSE.into());
                }
                row.set("active", enabled.to_string());
                row.set("inactive", (!enabled).to_string());
                if !row.is("dynamic") {
                    row.set("static", "true");
                }
                if !row.get("gateway").is_empty() {
                    let gateway = row.get("gateway").to_owned();
                    row.set("immediate-gw", gateway);
                }
                row
            })
            .collect();
        for address in self.stored("ip/address").iter().filter(|row| row.is_enabled()) {
            let Some((network, length)) = network_of(address.get("address")) else { continue };
            if !is_wanted(&format!("{network}/{length}")) {
                continue;
            }
            routes.push(Row::new(
                RowId(MADE + address.id.0),
                &[
                    ("dst-address", &format!("{network}/{length}")),
                    ("gateway", address.get("interface")),
                    ("immediate-gw", address.get("interface")),
                    ("local-address", address.get("address").split('/').next().unwrap_or_default()),
                    ("distance", "0"),
                    ("scope", "10"),
                    ("routing-table", "main"),
                    ("active", "true"),
                    ("connect", "true"),
                    ("dynamic", "true"),
                    ("disabled", FALSE),
                    ("inactive", FALSE),
                ],
            ));
        }
        routes
    }
}

/// The client, as it is logged in.
fn session() -> Row {
    let address = CLIENT.to_string();
    let fields = [("name", "raspi"), ("address", address.as_str()), ("via", "rest-api"), ("group", "raspi")];
    Row::new(RowId(MADE), &fields)
}

/// Secrets are never listed by `rest-api`; `/export show-sensitive` is not simulated.
fn without_secrets(stored: &Row) -> Row {
    let mut row = stored.clone();
    row.fields.remove("password");
    row
}

/// An entry of the scheduler.
fn with_next_run(state: &State, stored: &Row) -> Row {
    let mut row = stored.clone();
    if let Some(next) = state.timers.get(&stored.id) {
        let clock = u64::try_from(state.clock_offset + next.as_secs().cast_signed()).unwrap_or(0);
        row.set("next-run", date_and_time(clock));
    }
    row
}
