//! Interfaces and their traffic.

use super::*;
use crate::routeros::reads::special::{self, TRAFFIC};

const TAGS: &[&str] = &["routeros", "interfaces"];

const INTERFACE: &[Field] = &[
    ("id", ".id", Text),
    ("name", "name", Text),
    ("type", "type", Text),
    ("running", "running", Flag),
    ("disabled", "disabled", Flag),
    ("comment", "comment", Text),
    ("mtu", "mtu", Integer),
    ("mac_address", "mac-address", Text),
    ("last_link_up_time", "last-link-up-time", Text),
    ("rx_bytes", "rx-byte", Integer),
    ("tx_bytes", "tx-byte", Integer),
    ("rx_errors", "rx-error", Integer),
    ("tx_errors", "tx-error", Integer),
];

pub const TOOLS: &[RouterTool] = &[
    RouterTool {
        description: "Show the traffic of a router's interfaces now.\n\nUse when: a link seems full or silent.\n\nReturns: bits, packets, drops and errors a second.",
        listed: true,
        tags: TAGS,
        args: &[may("interface_names", ArgKind::Texts(1, 50, 63), "Only these; else all.")],
        output: &[out("device_id", OutKind::Text), out("stats", OutKind::Rows(TRAFFIC))],
        ..read(
            "routeros.get_interface_stats",
            "interface/get-stats",
            "Show a router's traffic",
            Run::Device(|router, call| Box::pin(special::interface_stats(&router.client, call))),
        )
    },
    RouterTool {
        description: "List the interfaces of a router.\n\nUse when: a link is down.\n\nReturns: state, type, MTU, MAC address, counters.",
        listed: true,
        tags: TAGS,
        ..read(
            "routeros.list_interfaces",
            "interface/list-interfaces",
            "List a router's interfaces",
            Run::Menu(&MenuRead {
                menus: &["interface"],
                shape: List { name: "interfaces", usual: "50", most: 500 },
                fields: INTERFACE,
            }),
        )
    },
    RouterTool {
        description: "Show one interface of a router.\n\nUse when: one port or bridge is in question.\n\nReturns: state, type, MTU, MAC address, counters, last link up.",
        tags: TAGS,
        ..read(
            "routeros.get_interface",
            "interface/get-interface",
            "Show a router's interface",
            Run::Menu(&MenuRead {
                menus: &["interface"],
                shape: One { name: "interface", argument: "interface_id" },
                fields: INTERFACE,
            }),
        )
    },
];
