//! A bus that takes no more messages from the door, because somebody does not read theirs.

use super::{BusPi, Failed, NAME, OBJECT, Options, TOOLS, signal};
use crate::support::private_bus::PrivateBus;
use std::num::NonZeroUsize;
use zbus::{Message, MessageStream, connection::Builder};

/// The bus stops reading from the door while it holds more than this of it.
const HELD: &str = r#"<limit name="max_incoming_bytes">1000000</limit>"#;

#[tokio::test]
async fn after_ten_seconds_the_door_connects_anew_and_new_callers_are_answered() {
    let pi = BusPi::on(PrivateBus::shipped_with(HELD), |_| {}).await;
    let watcher = pi.caller().await;
    let mut hears = watcher.hears();
    let bus = "org.freedesktop.DBus";
    let rule = "type='signal',member='NameOwnerChanged',arg0='org.raspimcp'";
    watcher.connection.call_method(Some(bus), "/org/freedesktop/DBus", Some(bus), "AddMatch", &rule).await.unwrap();
    // One message waits in its queue, and it reads no other.
    let lazy = Builder::address(pi.bus.address()).max_queued(NonZeroUsize::MIN).build().await.unwrap();
    let unread = MessageStream::from(&lazy);
    for _ in 0..6 {
        let call = Message::method_call(OBJECT, "Call").destination(NAME).interface(TOOLS);
        let body = ("test.big", r#"{"bytes": 4000000}"#, Options::new());
        lazy.send(&call.build(&body).unwrap()).await.unwrap();
    }
    pi.pi.audited(|record| record["tool"] == "test.big").await;
    // Who calls meanwhile has one error, when the connection that would have answered ends.
    let meanwhile = watcher.call("test.echo", "{}").await.unwrap_err();
    assert!(meanwhile.name.ends_with("NoReply"), "{meanwhile:?}");
    let owners = async |hears: &mut MessageStream| -> (String, String) {
        let (_, before, after): (String, String, String) =
            signal(hears, "NameOwnerChanged").await.body().deserialize().unwrap();
        (before, after)
    };
    let (first, gone) = owners(&mut hears).await;
    assert_eq!(gone, "");
    let (_, second) = owners(&mut hears).await;
    assert!(!second.is_empty() && second != first);
    let next = pi.caller().await;
    assert_eq!(next.call("test.echo", r#"{"text": "still there"}"#).await.unwrap()["text"], "still there");
    // The one who did not read may read now, and call again.
    drop(unread);
    let body = ("test.echo", "{}", Options::new());
    let answer = lazy.call_method(Some(NAME), OBJECT, Some(TOOLS), "Call", &body).await;
    answer.map_err(Failed::of).unwrap();
}
