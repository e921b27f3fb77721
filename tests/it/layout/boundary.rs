//! The half that has root has no network: neither a crate that speaks one, nor a socket of one.

use super::{metadata, short, sources};
use std::collections::{BTreeMap, BTreeSet};

/// Crates that stand at or below the privileged half, by package name and folder.
const BELOW: [(&str, &str); 7] = [
    ("raspi-mcp-agent", "crates/agent/src"),
    ("raspi-mcp-appliance", "crates/appliance/src"),
    ("raspi-mcp-base", "crates/base/src"),
    ("raspi-mcp-contract", "crates/contract/src"),
    ("raspi-mcp-fleet-protocol", "crates/fleet-protocol/src"),
    ("raspi-mcp-hw", "crates/hw/src"),
    ("raspi-mcp-update", "crates/update/src"),
];
/// What is the server half's alone: clients and servers of networks, and the store.
const FORBIDDEN: [&str; 7] = ["reqwest", "rmcp", "axum", "hyper", "rusqlite", "tokio-rustls", "async-nats"];
/// Sockets of a network. Unix sockets and netlink are not among them.
const SOCKETS: [&str; 4] = ["TcpStream", "TcpListener", "TcpSocket", "UdpSocket"];

/// Every package that `start` depends on, directly or not, outside of tests and build scripts.
fn depends_on(start: &str, resolved: &BTreeMap<String, (String, Vec<String>)>) -> BTreeSet<String> {
    let mut seen = BTreeSet::new();
    let mut next: Vec<&String> = resolved.iter().filter(|(_, (name, _))| name == start).map(|(id, _)| id).collect();
    assert_eq!(next.len(), 1, "{start} is no package of the workspace");
    while let Some(id) = next.pop() {
        if seen.insert(id) {
            next.extend(&resolved[id].1);
        }
    }
    seen.into_iter().map(|id| resolved[id].0.clone()).collect()
}

/// By package id: name, and the ids of what it is linked with.
fn resolved() -> BTreeMap<String, (String, Vec<String>)> {
    let metadata = metadata(&["--filter-platform", "aarch64-unknown-linux-gnu"]);
    let text = |value: &serde_json::Value| value.as_str().expect("a string").to_owned();
    let packages = metadata["packages"].as_array().expect("packages");
    let names: BTreeMap<String, String> =
        packages.iter().map(|package| (text(&package["id"]), text(&package["name"]))).collect();
    let is_linked = |dependency: &serde_json::Value| {
        dependency["dep_kinds"].as_array().expect("kinds").iter().any(|kind| kind["kind"].is_null())
    };
    let nodes = metadata["resolve"]["nodes"].as_array().expect("nodes").iter();
    let row = |node: &serde_json::Value| {
        let id = text(&node["id"]);
        let linked = node["deps"].as_array().expect("deps").iter().filter(|dependency| is_linked(dependency));
        (id.clone(), (names[&id].clone(), linked.map(|dependency| text(&dependency["pkg"])).collect()))
    };
    nodes.map(row).collect()
}

#[test]
fn the_privileged_half_is_linked_with_no_network() {
    let resolved = resolved();
    for (package, _) in BELOW {
        let all = depends_on(package, &resolved);
        assert!(all.contains("serde"), "{package}: the tree is not read, it has {all:?}");
        let found: Vec<&str> = FORBIDDEN.into_iter().filter(|name| all.contains(*name)).collect();
        assert!(
            found.is_empty(),
            "{package} is linked with {found:?}: that belongs in the root package or update-client"
        );
    }
    let server = depends_on("raspi-mcp", &resolved);
    let missing: Vec<&str> = FORBIDDEN.into_iter().filter(|name| !server.contains(*name)).collect();
    assert!(missing.is_empty(), "the server half has no {missing:?}: the list forbids what is not there");
}

#[test]
fn the_privileged_half_opens_no_socket_of_a_network() {
    for (_, folder) in BELOW {
        for (path, text) in sources(folder) {
            let code = text.find("#[cfg(test)]").map_or(text.as_str(), |at| &text[..at]);
            for (n, line) in code.lines().enumerate() {
                let code = line.split("//").next().unwrap_or(line);
                let socket = SOCKETS.into_iter().find(|socket| code.contains(socket));
                assert_eq!(socket, None, "{}:{}: a socket of a network below the server half", short(&path), n + 1);
            }
        }
    }
}
