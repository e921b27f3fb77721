//! What needs more than one menu, or a command.

use super::{
    super::{
        call::{PageOfRows, RouterCall},
        client::RouterClient,
        routers::Router,
        table::ROUTE,
        value::{
            Field,
            Kind::{Flag, Integer, List, Number, Seconds, Text},
            object, typed,
        },
    },
    MenuRead, Shape, begun, rows,
};
use base::error::{ErrorCode, ToolError};
use serde_json::{Map, Value, json};
use tokio::time::Instant;

type Answer = Result<Map<String, Value>, ToolError>;

/// Menus that an answer can do without, as they were read: what this router does not have is left out, and what could not be read is named in
/// the answer's `unread`, with the reason.
#[derive(Default)]
pub(super) struct Optional {
    unread: Vec<String>,
}

impl Optional {
    pub fn menu(&mut self, name: &str, read: Result<Value, ToolError>) -> Value {
        read.unwrap_or_else(|error| {
            if !matches!(error.code, ErrorCode::CapabilityMissing | ErrorCode::NotFound) {
                self.unread.push(format!("{name}: {}", error.message));
            }
            Value::Null
        })
    }

    pub fn show(self, answer: &mut Map<String, Value>) {
        if !self.unread.is_empty() {
            answer.insert("unread".into(), json!(self.unread));
        }
    }
}

/// `check_connectivity`: whether it answers, how fast, and what to do when not. Never an error.
pub async fn connectivity(router: &Router) -> Map<String, Value> {
    let start = Instant::now();
    let probed = router.client.probe("system/resource").await;
    let mut answer = begun(&router.client);
    let milliseconds = u64::try_from(start.elapsed().as_millis()).unwrap_or(u64::MAX);
    let (version, reason, suggestions) = match &probed {
        Ok(resource) => (resource["version"].clone(), Value::Null, json!([])),
        Err((reason, error)) => (Value::Null, json!(reason.word()), json!([error.message, error.hint])),
    };
    for (name, value) in [
        ("reachable", json!(probed.is_ok())),
        ("response_time_ms", json!(milliseconds)),
        ("routeros_version", version),
        ("failure_reason", reason),
        ("transport", json!("rest")),
        ("fallback_used", json!(false)),
        ("attempted_transports", json!(["rest"])),
        ("suggestions", suggestions),
    ] {
        answer.insert(name.into(), value);
    }
    router.note(probed.err().as_ref().map(|(_, error)| error));
    answer
}

/// `get_system_overview`. The four reads run side by side.
///
/// # Errors
/// See [`super::super::failure`].
pub async fn overview(client: &RouterClient) -> Answer {
    let (resource, identity, board, health) = tokio::join!(
        client.get("system/resource"),
        client.get("system/identity"),
        client.get("system/routerboard"),
        client.get("system/health"),
    );
    let (resource, identity) = (resource?, identity?);
    let mut optional = Optional::default();
    let board = optional.menu("system/routerboard", board);
    let health = optional.menu("system/health", health);
    let mut answer = begun(client);
    answer.extend(object(&identity, &[("identity", "name", Text)]));
    answer.extend(object(
        &resource,
        &[
            ("routeros_version", "version", Text),
            ("uptime_seconds", "uptime", Seconds),
            ("hardware_model", "board-name", Text),
            ("architecture", "architecture-name", Text),
        ],
    ));
    answer.extend(object(
        &board,
        &[("serial_number", "serial-number", Text), ("firmware_version", "current-firmware", Text)],
    ));
    answer.insert(
        "cpu".into(),
        object(&resource, &[("usage_percent", "cpu-load", Number), ("count", "cpu-count", Integer)]).into(),
    );
    let mut memory =
        object(&resource, &[("total_bytes", "total-memory", Integer), ("free_bytes", "free-memory", Integer)]);
    if let (Some(total), Some(free)) =
        (memory.get("total_bytes").and_then(Value::as_i64), memory.get("free_bytes").and_then(Value::as_i64))
    {
        memory.insert("used_bytes".into(), json!(total - free));
    }
    answer.insert("memory".into(), memory.into());
    answer.insert("health".into(), sensors(&health).into());
    optional.show(&mut answer);
    Ok(answer)
}

/// Sensors by their names: `temperature_celsius`, `voltage`; others as they are called.
pub(super) fn sensors(health: &Value) -> Map<String, Value> {
    let name = |sensor: &str| match sensor {
        "temperature" | "cpu-temperature" => format!("{}_celsius", sensor.replace('-', "_")),
        other => other.replace('-', "_"),
    };
    let rows = health.as_array().into_iter().flatten();
    rows.filter_map(|row| Some((name(row["name"].as_str()?), typed(Number, row["value"].as_str()?)))).collect()
}

/// `get_system_clock`: as RFC 3339, with the router's offset.
///
/// # Errors
/// See [`super::super::failure`].
pub async fn clock(client: &RouterClient) -> Answer {
    let clock = client.get("system/clock").await?;
    let mut answer = begun(client);
    let text = |name: &str| clock[name].as_str().unwrap_or_default();
    let (date, time, offset) = (text("date"), text("time"), text("gmt-offset"));
    let is_iso = date.len() == 10 && date.as_bytes()[4] == b'-';
    let stamp = if is_iso {
        format!("{date}T{time}{}", if offset == "+00:00" { "Z" } else { offset })
    } else {
        format!("{date} {time}")
    };
    answer.insert("time".into(), stamp.into());
    answer.insert("timezone".into(), text("time-zone-name").into());
    answer.extend(object(
        &clock,
        &[
            ("time_zone_name", "time-zone-name", Text),
            ("gmt_offset", "gmt-offset", Text),
            ("time_zone_autodetect", "time-zone-autodetect", Flag),
        ],
    ));
    Ok(answer)
}

/// `get_routing_summary`: counts of all routes, and a page of them.
///
/// # Errors
/// See [`super::super::failure`].
pub async fn routing(client: &RouterClient, call: &RouterCall) -> Answer {
    let start = || Routes { connected: 0, dynamic: 0, page: call.page_of_rows() };
    let read = ROUTES.fold(client, "", start, |routes, row| {
        let is = |flag: &str| row[flag] == "true";
        routes.connected += usize::from(is("connect"));
        routes.dynamic += usize::from(is("dynamic") && !is("connect"));
        routes.page.push(|| object(&row, ROUTE).into()).map_err(|_| client.too_long("ip/route"))
    });
    let Routes { connected, dynamic, page } = read.await?;
    let mut answer = begun(client);
    for (name, count) in [
        ("total_routes", page.total()),
        ("static_routes", page.total() - connected - dynamic),
        ("connected_routes", connected),
        ("dynamic_routes", dynamic),
    ] {
        answer.insert(name.into(), count.into());
    }
    answer.extend(page.shown("routes"));
    Ok(answer)
}

const ROUTES: MenuRead =
    MenuRead { menus: &["ip/route"], shape: Shape::List { name: "routes", usual: "100", most: 1000 }, fields: ROUTE };

/// Counts of routes, and a page of them.
struct Routes {
    connected: usize,
    dynamic: usize,
    page: PageOfRows,
}

/// `get_dhcp_server_status`: servers with their networks and pools.
///
/// # Errors
/// See [`super::super::failure`].
pub async fn dhcp(client: &RouterClient) -> Answer {
    let (servers, networks, pools) =
        tokio::join!(client.get("ip/dhcp-server"), client.get("ip/dhcp-server/network"), client.get("ip/pool"));
    let mut answer = begun(client);
    for (name, listing, fields) in
        [("servers", servers?, DHCP_SERVER), ("networks", networks?, DHCP_NETWORK), ("pools", pools?, POOL)]
    {
        answer.insert(name.into(), rows(&listing, fields).into());
    }
    Ok(answer)
}

pub(crate) const DHCP_SERVER: &[Field] = &[
    ("id", ".id", Text),
    ("name", "name", Text),
    ("interface", "interface", Text),
    ("address_pool", "address-pool", Text),
    ("lease_time_seconds", "lease-time", Seconds),
    ("disabled", "disabled", Flag),
    ("invalid", "invalid", Flag),
];
pub(crate) const DHCP_NETWORK: &[Field] = &[
    ("id", ".id", Text),
    ("address", "address", Text),
    ("gateway", "gateway", Text),
    ("dns_servers", "dns-server", List),
    ("comment", "comment", Text),
];
pub(crate) const POOL: &[Field] =
    &[("id", ".id", Text), ("name", "name", Text), ("ranges", "ranges", List), ("next_pool", "next-pool", Text)];

/// `get_interface_stats`: the traffic of this moment. Without names: of all interfaces.
///
/// # Errors
/// See [`super::super::failure`].
pub async fn interface_stats(client: &RouterClient, call: &RouterCall) -> Answer {
    let mut names = call.texts("interface_names");
    if names.is_empty() {
        let all = client.get("interface?.proplist=name").await?;
        let all = all.as_array().into_iter().flatten();
        names = all.filter_map(|row| row["name"].as_str().map(str::to_owned)).collect();
    }
    if names.iter().any(|name| name.contains(',')) {
        return Err(ToolError::invalid("a name of an interface has no comma").with("parameter", "interface_names"));
    }
    // Without `once` the command does not end.
    let arguments = Map::from_iter([("interface".to_owned(), json!(names.join(","))), ("once".to_owned(), json!(""))]);
    let stats = client.command("interface/monitor-traffic", &arguments).await?;
    let mut answer = begun(client);
    answer.insert("stats".into(), rows(&stats, TRAFFIC).into());
    Ok(answer)
}

pub(crate) const TRAFFIC: &[Field] = &[
    ("name", "name", Text),
    ("rx_bits_per_second", "rx-bits-per-second", Integer),
    ("tx_bits_per_second", "tx-bits-per-second", Integer),
    ("rx_packets_per_second", "rx-packets-per-second", Integer),
    ("tx_packets_per_second", "tx-packets-per-second", Integer),
    ("rx_drops_per_second", "rx-drops-per-second", Integer),
    ("rx_errors_per_second", "rx-errors-per-second", Integer),
];
