//! DHCP.

use super::*;
use crate::routeros::reads::special::{self, DHCP_NETWORK, DHCP_SERVER, POOL};

const TAGS: &[&str] = &["routeros", "dhcp"];

pub const TOOLS: &[RouterTool] = &[
    RouterTool {
        description: "Show the DHCP servers of a router.\n\nUse when: hosts get no address.\n\nReturns: servers, with their networks and pools.",
        tags: TAGS,
        output: &[
            out("device_id", OutKind::Text),
            out("servers", OutKind::Rows(DHCP_SERVER)),
            out("networks", OutKind::Rows(DHCP_NETWORK)),
            out("pools", OutKind::Rows(POOL)),
        ],
        ..read(
            "routeros.get_dhcp_server_status",
            "",
            "Show a router's DHCP servers",
            Run::Device(|router, _| Box::pin(special::dhcp(&router.client))),
        )
    },
    RouterTool {
        description: "List the DHCP leases of a router.\n\nUse when: a host or its address is looked for.\n\nReturns: address, MAC address, name, status, expiry.",
        listed: true,
        tags: TAGS,
        ..read(
            "routeros.get_dhcp_leases",
            "",
            "List a router's DHCP leases",
            Run::Menu(&MenuRead {
                menus: &["ip/dhcp-server/lease"],
                shape: List { name: "leases", usual: "100", most: 1000 },
                fields: &[
                    ("id", ".id", Text),
                    ("address", "address", Text),
                    ("mac_address", "mac-address", Text),
                    ("host_name", "host-name", Text),
                    ("server", "server", Text),
                    ("status", "status", Text),
                    ("expires_after_seconds", "expires-after", Seconds),
                    ("dynamic", "dynamic", Flag),
                    ("blocked", "blocked", Flag),
                    ("disabled", "disabled", Flag),
                    ("comment", "comment", Text),
                ],
            }),
        )
    },
];
