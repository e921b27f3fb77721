//! Changes of resources, and who hears of them.

use super::{BusPi, EVENTS, Failed, NOBODY, OBJECT, is_root, signal};
use contract::meta::{Meta, OwnedMeta};
use futures::StreamExt;
use raspi_mcp::registry::{entry::Entry, tool::ToolFuture};
use serde_json::{Value, json};
use zbus::message::Type;

/// A tool that comes while the server runs.
struct Water;

impl raspi_mcp::registry::added::ToolHandler for Water {
    fn call<'a>(&'a self, _: &'a raspi_mcp::registry::context::Context, _: Value) -> ToolFuture<'a> {
        Box::pin(async { Err(base::error::ToolError::unavailable("there is no water")) })
    }
}

fn add_a_tool(pi: &BusPi) {
    let meta = OwnedMeta::new("greenhouse.water", "Water", "Water.", Meta::READ);
    let entry = Entry::added(meta, json!({"type": "object"}), Value::Null, Water).unwrap();
    assert!(pi.pi.server().pipeline.registry.set_namespace("greenhouse", vec![entry]).unwrap());
}

#[tokio::test]
async fn a_subscriber_hears_of_each_change_and_a_stranger_of_none() {
    let pi = BusPi::start().await;
    let subscriber = pi.caller().await;
    let stranger = if is_root() { pi.caller_as(NOBODY).await } else { pi.caller().await };
    let everything = "type='signal',sender='org.raspimcp'";
    let bus = "org.freedesktop.DBus";
    let asked =
        stranger.connection.call_method(Some(bus), "/org/freedesktop/DBus", Some(bus), "AddMatch", &everything).await;
    asked.unwrap();
    // The stranger calls too: that makes it no subscriber.
    stranger.tools("Describe", &"test.echo").await.unwrap();
    let (mut hears, mut overhears) = (subscriber.hears(), stranger.hears());
    subscriber.raw(OBJECT, EVENTS, "Subscribe", &vec!["raspi://audit"]).await.unwrap();
    for expected in 1..=2_u64 {
        subscriber.call("test.echo", "{}").await.unwrap();
        let told = signal(&mut hears, "Updated").await;
        assert_eq!(told.body().deserialize::<(String, u64)>().unwrap(), ("raspi://audit".into(), expected));
    }
    // A started call is no secret of the bus either.
    subscriber.begin("test.echo", "{}").await.unwrap();
    signal(&mut hears, "Finished").await;
    // What everybody hears comes after all of that.
    add_a_tool(&pi);
    loop {
        let message = overhears.next().await.unwrap().unwrap();
        if message.message_type() != Type::Signal || message.header().interface().unwrap().as_str().starts_with(bus) {
            continue;
        }
        let member = message.header().member().unwrap().to_string();
        assert_eq!((member.as_str(), message.body().is_empty()), ("ToolsChanged", true), "{message:?}");
        break;
    }

    subscriber.raw(OBJECT, EVENTS, "Unsubscribe", &vec!["raspi://audit"]).await.unwrap();
    assert_eq!(pi.pi.server().subscriptions.count(), 0);
}

#[tokio::test]
async fn subscriptions_are_limited_and_end_with_their_connection() {
    let pi = BusPi::start().await;
    let caller = pi.caller().await;
    let subscribe = async |uris: Vec<String>| caller.raw(OBJECT, EVENTS, "Subscribe", &uris).await.map_err(Failed::of);
    let uris = (1..=16).map(|limit| format!("raspi://audit?limit={limit}")).collect();
    subscribe(uris).await.unwrap();
    let full = subscribe(vec!["raspi://health".into()]).await.unwrap_err().is("ResourceExhausted");
    assert_eq!(full.details["limit"], 16);
    subscribe(vec!["raspi://nothing".into()]).await.unwrap_err().is("NotFound");
    subscribe(vec!["raspi://audit?limit=many".into()]).await.unwrap_err().is("InvalidArgument");
    let server = pi.pi.server();
    assert_eq!(server.subscriptions.count(), 16);
    caller.connection.close().await.unwrap();
    // The bus tells who has left before it delivers what is said later.
    let other = pi.caller().await;
    other.call("test.echo", "{}").await.unwrap();
    assert_eq!(server.subscriptions.count(), 0);
}
