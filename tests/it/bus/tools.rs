//! Lists, descriptions, calls and resources.

use super::{BusPi, Failed, OBJECT, Options, TOOLS};
use crate::support::settings::{PHOTO, allow_everything};
use serde_json::{Value, json};
use zbus::{OwnedVariant, Variant};

type Row = (String, String, String, String, String, bool);

async fn list(pi: &BusPi, filter: Options<'_>) -> Result<Vec<Row>, Failed> {
    let answer = pi.caller().await.tools("List", &filter).await.map_err(Failed::of)?;
    Ok(answer.body().deserialize().unwrap())
}

#[tokio::test]
async fn the_list_has_every_tool_and_a_filter_narrows_it() {
    let pi = BusPi::start().await;
    let all = list(&pi, Options::new()).await.unwrap();
    assert_eq!(all.len(), pi.pi.server().pipeline.registry.entries().count());
    assert!(all.windows(2).all(|two| two[0].0 < two[1].0), "by name");
    let clock = all.iter().find(|row| row.0 == "system.get_clock").unwrap();
    assert_eq!((clock.2.as_str(), clock.3.as_str(), clock.5), ("fundamental", "read_only", true));
    assert!(!clock.1.is_empty() && !clock.4.is_empty() && !clock.4.contains('\n'));

    let named = |names: Vec<&'static str>| Options::from([("names", Variant::from(names))]);
    let two = list(&pi, named(vec!["system_get_clock", "test.echo", "no.such"])).await.unwrap();
    assert_eq!(two.iter().map(|row| row.0.as_str()).collect::<Vec<_>>(), ["system.get_clock", "test.echo"]);
    let off = list(&pi, Options::from([("enabled", Variant::from(false))])).await.unwrap();
    assert!(!off.is_empty() && off.len() < all.len() && off.iter().all(|row| !row.5));
    let tagged = list(&pi, Options::from([("tags", Variant::from(vec!["discovery"]))])).await.unwrap();
    assert!(tagged.iter().any(|row| row.0 == "tools.search") && tagged.len() < all.len());

    for wrong in [("colour", Variant::from("red")), ("names", Variant::from("one")), ("enabled", Variant::from(1_u32))]
    {
        let refused = list(&pi, Options::from([wrong])).await.unwrap_err().is("InvalidArgument");
        assert_eq!(refused.details["parameter"], "filter");
    }
}

#[tokio::test]
async fn a_description_is_that_of_tools_describe() {
    let pi = BusPi::start().await;
    let caller = pi.caller().await;
    let answer = caller.tools("Describe", &"system_get_clock").await.unwrap();
    let described: Value = serde_json::from_str(answer.body().deserialize().unwrap()).unwrap();
    let other = caller.call("tools.describe", r#"{"names": ["system.get_clock"]}"#).await.unwrap();
    assert_eq!(described, other["tools"][0]["descriptor"]);
    let unknown = Failed::of(caller.tools("Describe", &"system.get_clok").await.unwrap_err()).is("NotFound");
    assert!(unknown.message.contains("did you mean system.get_clock?"), "{unknown:?}");
}

#[tokio::test]
async fn a_call_is_a_call_like_any_other() {
    let pi = BusPi::start().await;
    let caller = pi.caller().await;
    for name in ["test.echo", "test_echo", "test/echo", "test.echo@1"] {
        assert_eq!(caller.call(name, r#"{"text": "é\u0000"}"#).await.unwrap(), json!({"text": "é\0"}), "{name}");
    }
    let with = |key, value| Options::from([(key, value)]);
    let version = |number: u32| with("schema_version", Variant::from(number));
    let words = r#"{"words": ["a"]}"#;
    assert_eq!(caller.call_with("test.count", words, version(2)).await.unwrap()["words"], 1);
    assert_eq!(caller.call_with("test.count", r#"{"text": "a b"}"#, version(1)).await.unwrap()["words"], 2);
    caller.call_with("test.count", words, version(3)).await.unwrap_err().is("NotFound");

    // A call that a call holds runs in its place.
    let carried = r#"{"name": "test.echo", "arguments": {"text": "in"}}"#;
    assert_eq!(caller.call("tools.run_read", carried).await.unwrap()["text"], "in");

    let id = with("correlation_id", Variant::from("request 7"));
    caller.call_with("test.echo", "{}", id).await.unwrap();
    let record = pi.pi.audited(|record| record["correlation_id"] == "request 7").await;
    let uid = rustix::process::geteuid().as_raw();
    assert_eq!((&record["door"], &record["principal"]), (&json!("dbus"), &json!(format!("uid:{uid}"))));
    let name = caller.connection.unique_name().unwrap().as_str();
    assert!(record["request_id"].as_str().unwrap().starts_with(&format!("{name}-")), "{record}");
}

#[tokio::test]
async fn a_resource_is_read_as_bytes_with_their_type() {
    let pi = BusPi::with(allow_everything).await;
    let caller = pi.caller().await;
    let read = async |uri: &str| -> Result<(String, Vec<u8>), Failed> {
        let answer = caller.tools("Read", &uri).await.map_err(Failed::of)?;
        Ok(answer.body().deserialize().unwrap())
    };
    let (mime, health) = read("raspi://health").await.unwrap();
    assert_eq!(mime, "application/json");
    assert!(serde_json::from_slice::<Value>(&health).unwrap()["cpu_usage_percent"].is_number());
    let photo = read(&format!("raspi://camera/photos/{PHOTO}")).await.unwrap();
    assert_eq!(photo, ("image/jpeg".to_owned(), b"a photo".to_vec()));
    read("raspi://nothing").await.unwrap_err().is("NotFound");
    read("raspi://audit?colour=red").await.unwrap_err().is("InvalidArgument");
}

#[tokio::test]
async fn properties_are_read_and_not_set() {
    let pi = BusPi::start().await;
    let (caller, properties) = (pi.caller().await, "org.freedesktop.DBus.Properties");
    let get = async |name: &str| caller.raw(OBJECT, properties, "Get", &(TOOLS, name)).await;
    let version: OwnedVariant = get("Version").await.unwrap().body().deserialize().unwrap();
    assert_eq!(*version, Variant::from(env!("CARGO_PKG_VERSION")));
    Failed::of(get("Colour").await.unwrap_err()).of_bus("UnknownProperty");
    let all = caller.raw(OBJECT, properties, "GetAll", &TOOLS).await.unwrap();
    let all: std::collections::HashMap<String, OwnedVariant> = all.body().deserialize().unwrap();
    assert_eq!((all.len(), &*all["Simulated"]), (2, &Variant::from(true)));
    let unknown = caller.raw(OBJECT, properties, "GetAll", &"org.other").await.unwrap_err();
    Failed::of(unknown).of_bus("UnknownInterface");
    let set = caller.raw(OBJECT, properties, "Set", &(TOOLS, "Version", Variant::from("9"))).await;
    Failed::of(set.unwrap_err()).of_bus("PropertyReadOnly");
    caller.raw(OBJECT, "org.freedesktop.DBus.Peer", "Ping", &()).await.unwrap();
    let id: String = caller
        .raw(OBJECT, "org.freedesktop.DBus.Peer", "GetMachineId", &())
        .await
        .unwrap()
        .body()
        .deserialize()
        .unwrap();
    assert!(!id.contains('\n'));
}
