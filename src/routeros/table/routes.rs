//! Routes.

use super::*;
use crate::routeros::reads::special;

const TAGS: &[&str] = &["routeros", "routes"];

pub(crate) const ROUTE: &[Field] = &[
    ("id", ".id", Text),
    ("dst_address", "dst-address", Text),
    ("gateway", "gateway", Text),
    ("distance", "distance", Integer),
    ("scope", "scope", Integer),
    ("target_scope", "target-scope", Integer),
    ("routing_table", "routing-table", Text),
    ("comment", "comment", Text),
    ("active", "active", Flag),
    ("disabled", "disabled", Flag),
    ("dynamic", "dynamic", Flag),
    ("static", "static", Flag),
    ("connected", "connect", Flag),
];

pub const TOOLS: &[RouterTool] = &[
    RouterTool {
        description: "Show and count the routes of a router.\n\nUse when: a network is not reached.\n\nReturns: counts; destination, gateway, distance, flags.",
        listed: true,
        tags: TAGS,
        args: &[or("limit", ArgKind::Integer(1, 1000), "100", "Page size."), OFFSET],
        output: &[
            out("device_id", OutKind::Text),
            out("total_routes", OutKind::Integer),
            out("static_routes", OutKind::Integer),
            out("connected_routes", OutKind::Integer),
            out("dynamic_routes", OutKind::Integer),
            out("routes", OutKind::Rows(ROUTE)),
            out("total_count", OutKind::Integer),
            PAGINATION,
        ],
        ..read(
            "routeros.get_routing_summary",
            "routing/get-summary",
            "List a router's routes",
            Run::Device(|router, call| Box::pin(special::routing(&router.client, call))),
        )
    },
    RouterTool {
        description: "Show one route of a router.\n\nUse when: its distance, scope or flags are in question.\n\nReturns: destination, gateway, distance, scopes and flags.",
        tags: TAGS,
        ..read(
            "routeros.get_route",
            "routing/get-route",
            "Show a router's route",
            Run::Menu(&MenuRead {
                menus: &["ip/route"],
                shape: One { name: "route", argument: "route_id" },
                fields: ROUTE,
            }),
        )
    },
];
