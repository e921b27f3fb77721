//! The router itself: what it is, how it is, its clock.

use super::*;
use crate::routeros::reads::{export, health, special};

const TAGS: &[&str] = &["routeros", "system"];

const HEALTH: &[Out] = &[
    out("status", OutKind::Text),
    out("cpu_usage_percent", OutKind::Number),
    out("memory_usage_percent", OutKind::Number),
    maybe("uptime_seconds", OutKind::Integer),
    maybe("temperature_celsius", OutKind::Number),
];
const PAST: &[Out] = &[
    out("timestamp", OutKind::Text),
    out("status", OutKind::Text),
    out("cpu_usage_percent", OutKind::Number),
    out("memory_usage_percent", OutKind::Number),
];
const MEMORY: &[Out] = &[
    maybe("total_bytes", OutKind::Integer),
    maybe("free_bytes", OutKind::Integer),
    maybe("used_bytes", OutKind::Integer),
];

pub const TOOLS: &[RouterTool] = &[
    RouterTool {
        description: "Show what a router is and how it is.\n\nUse when: you begin with one, or it is slow.\n\nReturns: identity, version, model, uptime, processor, memory, sensors.",
        listed: true,
        tags: TAGS,
        resource_uri: Some("raspi://routeros/{device_id}/overview"),
        output: &[
            out("device_id", OutKind::Text),
            maybe("identity", OutKind::Text),
            maybe("routeros_version", OutKind::Text),
            maybe("uptime_seconds", OutKind::Integer),
            maybe("hardware_model", OutKind::Text),
            maybe("architecture", OutKind::Text),
            maybe("serial_number", OutKind::Text),
            maybe("firmware_version", OutKind::Text),
            out("cpu", OutKind::Object(&[maybe("usage_percent", OutKind::Number), maybe("count", OutKind::Integer)])),
            out("memory", OutKind::Object(MEMORY)),
            out("health", OutKind::Map),
            maybe("unread", OutKind::Texts),
        ],
        ..read(
            "routeros.get_system_overview",
            "system/get-overview",
            "Show a router",
            Run::Device(|router, _| Box::pin(special::overview(&router.client))),
        )
    },
    RouterTool {
        description: "Show a router's clock.\n\nUse when: times of its logs are in doubt, or certificates seem not to be valid.\n\nReturns: its time as RFC 3339, and its time zone.",
        tags: TAGS,
        output: &[
            out("device_id", OutKind::Text),
            out("time", OutKind::Text),
            out("timezone", OutKind::Text),
            maybe("time_zone_name", OutKind::Text),
            maybe("gmt_offset", OutKind::Text),
            out("time_zone_autodetect", OutKind::Flag),
        ],
        ..read(
            "routeros.get_system_clock",
            "system/get-clock",
            "Show a router's clock",
            Run::Device(|router, _| Box::pin(special::clock(&router.client))),
        )
    },
    RouterTool {
        description: "Show how healthy a router is, and how it was lately.\n\nUse when: trouble comes and goes.\n\nReturns: status, processor, memory and sensors now; with include_history also when this server looked before.",
        tags: TAGS,
        args: &[
            or("include_history", ArgKind::Flag, "false", "Also how it was when this server looked before."),
            or("history_hours", ArgKind::Integer(1, 24), "24", "How far back."),
        ],
        output: &[
            out("device_id", OutKind::Text),
            out("current_health", OutKind::Object(HEALTH)),
            maybe("history", OutKind::Objects(PAST)),
            maybe("unread", OutKind::Texts),
        ],
        ..read(
            "routeros.get_health_data",
            "device/get-health-data",
            "Show a router's health",
            Run::Device(|router, call| Box::pin(health::data(router, call))),
        )
    },
    RouterTool {
        description: "Show a router's configuration as RouterOS exports it, without secrets.\n\nUse when: you review or compare configurations.\n\nReturns: the text of /export, or the sections with a word in their path.",
        tags: TAGS,
        resource_uri: Some("raspi://routeros/{device_id}/export"),
        estimated_tokens: 4000,
        args: &[
            or("format", ArgKind::Word(&["compact"]), "\"compact\"", "As /export prints it."),
            may("topic", ArgKind::Text(1, 63), "Only sections with this word in their path, such as firewall."),
        ],
        output: &[
            out("device_id", OutKind::Text),
            out("format", OutKind::Text),
            out("config_text", OutKind::Text),
            out("size_bytes", OutKind::Integer),
            out("snapshot_time", OutKind::Text),
        ],
        ..read(
            "routeros.get_config_snapshot",
            "device/get-config-snapshot",
            "Export a router's configuration",
            Run::Device(|router, call| Box::pin(export::snapshot(&router.client, call))),
        )
    },
    RouterTool {
        description: "List the packages of a router.\n\nUse when: a feature is missing, or versions are compared.\n\nReturns: each package with version and whether it is off.",
        tags: TAGS,
        resource_uri: Some("raspi://routeros/{device_id}/packages"),
        ..read(
            "routeros.get_system_packages",
            "system/get-packages",
            "List a router's packages",
            Run::Menu(&MenuRead {
                menus: &["system/package"],
                shape: List { name: "packages", usual: "100", most: 500 },
                fields: &[
                    ("name", "name", Text),
                    ("version", "version", Text),
                    ("build_time", "build-time", Text),
                    ("disabled", "disabled", Flag),
                ],
            }),
        )
    },
];
