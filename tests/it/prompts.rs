//! Prompts and completions.

use crate::support::served::{Door, Pi, Wire, modern_meta};
use contract::meta::Role;
use raspi_mcp::prompts::PROMPTS;
use serde_json::{Value, json};

async fn conversation(pi: &Pi, client: &str) -> Wire {
    let mut wire = pi.on(Door::Stdio).await;
    wire.initialize("2025-11-25", client).await.result();
    wire
}

async fn get(wire: &mut Wire, name: &str, arguments: Value) -> Value {
    wire.request("prompts/get", json!({ "name": name, "arguments": arguments })).await.result().clone()
}

fn text(prompt: &Value) -> &str {
    prompt["messages"][0]["content"]["text"].as_str().unwrap()
}

#[tokio::test]
async fn they_are_listed_with_their_arguments_through_every_door() {
    let pi = Pi::start().await;
    for door in [Door::Stdio, Door::Unix, Door::Http, Door::Ws] {
        let mut wire = pi.on(door).await;
        wire.initialize("2025-11-25", "a client").await.result();
        let list = wire.request("prompts/list", json!({})).await;
        let prompts = list.result()["prompts"].as_array().unwrap();
        let shown: Vec<&Value> = prompts.iter().map(|prompt| &prompt["name"]).collect();
        assert_eq!(shown, ["diagnose", "safe-reboot"], "{door:?}");
        let required: Vec<&Value> =
            prompts[1]["arguments"].as_array().unwrap().iter().map(|a| &a["required"]).collect();
        assert_eq!(required, [true, false]);
        let got = wire.request("prompts/get", json!({"name": "diagnose"})).await;
        assert_eq!(got.result()["messages"][0]["role"], "user");
    }
    for prompt in PROMPTS {
        assert!(prompt.description.ends_with('.') && prompt.arguments.iter().all(|a| a.description.ends_with('.')));
    }
}

#[tokio::test]
async fn diagnose_says_how_the_machine_is_and_names_tools_as_the_client_does() {
    let pi = Pi::start().await;
    for (client, spelled) in
        [("conformance-test-client", "system.get_basic_info"), ("a client", "system_get_basic_info")]
    {
        let mut wire = conversation(&pi, client).await;
        let prompt = get(&mut wire, "diagnose", json!({"symptom": "the fan howls", "area": "heat"})).await;
        let said = text(&prompt);
        assert!(said.contains("the fan howls") && said.contains(spelled) && said.contains("freq_capped"), "{said}");
        // As text, which every client takes.
        assert_eq!(prompt["messages"][1]["content"]["type"], "text");
        let (uri, json) =
            prompt["messages"][1]["content"]["text"].as_str().unwrap().split_once(", read just now:\n").unwrap();
        assert_eq!(uri, "raspi://health");
        let health: Value = serde_json::from_str(json).unwrap();
        assert!(health["disk_total_bytes"].as_u64().unwrap() > 0);
    }
    // Read as the caller: the record says so.
    pi.audited(|record| record["tool"] == "system.get_health_snapshot" && record["principal"] == "stdio").await;
}

#[tokio::test]
async fn what_cannot_be_read_is_said_and_the_rest_is_still_good() {
    let pi = Pi::with(|settings| settings.tools.disable.extend(["system.get_health_snapshot".to_owned()])).await;
    let prompt = get(&mut conversation(&pi, "a client").await, "diagnose", json!({})).await;
    let said = prompt["messages"][1]["content"]["text"].as_str().unwrap();
    assert!(said.contains("raspi://health cannot be read") && said.contains("tools.disable"), "{said}");
}

#[tokio::test]
async fn safe_reboot_says_what_this_caller_can_do() {
    let pi = Pi::with(|settings| settings.tools.enable.extend(["system".to_owned()])).await;
    let prompt = get(&mut conversation(&pi, "a").await, "safe-reboot", json!({"reason": "say \"hi\""})).await;
    let said = text(&prompt);
    assert!(said.contains(r#"{"reason":"say \"hi\"","delay_seconds":60}"#) && said.contains("approve"), "{said}");
    let arguments = json!({"reason": "update", "delay_seconds": "300"});
    assert!(text(&get(&mut conversation(&pi, "a").await, "safe-reboot", arguments).await).contains("300"));

    // Off, or not for this role: then it says so, and gives no instructions to do it.
    let off = Pi::start().await;
    let guest = Pi::with(|settings| {
        settings.tools.enable.insert("system".into());
        settings.access.stdio_role = Role::ReadOnly;
    })
    .await;
    for (pi, why) in [(&off, "tools.enable"), (&guest, "role admin")] {
        let prompt = get(&mut conversation(pi, "a").await, "safe-reboot", json!({"reason": "update"})).await;
        let said = text(&prompt);
        assert!(said.contains(why) && said.contains("may not") && !said.contains("Call "), "{said}");
    }
    // Writing a prompt runs nothing.
    assert!(pi.audit().await.iter().all(|record| record["tool"] != "system.reboot"));
}

#[tokio::test]
async fn unfit_arguments_are_named() {
    let pi = Pi::with(|settings| settings.tools.enable.extend(["system".to_owned()])).await;
    let mut wire = conversation(&pi, "a client").await;
    for (name, arguments, says) in [
        ("reboot", json!({}), "safe-reboot"),
        ("safe-reboot", json!({}), "reason"),
        ("safe-reboot", json!({"reason": " "}), "reason"),
        ("safe-reboot", json!({"reason": "x".repeat(201)}), "200"),
        ("safe-reboot", json!({"reason": "x", "delay_seconds": "601"}), "delay_seconds"),
        ("safe-reboot", json!({"reason": "x", "delay_seconds": "soon"}), "delay_seconds"),
        ("safe-reboot", json!({"reason": "x", "delay_seconds": 5}), "string"),
        ("diagnose", json!({"area": "attic"}), "storage"),
        ("diagnose", json!({"mood": "bad"}), "symptom"),
    ] {
        let answer = wire.request("prompts/get", json!({ "name": name, "arguments": arguments })).await;
        let fault = answer.fault(-32602).to_string();
        assert!(fault.contains(says), "{name} {arguments}: {fault}");
    }
    get(&mut wire, "safe-reboot", json!({"reason": "x".repeat(200), "delay_seconds": "600"})).await;
}

async fn complete(wire: &mut Wire, r#ref: Value, name: &str, typed: &str) -> Value {
    let params = json!({ "ref": r#ref, "argument": { "name": name, "value": typed } });
    wire.request("completion/complete", params).await.message
}

#[tokio::test]
async fn arguments_complete_from_what_has_been_typed() {
    let pi = Pi::start().await;
    let prompt = |name: &str| json!({ "type": "ref/prompt", "name": name });
    let resource = |uri: &str| json!({ "type": "ref/resource", "uri": uri });
    let log = "raspi://logs/app{?level,limit,offset}";
    let audit = "raspi://audit{?tool,outcome,limit,offset}";
    let mut wire = conversation(&pi, "a client").await;
    for (of, name, typed, first, total) in [
        (prompt("diagnose"), "area", "p", "power", 2),
        (prompt("diagnose"), "area", "POW", "power", 1),
        (prompt("safe-reboot"), "delay_seconds", "", "5", 4),
        (prompt("safe-reboot"), "reason", "up", "", 0),
        (resource(log), "level", "w", "warn", 1),
        (resource("raspi://logs/app"), "level", "", "error", 4),
        (resource(audit), "outcome", "permission", "permission_denied", 1),
        (resource(audit), "tool", "clock", "system.get_clock", 1),
    ] {
        let completion = complete(&mut wire, of.clone(), name, typed).await["result"]["completion"].clone();
        assert_eq!(
            (&completion["total"], &completion["hasMore"]),
            (&json!(total), &json!(false)),
            "{of} {name} {typed}"
        );
        assert_eq!(
            completion["values"].get(0).map_or("", |value| value.as_str().unwrap()),
            first,
            "{of} {name} {typed}"
        );
    }
    for (of, name) in [
        (prompt("nothing"), "area"),
        (prompt("diagnose"), "mood"),
        (resource("raspi://nothing"), "level"),
        (resource(log), "tool"),
    ] {
        assert_eq!(complete(&mut wire, of.clone(), name, "").await["error"]["code"], -32602, "{of} {name}");
    }
    let mut modern = pi.on(Door::Http).await;
    modern.modern("completion/complete", None);
    let params = json!({ "ref": prompt("diagnose"), "argument": { "name": "area", "value": "he" } });
    let answer = modern.request("completion/complete", modern_meta(params)).await;
    assert_eq!(answer.under(200).result()["completion"]["values"], json!(["heat"]));
}

#[tokio::test]
async fn completions_of_tools_are_those_that_the_caller_could_use() {
    let pi = Pi::with(|settings| settings.access.stdio_role = Role::ReadOnly).await;
    let mut wire = conversation(&pi, "a client").await;
    let of = json!({ "type": "ref/resource", "uri": "raspi://audit" });
    let all = complete(&mut wire, of, "tool", "reboot").await;
    assert_eq!(all["result"]["completion"]["values"], json!([]));
}
