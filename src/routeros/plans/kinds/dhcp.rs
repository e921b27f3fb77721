//! Pools of addresses for DHCP. A pool alone hands out nothing: with it come a network and a server, three writes in one plan.

use super::{Kind, object, only_ipv4};
use crate::routeros::{
    call::RouterCall,
    network::{Network, range},
    plan::{Change, Fields, fields},
    plans::seen::{Seen, is_on, text},
};
use base::error::ToolError;
use serde_json::Value;
use std::net::IpAddr;

const POOL: &str = "ip/pool";
const SERVER: &str = "ip/dhcp-server";
const NETWORK: &str = "ip/dhcp-server/network";
const APPLY: &str = "routeros.apply_dhcp_plan";
const MENUS: &[&str] = &[POOL, SERVER, NETWORK, "interface", "ip/address"];

pub static CREATE: Kind = Kind::new(APPLY, MENUS, build_create);
pub static MODIFY: Kind = Kind::new(APPLY, MENUS, build_modify);
pub static REMOVE: Kind = Kind::new(APPLY, MENUS, build_remove);

fn wrong(parameter: &str, why: String) -> ToolError {
    ToolError::invalid(why).with("parameter", parameter)
}

fn addresses(parameter: &str, text: &str) -> Result<(IpAddr, IpAddr), ToolError> {
    only_ipv4(parameter, text)?;
    range(text).ok_or_else(|| wrong(parameter, format!("{text:?} is no range such as 192.168.50.10-192.168.50.99")))
}

fn address(parameter: &str, text: &str) -> Result<IpAddr, ToolError> {
    only_ipv4(parameter, text)?;
    text.parse().map_err(|_| wrong(parameter, format!("{text:?} is no address")))
}

fn build_create(call: &RouterCall, seen: &Seen) -> Result<Vec<Change>, ToolError> {
    let (name, interface) = (call.text("pool_name"), call.text("interface"));
    let (first, last) = addresses("address_range", call.text("address_range"))?;
    if seen.row("interface", "name", interface).is_none() {
        return Err(seen.refusal(format!("it has no interface {interface}")).with("parameter", "interface"));
    }
    let own = |row: &Value| Network::parse(text(row, "address"));
    let mut here = seen.rows("ip/address").filter(|row| is_on(row) && row["interface"] == interface).filter_map(own);
    let network = here.find(|network| network.covers(first) && network.covers(last)).ok_or_else(|| {
        seen.refusal(format!(
            "{interface} has no address in a network with {first} and {last}, so a server there hands out nothing"
        ))
        .with("parameter", "address_range")
    })?;
    let is_taken = |row: &Value| overlaps(text(row, "ranges"), first, last) && row["name"] != name;
    if let Some(other) = seen.rows(POOL).find(|row| is_taken(row)) {
        return Err(seen
            .refusal(format!("the pool {} has some of these addresses", text(other, "name")))
            .with("parameter", "address_range"));
    }
    if let Some(other) = seen.rows(SERVER).find(|row| row["interface"] == interface && row["name"] != name) {
        return Err(seen
            .refusal(format!("the DHCP server {} is at {interface} already", text(other, "name")))
            .with("parameter", "interface"));
    }
    let gateway = call.text("gateway");
    let gateway = if gateway.is_empty() { network.address } else { address("gateway", gateway)? };
    if !network.covers(gateway) {
        return Err(wrong("gateway", format!("{gateway} is not in {}", network.shown())));
    }
    let servers = name_servers(&call.texts("dns_servers"))?;
    let mut of_network = fields(&[("gateway", &gateway.to_string())]);
    if !servers.is_empty() {
        of_network.insert("dns-server".into(), servers);
    }
    let with_pool = fields(&[("interface", interface), ("address-pool", name), ("disabled", "no")]);
    Ok(vec![
        Change::add(POOL, fields(&[("name", name)]), fields(&[("ranges", call.text("address_range"))])),
        Change::add(NETWORK, fields(&[("address", &network.shown())]), of_network),
        Change::add(SERVER, fields(&[("name", name)]), with_pool),
    ])
}

fn name_servers(all: &[String]) -> Result<String, ToolError> {
    all.iter().try_for_each(|one| address("dns_servers", one).map(|_| ()))?;
    Ok(all.join(","))
}

fn overlaps(ranges: &str, first: IpAddr, last: IpAddr) -> bool {
    ranges.split(',').any(|one| match range(one) {
        Some((from, to)) => from <= last && first <= to,
        None => Network::parse(one).is_some_and(|network| network.covers(first) || network.covers(last)),
    })
}

fn pool<'a>(seen: &'a Seen, name: &str) -> Result<&'a Value, ToolError> {
    seen.row(POOL, "name", name).ok_or_else(|| {
        ToolError::not_found(format!("the router {} has no pool {name}", seen.device)).with("parameter", "pool_name")
    })
}

/// The network in which the addresses of a pool are.
fn network_of<'a>(seen: &'a Seen, pool: &Value) -> Option<&'a str> {
    let (first, _) = range(text(pool, "ranges").split(',').next()?)?;
    let mut all = seen.rows(NETWORK).map(|row| text(row, "address"));
    all.find(|network| Network::parse(network).is_some_and(|network| network.covers(first)))
}

fn build_modify(call: &RouterCall, seen: &Seen) -> Result<Vec<Change>, ToolError> {
    let name = call.text("pool_name");
    let (pool, Some(to)) = (pool(seen, name)?, object(call, "modifications")) else {
        return Err(ToolError::invalid("modifications are missing"));
    };
    let given = |field: &str| to.get(field).and_then(Value::as_str);
    let mut changes = Vec::new();
    if let Some(ranges) = given("address_range") {
        let (first, last) = addresses("modifications", ranges)?;
        if let Some(other) =
            seen.rows(POOL).find(|row| row["name"] != name && overlaps(text(row, "ranges"), first, last))
        {
            return Err(seen.refusal(format!("the pool {} has some of these addresses", text(other, "name"))));
        }
        changes.push(Change::set(POOL, fields(&[("name", name)]), fields(&[("ranges", ranges)])));
    }
    let mut of_network = Fields::new();
    if let Some(gateway) = given("gateway") {
        address("modifications", gateway)?;
        of_network.insert("gateway".into(), gateway.into());
    }
    if let Some(servers) = to.get("dns_servers").and_then(Value::as_array) {
        let servers: Vec<String> = servers.iter().filter_map(|one| one.as_str().map(str::to_owned)).collect();
        of_network.insert("dns-server".into(), name_servers(&servers)?);
    }
    if !of_network.is_empty() {
        let network = network_of(seen, pool)
            .ok_or_else(|| seen.refusal(format!("no DHCP network has the addresses of {name}")))?;
        changes.push(Change::set(NETWORK, fields(&[("address", network)]), of_network));
    }
    if changes.is_empty() {
        return Err(ToolError::invalid("nothing is to be changed: give address_range, gateway or dns_servers")
            .with("parameter", "modifications"));
    }
    Ok(changes)
}

fn build_remove(call: &RouterCall, seen: &Seen) -> Result<Vec<Change>, ToolError> {
    let name = call.text("pool_name");
    let pool = pool(seen, name)?;
    let named = || fields(&[("name", name)]);
    let Some(server) = seen.rows(SERVER).find(|row| row["address-pool"] == name) else {
        return Ok(vec![Change::remove(POOL, named())]);
    };
    let server = text(server, "name");
    if !call.flag("with_server") {
        return Err(seen
            .refusal(format!("the DHCP server {server} uses the pool {name}"))
            .with("parameter", "with_server")
            .hint("with_server = true removes the server and its network as well"));
    }
    // The server goes first: a pool that one uses is not removed.
    let mut changes = vec![Change::remove(SERVER, fields(&[("name", server)]))];
    changes.extend(network_of(seen, pool).map(|network| Change::remove(NETWORK, fields(&[("address", network)]))));
    changes.push(Change::remove(POOL, named()));
    Ok(changes)
}
