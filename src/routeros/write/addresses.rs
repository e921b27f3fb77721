//! Secondary addresses of interfaces.

use super::{Deed, write};
use crate::routeros::{
    call::RouterCall,
    network::Network,
    plan::{Change, Fields, Selector, fields},
    plans::{
        kinds::only_ipv4,
        seen::{Seen, text},
    },
    service::RouterService,
    table::Answer,
};
use base::error::ToolError;
use serde_json::{Map, json};

const MENU: &str = "ip/address";

fn select(address: &str, interface: &str) -> Selector {
    fields(&[("address", address), ("interface", interface)])
}

pub fn add<'a>(service: &'a RouterService, call: &'a RouterCall) -> Answer<'a> {
    Box::pin(write(service, call, &[MENU, "interface", "interface/bridge/port"], |call, seen| {
        let (address, interface) = (call.text("address"), call.text("interface"));
        let network = host(address)?;
        has_place(seen, network, address, interface)?;
        let comment = call.text("comment");
        let more = if comment.is_empty() { Fields::new() } else { fields(&[("comment", comment)]) };
        let change = Change::add(MENU, select(address, interface), more);
        let says = [("address".to_owned(), json!(address)), ("interface".to_owned(), json!(interface))];
        Ok(Deed { change, says: Map::from_iter(says), id: "address_id" })
    }))
}

/// An address of a machine, with the length of its network.
fn host(address: &str) -> Result<Network, ToolError> {
    let wrong = |why: &str| ToolError::invalid(format!("{address:?} {why}")).with("parameter", "address");
    only_ipv4("address", address)?;
    let network = Network::parse(address)
        .filter(|_| address.contains('/'))
        .ok_or_else(|| wrong("is no address with its length, such as 192.168.1.2/24"))?;
    if network.length < 31 && network.is_network() {
        return Err(wrong("is a network, not an address in it"));
    }
    Ok(network)
}

fn has_place(seen: &Seen, network: Network, address: &str, interface: &str) -> Result<(), ToolError> {
    let refused = |why: String, parameter: &str| Err(seen.refusal(why).with("parameter", parameter));
    if seen.row("interface", "name", interface).is_none() {
        return refused(format!("it has no interface {interface}"), "interface");
    }
    if let Some(port) = seen.row("interface/bridge/port", "interface", interface) {
        let bridge = text(port, "bridge");
        return refused(format!("{interface} is a port of {bridge}: an address belongs to {bridge}"), "interface");
    }
    let others = seen.rows(MENU).filter(|row| row["address"] != address || row["interface"] != interface);
    let mut overlapping =
        others.filter(|row| Network::parse(text(row, "address")).is_some_and(|other| other.overlaps(network)));
    match overlapping.next() {
        Some(row) => {
            let (other, at) = (text(row, "address"), text(row, "interface"));
            refused(format!("{address} overlaps {other} of {at}"), "address")
        }
        None => Ok(()),
    }
}

pub fn remove<'a>(service: &'a RouterService, call: &'a RouterCall) -> Answer<'a> {
    Box::pin(write(service, call, &[MENU], |call, seen| {
        let asked = call.text("address_id");
        let row = seen.rows(MENU).find(|row| row[".id"] == asked || row["address"] == asked).ok_or_else(|| {
            ToolError::not_found(format!("the router {} has no address {asked:?}", seen.device))
                .with("parameter", "address_id")
                .with("device_id", seen.device.as_str())
                .hint("routeros.list_ip_addresses has them")
        })?;
        let (address, interface) = (text(row, "address"), text(row, "interface"));
        if row["dynamic"] == "true" {
            return Err(seen
                .refusal(format!("{address} is the router's own: it cannot be removed"))
                .with("parameter", "address_id"));
        }
        if seen.rows(MENU).filter(|other| other["interface"] == interface).count() < 2 {
            return Err(seen
                .refusal(format!("{address} is the only address of {interface}"))
                .with("parameter", "address_id"));
        }
        let says = [("address_id".to_owned(), row[".id"].clone()), ("removed_address".to_owned(), json!(address))];
        let change = Change::remove(MENU, select(address, interface));
        Ok(Deed { change, says: Map::from_iter(says), id: "" })
    }))
}
