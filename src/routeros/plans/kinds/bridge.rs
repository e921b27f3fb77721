//! Bridges and their ports: both are known by their names.

use super::Kind;
use crate::routeros::{
    call::RouterCall,
    plan::{Change, Fields, fields},
    plans::seen::{Seen, text},
};
use base::error::ToolError;

const BRIDGE: &str = "interface/bridge";
const PORT: &str = "interface/bridge/port";
const MENUS: &[&str] = &[BRIDGE, PORT, "interface", "ip/address"];
const APPLY: &str = "routeros.apply_bridge_plan";

pub static CREATE: Kind = Kind::new(APPLY, MENUS, build_create);
pub static PORTS: Kind = Kind::new(APPLY, MENUS, build_ports);

fn build_create(call: &RouterCall, seen: &Seen) -> Result<Vec<Change>, ToolError> {
    let name = call.text("bridge_name");
    let mut more: Fields = fields(&[
        ("protocol-mode", call.text("protocol_mode")),
        ("vlan-filtering", if call.flag("vlan_filtering") { "yes" } else { "no" }),
    ]);
    if !call.text("comment").is_empty() {
        more.insert("comment".into(), call.text("comment").into());
    }
    let mut changes = vec![Change::add(BRIDGE, fields(&[("name", name)]), more)];
    for interface in call.texts("interfaces") {
        changes.push(port(seen, name, &interface, "interfaces")?);
    }
    Ok(changes)
}

/// An interface becomes a port of one bridge.
fn port(seen: &Seen, bridge: &str, interface: &str, parameter: &str) -> Result<Change, ToolError> {
    let refused = |why: String| Err(seen.refusal(why).with("parameter", parameter));
    if seen.row("interface", "name", interface).is_none() {
        return refused(format!("it has no interface {interface}"));
    }
    if let Some(other) = seen.row(PORT, "interface", interface).filter(|row| row["bridge"] != bridge) {
        return refused(format!("{interface} is a port of {}", text(other, "bridge")));
    }
    if let Some(address) = seen.row("ip/address", "interface", interface) {
        return refused(format!(
            "{interface} has the address {}, which would stay at a port",
            text(address, "address")
        ));
    }
    Ok(Change::add(PORT, fields(&[("bridge", bridge), ("interface", interface)]), Fields::new()))
}

fn build_ports(call: &RouterCall, seen: &Seen) -> Result<Vec<Change>, ToolError> {
    let bridge = call.text("bridge_name");
    if seen.row(BRIDGE, "name", bridge).is_none() {
        return Err(ToolError::not_found(format!("the router {} has no bridge {bridge}", seen.device))
            .with("parameter", "bridge_name"));
    }
    let (wanted, unwanted) = (call.texts("add"), call.texts("remove"));
    if wanted.is_empty() && unwanted.is_empty() {
        return Err(ToolError::invalid("nothing is to be changed: name interfaces in add or remove"));
    }
    if let Some(both) = wanted.iter().find(|one| unwanted.contains(one)) {
        return Err(ToolError::invalid(format!("{both} is in add and in remove")).with("parameter", "add"));
    }
    let mut changes = Vec::new();
    for interface in wanted {
        changes.push(port(seen, bridge, &interface, "add")?);
    }
    changes.extend(
        unwanted.iter().map(|interface| Change::remove(PORT, fields(&[("bridge", bridge), ("interface", interface)]))),
    );
    Ok(changes)
}
