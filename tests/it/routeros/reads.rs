//! Every read on every version, as its schema says; and the same against a router, if there is one.

use super::{Bench, Service, lab};
use crate::{contract::oracle::oracle, support::served::soon};
use appliance::certificate::Fingerprint;
use contract::meta::Tier;
use raspi_mcp::{
    client::Trust,
    routeros::{
        Device,
        device::Secret,
        reads::{MenuRead, Shape},
        table::{self, Arg, ArgKind, RouterTool, Run},
    },
};
use routeros_simulator::{Fault, Profile, Router};
use serde_json::{Map, Value, json};

/// What never answers but with an error.
pub const OWNERS: &[&str] = &["routeros.register_device", "routeros.update_device"];

pub fn reads() -> impl Iterator<Item = &'static RouterTool> {
    // What is kept of plans is read in `changes`.
    let is_kept = |tool: &RouterTool| tool.has("plan_id") || tool.has("snapshot_id");
    let is_read = move |tool: &&'static RouterTool| tool.tier == Tier::Fundamental && !is_kept(tool);
    table::all().filter(move |tool| is_read(tool) && !OWNERS.contains(&tool.name))
}

/// Arguments of a call that succeeds. `id` is the one of a row in the tool's menu.
pub fn sample(tool: &RouterTool, id: Option<&str>) -> Value {
    let mut args = Map::new();
    for arg in tool.arguments().iter().filter(|arg| arg.required) {
        args.insert(arg.name.to_owned(), value(arg, id));
    }
    if tool.name == "routeros.ping" {
        args.insert("interval_ms".into(), json!(10));
    }
    args.into()
}

fn value(arg: &Arg, id: Option<&str>) -> Value {
    match (arg.kind, arg.name) {
        (ArgKind::Devices, _) => json!(["attic"]),
        (ArgKind::Word(words), _) => json!(words[0]),
        (ArgKind::Pattern(_, _, example), _) => json!(example),
        (ArgKind::Texts(..), _) => json!(["198.51.100.7"]),
        (ArgKind::Objects(..), _) => json!([]),
        (ArgKind::Object(args), _) => args
            .iter()
            .filter(|arg| arg.required)
            .map(|arg| (arg.name.to_owned(), value(arg, id)))
            .collect::<Map<_, _>>()
            .into(),
        (_, "device_id") => json!("attic"),
        (_, "address") => json!("198.51.100.1"),
        _ => json!(id.unwrap_or("*1")),
    }
}

/// The id of the first row in the menu of a tool that shows one.
pub fn chosen(tool: &RouterTool, router: &Router) -> Option<String> {
    let Run::Menu(MenuRead { menus, shape: Shape::One { .. }, .. }) = tool.run else { return None };
    Some(router.rows(menus[0])[0].id.to_string())
}

/// What every answer has to be.
fn is_good(tool: &RouterTool, answer: &Value) {
    let faults: Vec<String> = oracle(&tool.output()).iter_errors(answer).map(|fault| fault.to_string()).collect();
    assert!(faults.is_empty(), "{}: {faults:#?}\n{answer:#}", tool.name);
    assert!(answer.as_object().unwrap().len() > 1, "{}: {answer}", tool.name);
    for secret in ["a long secret", "correct horse", "pre-shared-key", "passphrase"] {
        assert!(!answer.to_string().contains(secret), "{}: {answer}", tool.name);
    }
}

#[tokio::test]
async fn every_read_answers_on_every_version_as_its_schema_says() {
    for profile in Profile::ALL {
        let bench = Bench::new(profile).await;
        let service = bench.service();
        for tool in reads() {
            let id = chosen(tool, &bench.router);
            let call = service.call(tool.operation(), sample(tool, id.as_deref()));
            let answer = soon(call).await.unwrap_or_else(|error| panic!("{} {profile:?}: {error:?}", tool.name));
            is_good(tool, &answer);
            let rows = match tool.run {
                Run::Menu(MenuRead { shape: Shape::List { name, .. }, .. }) => answer[name].as_array(),
                _ => continue,
            };
            let rows = rows.unwrap_or_else(|| panic!("{}: {answer}", tool.name));
            assert!(!rows.is_empty(), "{} {profile:?}: the simulated router has a row of each", tool.name);
            assert!(rows[0].as_object().unwrap().len() > 2, "{}: {answer}", tool.name);
            assert_eq!(answer["pagination"]["total_count"], answer["total_count"], "{}", tool.name);
        }
        assert_eq!(bench.router.writes(), 0, "a read writes nothing");
    }
}

/// `ROUTEROS_URL=https://raspi:password@192.168.88.1 ROUTEROS_PIN=sha256:... cargo test --test it routeros::reads` reads a router.
#[tokio::test]
async fn every_read_answers_on_a_router_if_one_is_named() {
    let Some(device) = of_the_environment() else {
        println!("ROUTEROS_URL is not set: no router is read");
        return;
    };
    let service = Service::new([(device, lab())]);
    for tool in reads() {
        let mut id = None;
        if let Run::Menu(MenuRead { menus, shape: Shape::One { name, .. }, .. }) = tool.run {
            let listing = reads().find(|other| {
                matches!(other.run, Run::Menu(MenuRead { menus: theirs, shape: Shape::List { .. }, .. }) if *theirs == *menus)
            });
            let rows = match listing {
                Some(listing) => service.call(listing.operation(), json!({ "device_id": "attic" })).await.unwrap(),
                None => service.call("get_routing_summary", json!({ "device_id": "attic" })).await.unwrap(),
            };
            let rows = rows.as_object().unwrap().values().find_map(|value| value.as_array()).unwrap().clone();
            let Some(row) = rows.first() else {
                println!("{}: this router has no {name}", tool.name);
                continue;
            };
            id = row["id"].as_str().map(str::to_owned);
        }
        match service.call(tool.operation(), sample(tool, id.as_deref())).await {
            Ok(answer) => is_good(tool, &answer),
            // What a router does not have, it says so.
            Err(error) if error.details["mcp_error_code"] == "DEVICE_UNSUPPORTED" => println!("{}: {error}", tool.name),
            Err(error) => panic!("{}: {error:?}", tool.name),
        }
    }
}

/// The router of `ROUTEROS_URL`, pinned by `ROUTEROS_PIN`.
pub fn of_the_environment() -> Option<Device> {
    let url = reqwest::Url::parse(&std::env::var("ROUTEROS_URL").ok()?).expect("ROUTEROS_URL is no URL");
    let pin = std::env::var("ROUTEROS_PIN").ok().and_then(|text| Fingerprint::parse(&text));
    let pin = pin.expect("set ROUTEROS_PIN to the router's certificate, as sha256:...");
    let device = Device {
        id: "attic".into(),
        address: format!("{}:{}", url.host_str().unwrap(), url.port().unwrap_or(443)),
        trust: Trust::Pin(pin),
        user: url.username().to_owned(),
        password: Secret::new(url.password().unwrap_or_default()),
    };
    Some(device)
}

#[tokio::test]
async fn a_name_that_is_no_utf_8_hides_no_menu_and_is_not_put_back_as_another() {
    let bench = Bench::new(Profile::V7_21).await;
    let service = bench.service();
    let comment = |text: &str| json!({ "device_id": "attic", "interface_id": "ether3", "comment": text });
    soon(service.call("update_interface_comment", comment("b?ro"))).await.unwrap();
    bench.router.fault(Fault::InvalidUtf8);
    let listed = soon(service.call("list_interfaces", json!({ "device_id": "attic" }))).await.unwrap();
    let row = listed["interfaces"].as_array().unwrap().iter().find(|row| row["name"] == "ether3").unwrap();
    assert_eq!(row["comment"], "b\u{FFFD}ro");
    let error = soon(service.call("update_interface_comment", comment("office"))).await.unwrap_err();
    assert!(error.message.contains("no UTF-8"), "{error:?}");
    bench.router.mend();
    assert_eq!(bench.router.rows("interface/ethernet").iter().filter(|row| row.get("comment") == "b?ro").count(), 1);
}
