//! The routers that there are.

use super::{
    super::{
        call::RouterCall,
        routers::Router,
        service::{RouterService, in_scope},
    },
    Answer, ArgKind, OFFSET, OutKind, PAGINATION, RouterTool, Run, may, maybe, or, out, read,
};
use serde_json::{Value, json};

/// The environments of routers.
pub const ENVIRONMENTS: ArgKind = ArgKind::Word(&["lab", "staging", "prod"]);

pub const TOOLS: &[RouterTool] = &[RouterTool {
    description: "List the routers that this server knows.\n\nUse when: you need a device_id, or the routers of an environment or with a tag.\n\nReturns: id, address, environment, tags, what may be changed, and whether each answered when it was last asked.",
    listed: true,
    args: &[
        may("environment", ENVIRONMENTS, "Only those of this one."),
        may("tags", ArgKind::Tags, "Only those with all of these: [\"site=main\"]."),
        or("limit", ArgKind::Integer(1, 1000), "100", "Page size."),
        OFFSET,
    ],
    output: &[
        out(
            "devices",
            OutKind::Objects(&[
                out("id", OutKind::Text),
                out("name", OutKind::Text),
                out("management_address", OutKind::Text),
                out("environment", OutKind::Text),
                out("status", OutKind::Text),
                maybe("routeros_version", OutKind::Text),
                out("tags", OutKind::Map),
                out("allow_advanced_writes", OutKind::Flag),
                out("allow_professional_workflows", OutKind::Flag),
            ]),
        ),
        out("total_count", OutKind::Integer),
        PAGINATION,
    ],
    ..read("routeros.list_devices", "device/list-devices", "List routers", Run::Call(list))
}];

fn list<'a>(service: &'a RouterService, call: &'a RouterCall) -> Answer<'a> {
    Box::pin(async move {
        let (environment, wanted) = (call.text("environment"), tags(call));
        let devices = service.routers.all().filter(|router| {
            let standing = &router.standing;
            let has = |(key, value): &(String, String)| standing.tags.get(key) == Some(value);
            in_scope(call, router.id())
                && (environment.is_empty() || json!(standing.environment) == environment)
                && wanted.iter().all(has)
        });
        let devices: Vec<Value> = devices.map(|router| shown(router)).collect();
        Ok(call.page("devices", devices).into())
    })
}

/// The tags of the filter, in either form.
fn tags(call: &RouterCall) -> Vec<(String, String)> {
    let split = |text: &String| text.split_once('=').map(|(key, value)| (key.to_owned(), value.to_owned()));
    match call.args.get("tags") {
        Some(Value::Object(map)) => {
            map.iter().map(|(key, value)| (key.clone(), value.as_str().unwrap_or_default().to_owned())).collect()
        }
        _ => call.texts("tags").iter().filter_map(split).collect(),
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
