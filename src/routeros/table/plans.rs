//! What is planned for several routers.

use super::{
    writes::{CHANGE, CHECK},
    *,
};
use crate::routeros::plans::{
    self,
    kinds::{bridge, dhcp, firewall, lists, rollout, routes, wireless},
};

/// A plan: it changes no router. Write `RouterTool { description: ..., args: ..., ..planned(...) }`.
const fn planned(name: &'static str, catalogue: &'static str, title: &'static str, run: Handler) -> RouterTool {
    RouterTool {
        tier: Tier::Professional,
        phase: 4,
        timeout_seconds: 120,
        estimated_tokens: 600,
        output: PLAN,
        ..read(name, catalogue, title, Run::Call(run))
    }
}

const NAME: ArgKind = ArgKind::Text(1, 255);
const ADDRESS: ArgKind = ArgKind::Text(1, 100);
const COMMENT: ArgKind = ArgKind::Text(0, 255);
const DESCRIPTION: Arg = may("description", ArgKind::Text(1, 200), "What it is for; kept with the plan.");
const TIMER: Arg =
    or("timer_seconds", ArgKind::Integer(5, 600), "120", "After which a router takes it back unless confirmed.");
pub(super) const MAY_CUT_OFF: Arg = or("may_cut_off", ArgKind::Flag, "false", "Even if it may cut this machine off.");

pub(super) const PLAN: &[Out] = &[
    out("plan_id", OutKind::Text),
    out("plan_hash", OutKind::Text),
    out("status", OutKind::Text),
    out("summary", OutKind::Text),
    out("risk_level", OutKind::Text),
    out("created_by", OutKind::Text),
    out("created_at", OutKind::Text),
    out("expires_at", OutKind::Text),
    out("timer_seconds", OutKind::Integer),
    out("total_devices", OutKind::Integer),
    out(
        "devices",
        OutKind::Objects(&[
            out("device_id", OutKind::Text),
            out("environment", OutKind::Text),
            out("risk_level", OutKind::Text),
            out("changes", OutKind::Objects(CHANGE)),
            out("dangers", OutKind::Texts),
            maybe("unread", OutKind::Texts),
        ]),
    ),
    out("next_tool", OutKind::Text),
    maybe("job_id", OutKind::Text),
    maybe("rollback_of", OutKind::Text),
    maybe("job", OutKind::Map),
];

const DESTINATION: Arg = may("dst_address", ADDRESS, "The network: 10.1.0.0/16.");
const GATEWAY: Arg = may("gateway", NAME, "An address or an interface.");
const DISTANCE: Arg = may("distance", ArgKind::Integer(1, 255), "Lower ones win.");
const ROUTE_COMMENT: Arg = may("comment", COMMENT, "Its comment.");
const ROUTE: Arg = need(
    "route",
    ArgKind::Object(&[need("dst_address", ADDRESS, "The network it leads to."), GATEWAY, ROUTE_COMMENT]),
    "The one route of each router that holds this.",
);

const CHAIN: ArgKind = ArgKind::Pattern(32, "^[A-Za-z0-9_-]+$", "input");
const ACTIONS: ArgKind = ArgKind::Word(&["accept", "drop", "reject", "tarpit", "log", "passthrough"]);
const SOURCE: Arg = may("src_address", ADDRESS, "An address, a network or a range; ! before it: any other.");
const TARGET: Arg = may("dst_address", ADDRESS, "As src_address.");
const PROTOCOL: Arg = may("protocol", ArgKind::Pattern(16, "^[a-z0-9-]+$", "tcp"), "Such as tcp.");
const PORT: Arg =
    may("dst_port", ArgKind::Pattern(100, "^[0-9]{1,5}([,-][0-9]{1,5})*$", "443"), "Of tcp or udp: 22, 80-90.");
const RULE_COMMENT: Arg = may("comment", COMMENT, "Its comment.");
const RULE: &[Arg] = &[
    may("chain", CHAIN, "Such as input."),
    may("action", ArgKind::Pattern(32, "^[a-z-]+$", "drop"), "What it does."),
    SOURCE,
    TARGET,
    PROTOCOL,
    PORT,
    RULE_COMMENT,
];
const THE_RULE: Arg = need("rule", ArgKind::Object(RULE), "The one rule of each router that holds this.");

const POOL: Arg = need("pool_name", ArgKind::Text(1, 63), "Its name.");
const DNS: Arg = may("dns_servers", ArgKind::Texts(1, 8, 45), "What clients are told.");
const BRIDGE: Arg = need("bridge_name", ArgKind::Text(1, 63), "Its name.");
const SSID: ArgKind = ArgKind::Text(1, 32);
const CHANNEL: Arg = may(
    "channel",
    ArgKind::Pattern(40, "^(auto|[0-9]{4}([,-][0-9]{4})*)$", "5180"),
    "The radio's frequency in MHz, or auto.",
);
const BAND: Arg =
    may("band", ArgKind::Pattern(20, "^[0-9]ghz-[a-z0-9/]+$", "5ghz-ax"), "The radio's, such as 5ghz-ax.");
const PROFILE: &str = "A security profile that is on the router; passwords are set there.";

pub const TOOLS: &[RouterTool] = &[
    RouterTool {
        description: "Plan a static route on routers.\n\nUse when: a network is to be reached by another gateway.\n\nReturns: the plan with each router's changes; nothing is changed yet.\n\nNote: routeros.apply_routing_plan applies it, once a person has approved.",
        tags: &["routeros", "routing", "plan"],
        args: &[
            DEVICES,
            need("dst_address", ADDRESS, "The network: 10.1.0.0/16."),
            need("gateway", NAME, "An address in a network of the router, or an interface."),
            DISTANCE,
            ROUTE_COMMENT,
            DESCRIPTION,
            MAY_CUT_OFF,
            TIMER,
        ],
        ..planned(
            "routeros.plan_add_static_route",
            "routing/add-static-route",
            "Plan a static route",
            |service, call| plans::plan(service, call, &routes::ADD),
        )
    },
    RouterTool {
        description: "Plan a change of a static route on routers.\n\nUse when: a route leads to the wrong gateway.\n\nReturns: the plan; nothing is changed yet.\n\nNote: the route is chosen by what it holds, since ids differ between routers.",
        tags: &["routeros", "routing", "plan"],
        args: &[DEVICES, ROUTE, DESTINATION, GATEWAY, DISTANCE, ROUTE_COMMENT, DESCRIPTION, MAY_CUT_OFF, TIMER],
        ..planned("routeros.plan_modify_static_route", "", "Plan a change of a route", |service, call| {
            plans::plan(service, call, &routes::MODIFY)
        })
    },
    RouterTool {
        description: "Plan to remove a static route from routers.\n\nUse when: a route is no longer used.\n\nReturns: the plan; nothing is changed yet.",
        tags: &["routeros", "routing", "plan"],
        args: &[DEVICES, ROUTE, DESCRIPTION, MAY_CUT_OFF, TIMER],
        ..planned(
            "routeros.plan_remove_static_route",
            "routing/remove-static-route",
            "Plan to remove a route",
            |service, call| plans::plan(service, call, &routes::REMOVE),
        )
    },
    RouterTool {
        description: "Plan a firewall rule on routers.\n\nUse when: traffic is to be let through, or stopped.\n\nReturns: the plan; nothing is changed yet.\n\nNote: rules are tried in order, so it needs a place: before another rule, or first or last.",
        tags: &["routeros", "firewall", "plan"],
        args: &[
            DEVICES,
            need("chain", CHAIN, "Such as input or forward."),
            need("action", ACTIONS, "What it does."),
            SOURCE,
            TARGET,
            PROTOCOL,
            PORT,
            RULE_COMMENT,
            may("before", ArgKind::Object(RULE), "The one rule that it stands before."),
            may("place", ArgKind::Word(&["first", "last"]), "In place of before: first of its chain, or last of all."),
            DESCRIPTION,
            MAY_CUT_OFF,
            TIMER,
        ],
        ..planned("routeros.plan_add_firewall_rule", "", "Plan a firewall rule", |service, call| {
            plans::plan(service, call, &firewall::ADD)
        })
    },
    RouterTool {
        description: "Plan a change of a firewall rule on routers.\n\nUse when: a rule matches too much or too little.\n\nReturns: the plan; nothing is changed yet.\n\nNote: the rule is chosen by what it holds, since ids differ between routers.",
        tags: &["routeros", "firewall", "plan"],
        args: &[
            DEVICES,
            THE_RULE,
            may("chain", CHAIN, "Its new chain."),
            may("action", ACTIONS, "What it does from then on."),
            SOURCE,
            TARGET,
            PROTOCOL,
            PORT,
            RULE_COMMENT,
            DESCRIPTION,
            MAY_CUT_OFF,
            TIMER,
        ],
        ..planned("routeros.plan_modify_firewall_rule", "", "Plan a change of a rule", |service, call| {
            plans::plan(service, call, &firewall::MODIFY)
        })
    },
    RouterTool {
        description: "Plan to remove a firewall rule from routers.\n\nUse when: a rule is no longer wanted.\n\nReturns: the plan; nothing is changed yet.",
        tags: &["routeros", "firewall", "plan"],
        args: &[DEVICES, THE_RULE, DESCRIPTION, MAY_CUT_OFF, TIMER],
        ..planned("routeros.plan_remove_firewall_rule", "", "Plan to remove a rule", |service, call| {
            plans::plan(service, call, &firewall::REMOVE)
        })
    },
    RouterTool {
        description: "Plan DHCP on an interface of routers: a pool of addresses, its network and its server.\n\nUse when: clients at this interface are to get addresses.\n\nReturns: the plan; nothing is changed yet.",
        tags: &["routeros", "dhcp", "plan"],
        args: &[
            DEVICES,
            POOL,
            need("address_range", ADDRESS, "192.168.50.10-192.168.50.99, in a network of the interface."),
            need("interface", NAME, "Where it hands them out."),
            may("gateway", ArgKind::Text(7, 45), "What clients are told; without it, the router."),
            DNS,
            DESCRIPTION,
            MAY_CUT_OFF,
            TIMER,
        ],
        ..planned("routeros.plan_create_dhcp_pool", "", "Plan a DHCP pool", |service, call| {
            plans::plan(service, call, &dhcp::CREATE)
        })
    },
    RouterTool {
        description: "Plan a change of a DHCP pool on routers.\n\nUse when: it is too small, or clients are told the wrong gateway or DNS servers.\n\nReturns: the plan; nothing is changed yet.",
        tags: &["routeros", "dhcp", "plan"],
        args: &[
            DEVICES,
            POOL,
            need(
                "modifications",
                ArgKind::Object(&[
                    may("address_range", ADDRESS, "The new range."),
                    may("gateway", ArgKind::Text(7, 45), "Of its network."),
                    may("dns_servers", ArgKind::Texts(1, 8, 45), "Of its network."),
                ]),
                "What changes.",
            ),
            DESCRIPTION,
            MAY_CUT_OFF,
            TIMER,
        ],
        ..planned("routeros.plan_modify_dhcp_pool", "", "Plan a change of a DHCP pool", |service, call| {
            plans::plan(service, call, &dhcp::MODIFY)
        })
    },
    RouterTool {
        description: "Plan to remove a DHCP pool from routers.\n\nUse when: it is no longer used.\n\nReturns: the plan; nothing is changed yet.\n\nNote: refused while a DHCP server uses it, unless with_server removes that as well.",
        tags: &["routeros", "dhcp", "plan"],
        args: &[
            DEVICES,
            POOL,
            or("with_server", ArgKind::Flag, "false", "Remove its server and network as well."),
            DESCRIPTION,
            MAY_CUT_OFF,
            TIMER,
        ],
        ..planned("routeros.plan_remove_dhcp_pool", "", "Plan to remove a DHCP pool", |service, call| {
            plans::plan(service, call, &dhcp::REMOVE)
        })
    },
    RouterTool {
        description: "Plan a bridge on routers.\n\nUse when: interfaces are to be one network.\n\nReturns: the plan; nothing is changed yet.",
        tags: &["routeros", "bridge", "plan"],
        args: &[
            DEVICES,
            BRIDGE,
            may("interfaces", ArgKind::Texts(1, 64, 63), "Its ports."),
            or("protocol_mode", ArgKind::Word(&["none", "rstp", "stp", "mstp"]), "\"rstp\"", "Against loops."),
            or("vlan_filtering", ArgKind::Flag, "false", "Whether it tells VLANs apart."),
            may("comment", COMMENT, "Its comment."),
            DESCRIPTION,
            MAY_CUT_OFF,
            TIMER,
        ],
        ..planned("routeros.plan_create_bridge", "", "Plan a bridge", |service, call| {
            plans::plan(service, call, &bridge::CREATE)
        })
    },
    RouterTool {
        description: "Plan which interfaces are ports of a bridge on routers.\n\nUse when: an interface is to belong to a bridge, or no longer.\n\nReturns: the plan; nothing is changed yet.",
        tags: &["routeros", "bridge", "plan"],
        args: &[
            DEVICES,
            BRIDGE,
            may("add", ArgKind::Texts(1, 64, 63), "Interfaces that become ports."),
            may("remove", ArgKind::Texts(1, 64, 63), "Ports that are no longer."),
            DESCRIPTION,
            MAY_CUT_OFF,
            TIMER,
        ],
        ..planned("routeros.plan_modify_bridge_ports", "", "Plan bridge ports", |service, call| {
            plans::plan(service, call, &bridge::PORTS)
        })
    },
    RouterTool {
        description: "Plan another wireless network on a radio of routers.\n\nUse when: guests or devices are to have a network of their own.\n\nReturns: the plan; nothing is changed yet.\n\nNote: no password passes through here; a profile without one is refused. Band and channel change the radio, and so all its networks.",
        tags: &["routeros", "wireless", "plan"],
        args: &[
            DEVICES,
            need("ssid", SSID, "Its name."),
            need("interface", NAME, "The radio, such as wifi1 or wlan1."),
            or("security_profile", NAME, "\"default\"", PROFILE),
            BAND,
            CHANNEL,
            DESCRIPTION,
            MAY_CUT_OFF,
            TIMER,
        ],
        ..planned("routeros.plan_create_wireless_ssid", "", "Plan a wireless network", |service, call| {
            plans::plan(service, call, &wireless::CREATE)
        })
    },
    RouterTool {
        description: "Plan a change of a wireless network on routers.\n\nUse when: it is to have another name, security profile, band or channel.\n\nReturns: the plan; nothing is changed yet.",
        tags: &["routeros", "wireless", "plan"],
        args: &[
            DEVICES,
            need("current_ssid", SSID, "Its name now."),
            may("ssid", SSID, "Its new name."),
            may("security_profile", NAME, PROFILE),
            BAND,
            CHANNEL,
            DESCRIPTION,
            MAY_CUT_OFF,
            TIMER,
        ],
        ..planned("routeros.plan_modify_wireless_ssid", "", "Plan a change of a network", |service, call| {
            plans::plan(service, call, &wireless::MODIFY)
        })
    },
    RouterTool {
        description: "Plan to remove an added wireless network from routers.\n\nUse when: it is no longer used.\n\nReturns: the plan; nothing is changed yet.",
        tags: &["routeros", "wireless", "plan"],
        args: &[DEVICES, need("ssid", SSID, "Its name."), DESCRIPTION, MAY_CUT_OFF, TIMER],
        ..planned("routeros.plan_remove_wireless_ssid", "", "Plan to remove a network", |service, call| {
            plans::plan(service, call, &wireless::REMOVE)
        })
    },
    RouterTool {
        description: "Plan channel, power or band of a radio on routers.\n\nUse when: it is disturbed by others, or disturbs them.\n\nReturns: the plan; nothing is changed yet.\n\nNote: what the law allows depends on the country that is set at the router.",
        tags: &["routeros", "wireless", "plan"],
        args: &[
            DEVICES,
            need("interface", NAME, "The radio, such as wifi1 or wlan1."),
            CHANNEL,
            may("tx_power", ArgKind::Integer(0, 40), "Its power in dBm."),
            BAND,
            DESCRIPTION,
            MAY_CUT_OFF,
            TIMER,
        ],
        ..planned("routeros.plan_wireless_rf_settings", "", "Plan a radio's settings", |service, call| {
            plans::plan(service, call, &wireless::RADIO)
        })
    },
    RouterTool {
        description: "Plan DNS and NTP servers for routers.\n\nUse when: a fleet needs other ones.\n\nReturns: the plan; nothing is changed yet.",
        listed: true,
        tags: &["routeros", "dns", "ntp", "plan"],
        args: &[
            DEVICES,
            may("dns_servers", ArgKind::Texts(1, 8, 45), "Addresses, in order."),
            may("ntp_servers", ArgKind::Texts(1, 8, 253), "Addresses or names."),
            CHECK,
            DESCRIPTION,
            MAY_CUT_OFF,
            TIMER,
        ],
        ..planned(
            "routeros.config_plan_dns_ntp_rollout",
            "config/plan-dns-ntp-rollout",
            "Plan DNS and NTP servers",
            |service, call| plans::plan(service, call, &rollout::ROLLOUT),
        )
    },
    RouterTool {
        description: "Plan the same list of addresses on routers.\n\nUse when: firewalls of a fleet are to let in, or keep out, the same hosts.\n\nReturns: the plan with each router's changes; nothing is changed yet.\n\nNote: lists whose names begin with mcp- only. Entries with a timeout stay.",
        tags: &["routeros", "firewall", "plan"],
        args: &[
            DEVICES,
            need("list_name", super::writes::LIST_NAME, "A list whose name begins with mcp-."),
            need(
                "addresses",
                ArgKind::Objects(
                    0,
                    100,
                    &[
                        need("address", ArgKind::Text(1, 253), "An address, a network, a range or a host's name."),
                        may("comment", COMMENT, "Its comment."),
                    ],
                ),
                "All entries that it is to have.",
            ),
            DESCRIPTION,
            MAY_CUT_OFF,
            TIMER,
        ],
        ..planned(
            "routeros.config_plan_address_list_sync",
            "config/plan-address-list-sync",
            "Plan an address list",
            |service, call| plans::plan(service, call, &lists::SYNC),
        )
    },
];
