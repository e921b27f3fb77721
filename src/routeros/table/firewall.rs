//! Rules and address lists.

use super::*;

const TAGS: &[&str] = &["routeros", "firewall"];

const RULE: &[Field] = &[
    ("id", ".id", Text),
    ("chain", "chain", Text),
    ("action", "action", Text),
    ("src_address", "src-address", Text),
    ("dst_address", "dst-address", Text),
    ("src_address_list", "src-address-list", Text),
    ("dst_address_list", "dst-address-list", Text),
    ("protocol", "protocol", Text),
    ("src_port", "src-port", Text),
    ("dst_port", "dst-port", Text),
    ("in_interface", "in-interface", Text),
    ("out_interface", "out-interface", Text),
    ("in_interface_list", "in-interface-list", Text),
    ("out_interface_list", "out-interface-list", Text),
    ("connection_state", "connection-state", Text),
    ("connection_nat_state", "connection-nat-state", Text),
    ("jump_target", "jump-target", Text),
    ("to_addresses", "to-addresses", Text),
    ("to_ports", "to-ports", Text),
    ("comment", "comment", Text),
    ("disabled", "disabled", Flag),
    ("dynamic", "dynamic", Flag),
    ("invalid", "invalid", Flag),
    ("bytes", "bytes", Integer),
    ("packets", "packets", Integer),
];

pub const TOOLS: &[RouterTool] = &[
    RouterTool {
        description: "List the filter rules of a router in their order.\n\nUse when: traffic is blocked.\n\nReturns: chain, action, matchers, counters.",
        listed: true,
        tags: TAGS,
        ..read(
            "routeros.list_firewall_filter_rules",
            "firewall/list-filter-rules",
            "List a router's filter rules",
            Run::Menu(&MenuRead {
                menus: &["ip/firewall/filter"],
                shape: List { name: "filter_rules", usual: "50", most: 500 },
                fields: RULE,
            }),
        )
    },
    RouterTool {
        description: "List the NAT rules of a router in their order.\n\nUse when: a port forward fails.\n\nReturns: chain, action, matchers, targets.",
        tags: TAGS,
        ..read(
            "routeros.list_firewall_nat_rules",
            "firewall/list-nat-rules",
            "List a router's NAT rules",
            Run::Menu(&MenuRead {
                menus: &["ip/firewall/nat"],
                shape: List { name: "nat_rules", usual: "50", most: 500 },
                fields: RULE,
            }),
        )
    },
    RouterTool {
        description: "List the entries of a router's firewall address lists.\n\nUse when: it matters whether an address is in a list.\n\nReturns: list, address, comment and timeout of each.",
        tags: TAGS,
        args: &[may("list_name", ArgKind::Text(1, 63), "Only this list.")],
        ..read(
            "routeros.list_firewall_address_lists",
            "firewall/list-address-lists",
            "List a router's address lists",
            Run::Menu(&MenuRead {
                menus: &["ip/firewall/address-list"],
                shape: List { name: "address_lists", usual: "100", most: 1000 },
                fields: &[
                    ("id", ".id", Text),
                    ("list_name", "list", Text),
                    ("address", "address", Text),
                    ("comment", "comment", Text),
                    ("timeout", "timeout", Text),
                    ("dynamic", "dynamic", Flag),
                    ("disabled", "disabled", Flag),
                ],
            }),
        )
    },
];
