//! Static routes: one is known by where it leads to and by its gateway.

use super::{Kind, given, object};
use crate::routeros::{
    call::RouterCall,
    network::Network,
    plan::{Change, Fields},
    plans::seen::{Seen, is_on, text},
};
use base::error::ToolError;

const MENU: &str = "ip/route";
const APPLY: &str = "routeros.apply_routing_plan";

pub static ADD: Kind = Kind::new(APPLY, &[MENU, "interface", "ip/address"], build_add);
pub static MODIFY: Kind = Kind::new(APPLY, &[MENU, "interface", "ip/address"], build_modify);
pub static REMOVE: Kind = Kind::new(APPLY, &[MENU], build_remove);

fn build_add(call: &RouterCall, seen: &Seen) -> Result<Vec<Change>, ToolError> {
    let select = route(&call.args, &["dst_address", "gateway"])?;
    reachable(seen, &select["gateway"])?;
    Ok(vec![Change::add(MENU, select, given(&call.args, &["distance", "comment"])?)])
}

fn build_modify(call: &RouterCall, seen: &Seen) -> Result<Vec<Change>, ToolError> {
    let to = route(&call.args, &["dst_address", "gateway", "distance", "comment"])?;
    if to.is_empty() {
        return Err(ToolError::invalid("nothing is to be changed: give dst_address, gateway, distance or comment"));
    }
    if let Some(gateway) = to.get("gateway") {
        reachable(seen, gateway)?;
    }
    Ok(vec![Change::set(MENU, selected(call)?, to)])
}

fn build_remove(call: &RouterCall, _: &Seen) -> Result<Vec<Change>, ToolError> {
    Ok(vec![Change::remove(MENU, selected(call)?)])
}

fn selected(call: &RouterCall) -> Result<Fields, ToolError> {
    let Some(asked) = object(call, "route") else { return Ok(Fields::new()) };
    route(asked, &["dst_address", "gateway", "comment"])
}

/// The destination of a route has its length always.
fn route(args: &serde_json::Map<String, serde_json::Value>, names: &[&str]) -> Result<Fields, ToolError> {
    let mut fields = given(args, names)?;
    if let Some(destination) = fields.get_mut("dst-address") {
        let network = Network::parse(destination).ok_or_else(|| {
            ToolError::invalid(format!("{destination:?} is no network")).with("parameter", "dst_address")
        })?;
        *destination = network.shown();
    }
    Ok(fields)
}

/// A gateway is an interface, or an address in a network that the router is in.
fn reachable(seen: &Seen, gateway: &str) -> Result<(), ToolError> {
    let in_reach = match gateway.parse() {
        Ok(address) => seen.rows("ip/address").filter(|row| is_on(row)).any(|row| {
            Network::parse(text(row, "address"))
                .is_some_and(|network| network.covers(address) && network.address != address)
        }),
        Err(_) => seen.row("interface", "name", gateway).is_some(),
    };
    if in_reach {
        return Ok(());
    }
    Err(seen
        .refusal(format!("{gateway} is no interface of it, and no other machine in one of its networks"))
        .with("parameter", "gateway"))
}
