//! The routers that there are.

use super::*;
use crate::routeros::{
    reads::{health, special},
    routers::Router,
    service::in_scope,
};

/// The environments of routers.
pub const ENVIRONMENTS: ArgKind = ArgKind::Word(&["lab", "staging", "prod"]);

const TAGS: &[&str] = &["routeros", "devices"];
/// What other RouterOS servers let a caller say of a router, which its owner says here.
const REGISTERED: &[Arg] = &[
    may("device_id", ArgKind::Device, "Of a router that is known."),
    may("name", ArgKind::Text(1, 63), "Of a new router."),
    may("management_address", ArgKind::Text(1, 253), "Host and port of its HTTPS."),
    may("environment", ENVIRONMENTS, "What it is used for."),
    may("tags", ArgKind::Tags, "Its tags: [\"site=main\"]."),
    may("allow_advanced_writes", ArgKind::Flag, "Only its owner decides that."),
    may("allow_professional_workflows", ArgKind::Flag, "Only its owner decides that."),
    may(
        "credentials",
        ArgKind::Object(&[
            may("username", ArgKind::Text(0, 255), "Do not send it."),
            may("password", ArgKind::Text(0, 255), "Do not send it."),
        ]),
        "Do not send them.",
    ),
];

pub const TOOLS: &[RouterTool] = &[
    RouterTool {
        description: "List the routers that this server knows.\n\nUse when: you need a router's id.\n\nReturns: id, address, environment, tags, what may be changed, last status.",
        listed: true,
        tags: TAGS,
        args: &[
            may("environment", ENVIRONMENTS, "Only this."),
            may("tags", ArgKind::Tags, "Like site=main."),
            or("limit", ArgKind::Integer(1, 1000), "100", "Page size."),
            OFFSET,
        ],
        output: &[out("devices", OutKind::Objects(DEVICE_OUT)), out("total_count", OutKind::Integer), PAGINATION],
        ..read("routeros.list_devices", "device/list-devices", "List routers", Run::Call(list))
    },
    RouterTool {
        description: "Look whether a router answers.\n\nUse when: calls of it fail.\n\nReturns: how fast, or why not and what to do.",
        listed: true,
        tags: TAGS,
        args: &[DEVICE],
        output: &[
            out("device_id", OutKind::Text),
            out("reachable", OutKind::Flag),
            out("response_time_ms", OutKind::Integer),
            out("routeros_version", OutKind::MaybeText),
            out("failure_reason", OutKind::MaybeText),
            out("transport", OutKind::Text),
            out("fallback_used", OutKind::Flag),
            out("attempted_transports", OutKind::Texts),
            out("suggestions", OutKind::Texts),
        ],
        ..read(
            "routeros.check_connectivity",
            "device/check-connectivity",
            "Check a router's connection",
            Run::Call(connectivity),
        )
    },
    RouterTool {
        description: "Look how all routers are.\n\nUse when: you look for the one with trouble.\n\nReturns: counts of healthy, degraded, unreachable; versions; each status.",
        listed: true,
        tags: TAGS,
        timeout_seconds: 90,
        estimated_tokens: 600,
        args: &[may("environment", ENVIRONMENTS, "Only this.")],
        output: &[
            out("environment", OutKind::Text),
            out("total_devices", OutKind::Integer),
            out(
                "health_breakdown",
                OutKind::Object(&[
                    out("healthy", OutKind::Integer),
                    out("degraded", OutKind::Integer),
                    out("unreachable", OutKind::Integer),
                ]),
            ),
            out("routeros_versions", OutKind::Map),
            out("devices_summary", OutKind::Objects(SUMMARY)),
        ],
        ..read(
            "routeros.get_fleet_summary",
            "fleet/get-summary",
            "Summarise the routers",
            Run::Call(|service, call| Box::pin(health::fleet(service, call))),
        )
    },
    RouterTool {
        description: "Refuses to add a router, and says how its owner does.\n\nUse when: a router is missing in routeros.list_devices.\n\nReturns: an error with the command.",
        tags: TAGS,
        args: REGISTERED,
        ..read("routeros.register_device", "device/register-device", "Add a router", Run::Call(register))
    },
    RouterTool {
        description: "Refuses to change what a router may be used for, and says how its owner does.\n\nUse when: a router is not open for a change.\n\nReturns: an error with the command.",
        tags: TAGS,
        args: REGISTERED,
        ..read("routeros.update_device", "device/update-device", "Change a router's entry", Run::Call(update))
    },
];

const DEVICE_OUT: &[Out] = &[
    out("id", OutKind::Text),
    out("name", OutKind::Text),
    out("management_address", OutKind::Text),
    out("environment", OutKind::Text),
    out("status", OutKind::Text),
    maybe("routeros_version", OutKind::Text),
    out("tags", OutKind::Map),
    out("allow_advanced_writes", OutKind::Flag),
    out("allow_professional_workflows", OutKind::Flag),
];
const SUMMARY: &[Out] = &[
    out("device_id", OutKind::Text),
    out("name", OutKind::Text),
    out("status", OutKind::Text),
    maybe("routeros_version", OutKind::Text),
    maybe("cpu_usage_percent", OutKind::Number),
    maybe("memory_usage_percent", OutKind::Number),
];

fn connectivity<'a>(service: &'a RouterService, call: &'a RouterCall) -> Answer<'a> {
    Box::pin(async move { Ok(special::connectivity(service.router(call, call.text("device_id"))?).await.into()) })
}

fn register<'a>(_: &'a RouterService, _: &'a RouterCall) -> Answer<'a> {
    owners("a router is added at the device", "the owner runs `raspi-mcp routeros add` there, and types the password")
}

fn update<'a>(_: &'a RouterService, _: &'a RouterCall) -> Answer<'a> {
    owners(
        "what a router may be used for is set at the device",
        "the owner changes its [[routeros]] table there: environment, tags, allow_advanced, allow_professional",
    )
}

/// A password would pass through the model and the audit, and a flag that a caller may raise protects nothing.
fn owners(what: &'static str, how: &'static str) -> Answer<'static> {
    Box::pin(async move {
        Err(ToolError::precondition(format!("{what}, not by a tool")).with("mcp_error_code", "FORBIDDEN").hint(how))
    })
}

fn list<'a>(service: &'a RouterService, call: &'a RouterCall) -> Answer<'a> {
    Box::pin(async move {
        let (environment, wanted) = (call.text("environment"), tags(call));
        let devices = service.routers.all().filter(|router| {
            let standing = &router.standing;
            let has = |(key, value): &(String, Option<String>)| {
                standing.tags.get(key).is_some_and(|found| value.as_ref().is_none_or(|value| found == value))
            };
            in_scope(call, router.id())
                && (environment.is_empty() || json!(standing.environment) == environment)
                && wanted.iter().all(has)
        });
        let devices: Vec<Value> = devices.map(|router| shown(router)).collect();
        Ok(call.page("devices", devices).into())
    })
}

/// The tags of the filter, in either form, with the value that each has to have.
fn tags(call: &RouterCall) -> Vec<(String, Option<String>)> {
    match call.args.get("tags") {
        Some(Value::Object(map)) => {
            map.iter().map(|(key, value)| (key.clone(), value.as_str().map(str::to_owned))).collect()
        }
        _ => {
            let tag = |text: String| match text.split_once('=') {
                Some((key, value)) => (key.to_owned(), Some(value.to_owned())),
                None => (text, None),
            };
            call.texts("tags").into_iter().map(tag).collect()
        }
    }
}

fn shown(router: &Router) -> Value {
    let (standing, seen) = (&router.standing, router.seen());
    let status = match seen.answers {
        None => "unknown",
        Some(true) => "healthy",
        Some(false) => "unreachable",
    };
    let mut shown = json!({
        "id": router.id(),
        "name": router.id(),
        "management_address": router.client.device().address,
        "environment": standing.environment,
        "status": status,
        "tags": standing.tags,
        "allow_advanced_writes": standing.allow_advanced,
        "allow_professional_workflows": standing.allow_professional,
    });
    if let Some(version) = seen.version {
        shown["routeros_version"] = json!(version);
    }
    shown
}
