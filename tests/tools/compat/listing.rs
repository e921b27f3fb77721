//! What is listed, described and promised; and that no other tool can have one of the names.

use crate::support::{
    served::{Door, Pi, Wire},
    settings::allow_everything,
};
use base::error::ToolError;
use contract::{
    config::Profile,
    meta::{Meta, OwnedMeta, Role},
    schema::Checker,
};
use raspi_mcp::registry::{
    Registry, added::ToolHandler, compat, context::Context, entry::Entry, names::Naming, tool::ToolFuture,
};
use serde_json::{Value, json};
use std::{collections::BTreeSet, path::Path};

/// In the order of dbus-mcp's own documentation.
const NAMES: [&str; 16] = [
    "systemd_status",
    "systemd_start",
    "systemd_stop",
    "systemd_restart",
    "systemd_logs",
    "systemd_logs_stream",
    "file_read",
    "file_write",
    "file_list",
    "file_delete",
    "network_interfaces",
    "network_connections",
    "network_connect",
    "process_list",
    "process_kill",
    "exec_command",
];

async fn list(wire: &mut Wire, params: Value) -> Vec<Value> {
    wire.request("tools/list", params).await.result()["tools"].as_array().unwrap().clone()
}

fn names(tools: &[Value]) -> Vec<&str> {
    tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect()
}

#[test]
fn the_names_are_these_and_each_leads_to_a_tool() {
    let registry = Registry::new(raspi_mcp::tools::NAMESPACES);
    assert_eq!(compat::all().iter().map(|alias| alias.name).collect::<Vec<_>>(), NAMES);
    for alias in compat::all() {
        let (entry, _) = registry.resolve(alias.name).unwrap_or_else(|_| panic!("{}", alias.name));
        assert_eq!(entry.name(), alias.tool);
        assert!(registry.resolve(&format!("{}@1", alias.name)).is_err(), "it has no versions");
        // Any other form of the name would be one of another tool.
        assert!(registry.resolve(&alias.name.replacen('_', ".", 1)).is_err());
    }
}

#[test]
fn no_tool_of_ours_has_one_of_them_and_schemas_compile() {
    let registry = Registry::new(raspi_mcp::tools::NAMESPACES);
    let ours: BTreeSet<String> = registry.rows().map(|row| Naming::Underscored.spell(row.name())).collect();
    for alias in compat::all() {
        assert!(!ours.contains(alias.name), "{}", alias.name);
        let (entry, _) = registry.resolve(alias.name).unwrap();
        let descriptor = compat::descriptor(alias, &entry);
        let input = &descriptor["inputSchema"];
        Checker::new(input).unwrap_or_else(|why| panic!("{}: {why}", alias.name));
        assert_eq!((&input["type"], &input["additionalProperties"]), (&json!("object"), &json!(false)));
        for (name, property) in input["properties"].as_object().unwrap() {
            assert!(property["description"].is_string() && property["type"].is_string(), "{} {name}", alias.name);
        }
        if !descriptor["outputSchema"].is_null() {
            Checker::new(&descriptor["outputSchema"]).unwrap();
        }
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("schemas/compat/dbus-mcp/{}.json", alias.name));
        let committed: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
        assert_eq!(committed, descriptor, "{}", alias.name);
    }
}

struct Nothing;

impl ToolHandler for Nothing {
    fn call<'a>(&'a self, _cx: &'a Context, _args: Value) -> ToolFuture<'a> {
        Box::pin(async { Err(ToolError::missing("nothing")) })
    }
}

#[test]
fn a_tool_that_is_added_cannot_take_one_in_any_spelling() {
    let registry = Registry::new(raspi_mcp::tools::NAMESPACES);
    let add = |name: &str| {
        let meta = OwnedMeta::new(name, "T", "D.\n\nUse when: never.", Meta::READ);
        let input = json!({"type": "object", "properties": {}, "additionalProperties": false});
        let entry = Entry::added(meta, input, Value::Null, Nothing).unwrap();
        registry.set_namespace(name.split_once('.').unwrap().0, vec![entry])
    };
    for (name, taken) in [
        ("systemd.status", "systemd_status"),
        ("file.read", "file_read"),
        ("systemd_logs.stream", "systemd_logs_stream"),
        ("systemd.logs_stream", "systemd_logs_stream"),
    ] {
        let refused = add(name).unwrap_err();
        assert!(refused.message.contains(taken) && refused.message.contains("docs/compat.md"), "{refused}");
    }
    assert_eq!(registry.resolve("file_read").unwrap().0.name(), "files.read");
    add("systemd.reload").unwrap();
}

#[tokio::test]
async fn without_the_setting_they_are_called_and_not_listed() {
    let pi = Pi::standard(allow_everything).await;
    for mut wire in pi.every_door().await {
        for params in
            [json!({}), json!({"limit": 200, "filter": {"enabled": true}}), json!({"filter": {"names": NAMES}})]
        {
            let tools = list(&mut wire, params).await;
            assert!(!names(&tools).iter().any(|name| NAMES.contains(name)), "{:?}", wire.door);
        }
        let answer = wire.call("network_interfaces", json!({})).await;
        assert!(answer.ok()["interfaces"].is_array());
        // The bare method has the object alone.
        assert_eq!(wire.request("network_interfaces", json!({})).await.result(), answer.ok());
    }
}

#[tokio::test]
async fn with_the_setting_they_are_listed_in_place_of_ours() {
    for profile in [Profile::Default, Profile::All] {
        let pi = Pi::standard(|settings| {
            allow_everything(settings);
            settings.compat.insert("dbus-mcp".into());
            settings.tools.profile = profile;
            settings.access.loopback_role = Role::Admin;
        })
        .await;
        for mut wire in pi.every_door().await {
            let tools = list(&mut wire, json!({"limit": 200})).await;
            let listed = names(&tools);
            assert_eq!(listed.iter().filter(|name| NAMES.contains(name)).count(), 16, "{listed:?}");
            assert_eq!(BTreeSet::from_iter(&listed).len(), listed.len(), "each once");
            for ours in compat::all().iter().map(|alias| alias.tool).chain(["service.start", "service.stop"]) {
                assert!(!listed.contains(&Naming::Underscored.spell(ours).as_str()), "{ours}");
                wire.request("tools/list", json!({"filter": {"names": [ours]}})).await.result()["tools"][0]["name"]
                    .as_str()
                    .unwrap_or_else(|| panic!("{ours} can still be asked for"));
            }
            for tool in tools.iter().filter(|tool| NAMES.contains(&tool["name"].as_str().unwrap())) {
                let alias = compat::find(tool["name"].as_str().unwrap()).unwrap();
                assert_eq!((&tool["_meta"]["name"], &tool["_meta"]["enabled"]), (&json!(alias.tool), &json!(true)));
                assert_eq!(tool.get("title"), None);
            }
            assert!(listed.contains(&"tools_run") && listed.contains(&"tools_run_read"), "they reach ours");
            let one = list(&mut wire, json!({"filter": {"names": ["file_read"]}})).await;
            assert_eq!(names(&one), ["file_read"]);
            let status = one[0]["inputSchema"].clone();
            assert_eq!(
                (&status["required"], &status["properties"]["encoding"]["enum"]),
                (&json!(["path"]), &json!(["utf-8", "ascii", "base64"]))
            );
        }
    }
}

#[tokio::test]
async fn a_caller_sees_what_he_may_call() {
    let pi = Pi::standard(|settings| {
        settings.compat.insert("dbus-mcp".into());
        settings.access.stdio_role = Role::ReadOnly;
    })
    .await;
    let mut wire = pi.on(Door::Stdio).await;
    let tools = list(&mut wire, json!({})).await;
    let theirs: Vec<&str> = names(&tools).into_iter().filter(|name| NAMES.contains(name)).collect();
    assert_eq!(
        theirs,
        [
            "systemd_status",
            "systemd_logs",
            "systemd_logs_stream",
            "file_read",
            "file_list",
            "network_interfaces",
            "network_connections",
            "process_list"
        ]
    );
    for (name, args) in [("systemd_restart", json!({"service": "web"})), ("exec_command", json!({"command": "ls"}))] {
        assert_eq!(wire.call(name, args).await.failed("permission_denied")["details"]["dbus_mcp_code"], -32203);
    }
}

#[tokio::test]
async fn the_list_with_them_is_shorter_than_ours() {
    let mut sizes = Vec::new();
    for compat in [false, true] {
        let pi = Pi::standard(|settings| {
            if compat {
                settings.compat.insert("dbus-mcp".into());
            }
        })
        .await;
        let listed = pi.on(Door::Http).await.request("tools/list", json!({"limit": 200})).await;
        sizes.push(listed.result().to_string().len());
    }
    println!("{sizes:?} bytes of list without and with the names of dbus-mcp");
    assert!(sizes[1] < sizes[0], "{sizes:?}");
}

#[tokio::test]
async fn they_are_described_by_their_own_name() {
    let pi = Pi::standard(|settings| {
        settings.compat.insert("dbus-mcp".into());
    })
    .await;
    let answer = pi.call("tools.describe", json!({"names": ["systemd_status", "service.get_status"]})).await;
    let tools = answer.ok()["tools"].as_array().unwrap().clone();
    assert_eq!((&tools[0]["name"], &tools[1]["name"]), (&json!("service.get_status"), &json!("service.get_status")));
    assert!(tools[0]["descriptor"]["inputSchema"]["properties"]["service"].is_object(), "{}", tools[0]);
    assert!(tools[1]["descriptor"]["inputSchema"]["properties"]["service_name"].is_object());
    assert_eq!(tools[1]["call_with"], "tools.run_read", "it is not in the list");
}

#[tokio::test]
async fn initialize_may_leave_out_what_mcp_requires_only_there() {
    for (compat, fits) in [(true, true), (false, false)] {
        let pi = Pi::standard(|settings| {
            if compat {
                settings.compat.insert("dbus-mcp".into());
            }
        })
        .await;
        for params in [
            json!({}),
            json!({"protocolVersion": "2024-11-05"}),
            json!({"protocolVersion": "2024-11-05", "capabilities": {"tools": {"call": true}}}),
        ] {
            for mut wire in pi.on_all(&[Door::Stdio, Door::Unix, Door::Ws, Door::Api]).await {
                let answer = wire.request("initialize", params.clone()).await;
                if fits {
                    assert_eq!(answer.result()["protocolVersion"], "2024-11-05", "{:?}", wire.door);
                    // Without notifications/initialized.
                    assert!(list(&mut wire, json!({})).await.len() > 16);
                } else {
                    answer.fault(-32602);
                }
            }
        }
    }
}
