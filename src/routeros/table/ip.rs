//! Addresses and neighbours.

use super::*;

const TAGS: &[&str] = &["routeros", "addresses"];

const ADDRESS: &[Field] = &[
    ("id", ".id", Text),
    ("address", "address", Text),
    ("network", "network", Text),
    ("interface", "interface", Text),
    ("disabled", "disabled", Flag),
    ("comment", "comment", Text),
    ("dynamic", "dynamic", Flag),
    ("invalid", "invalid", Flag),
];

pub const TOOLS: &[RouterTool] = &[
    RouterTool {
        description: "List the IP addresses of a router.\n\nUse when: a network is looked for.\n\nReturns: address, network, interface.",
        listed: true,
        tags: TAGS,
        ..read(
            "routeros.list_ip_addresses",
            "ip/list-addresses",
            "List a router's addresses",
            Run::Menu(&MenuRead {
                menus: &["ip/address"],
                shape: List { name: "addresses", usual: "50", most: 500 },
                fields: ADDRESS,
            }),
        )
    },
    RouterTool {
        description: "Show one IP address of a router.\n\nUse when: its interface or flags are in question.\n\nReturns: address, network, interface and flags.",
        tags: TAGS,
        ..read(
            "routeros.get_ip_address",
            "ip/get-address",
            "Show a router's address",
            Run::Menu(&MenuRead {
                menus: &["ip/address"],
                shape: One { name: "address", argument: "address_id" },
                fields: ADDRESS,
            }),
        )
    },
    RouterTool {
        description: "Show which MAC address has which IP address.\n\nUse when: a host is looked for.\n\nReturns: address, MAC address, interface, status.",
        tags: TAGS,
        ..read(
            "routeros.get_arp_table",
            "ip/get-arp-table",
            "Show a router's ARP table",
            Run::Menu(&MenuRead {
                menus: &["ip/arp"],
                shape: List { name: "arp_entries", usual: "100", most: 1000 },
                fields: &[
                    ("address", "address", Text),
                    ("mac_address", "mac-address", Text),
                    ("interface", "interface", Text),
                    ("status", "status", Text),
                    ("dynamic", "dynamic", Flag),
                    ("comment", "comment", Text),
                ],
            }),
        )
    },
];
