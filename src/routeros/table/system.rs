//! The router itself: what it is, how it is, its clock.

use super::{super::reads::special, OutKind, RouterTool, Run, maybe, out, read};

pub const TOOLS: &[RouterTool] = &[RouterTool {
    description: "Show a router's clock.\n\nUse when: times of its logs are in doubt, or certificates seem not to be valid.\n\nReturns: its time as RFC 3339, and its time zone.",
    listed: true,
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
        Run::Device(|client, _| Box::pin(special::clock(client))),
    )
}];
