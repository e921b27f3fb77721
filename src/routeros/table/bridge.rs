//! Bridges.

use super::*;

const TAGS: &[&str] = &["routeros", "bridge"];

const BRIDGE: &[Field] = &[
    ("id", ".id", Text),
    ("name", "name", Text),
    ("mac_address", "mac-address", Text),
    ("protocol_mode", "protocol-mode", Text),
    ("vlan_filtering", "vlan-filtering", Flag),
    ("pvid", "pvid", Integer),
    ("mtu", "actual-mtu", Integer),
    ("running", "running", Flag),
    ("disabled", "disabled", Flag),
    ("comment", "comment", Text),
];

pub const TOOLS: &[RouterTool] = &[
    RouterTool {
        description: "List the bridges of a router.\n\nUse when: ports or VLANs are in question.\n\nReturns: name, STP mode, VLAN filtering and state of each.",
        tags: TAGS,
        ..read(
            "routeros.list_bridges",
            "",
            "List a router's bridges",
            Run::Menu(&MenuRead {
                menus: &["interface/bridge"],
                shape: List { name: "bridges", usual: "50", most: 500 },
                fields: BRIDGE,
            }),
        )
    },
    RouterTool {
        description: "Show one bridge of a router.\n\nUse when: its settings are in question.\n\nReturns: name, STP mode, VLAN filtering, MTU and state.",
        tags: TAGS,
        ..read(
            "routeros.get_bridge",
            "",
            "Show a router's bridge",
            Run::Menu(&MenuRead {
                menus: &["interface/bridge"],
                shape: One { name: "bridge", argument: "bridge_id" },
                fields: BRIDGE,
            }),
        )
    },
    RouterTool {
        description: "List the ports of a router's bridges.\n\nUse when: it matters which interface is in which bridge.\n\nReturns: bridge, interface, VLAN id and state of each.",
        tags: TAGS,
        ..read(
            "routeros.get_bridge_ports",
            "",
            "List a router's bridge ports",
            Run::Menu(&MenuRead {
                menus: &["interface/bridge/port"],
                shape: List { name: "ports", usual: "100", most: 500 },
                fields: &[
                    ("id", ".id", Text),
                    ("bridge", "bridge", Text),
                    ("interface", "interface", Text),
                    ("pvid", "pvid", Integer),
                    ("hw", "hw", Flag),
                    ("inactive", "inactive", Flag),
                    ("disabled", "disabled", Flag),
                    ("comment", "comment", Text),
                ],
            }),
        )
    },
];
