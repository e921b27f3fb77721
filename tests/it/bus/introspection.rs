//! What a tool like busctl sees of the door.

use super::{BusPi, CALL, OBJECT};
use crate::support::served::soon;
use tokio::process::Command;

const OBJECT_XML: &str = include_str!("../../../dist/dbus-1/interfaces/org.raspimcp.xml");
const CALL_XML: &str = include_str!("../../../dist/dbus-1/interfaces/org.raspimcp.Call1.xml");

#[tokio::test]
async fn introspection_is_the_committed_file_byte_for_byte() {
    let pi = BusPi::start().await;
    let caller = pi.caller().await;
    let xml = async |path: &str| -> String {
        let answer = caller.raw(path, "org.freedesktop.DBus.Introspectable", "Introspect", &()).await.unwrap();
        answer.body().deserialize().unwrap()
    };
    assert_eq!(xml(OBJECT).await, OBJECT_XML);
    assert_eq!(xml("/").await, "<node><node name=\"org\"/></node>\n");
    assert_eq!(xml("/org").await, "<node><node name=\"raspimcp\"/></node>\n");
    let call = caller.begin("test.hold", "{}").await.unwrap();
    assert_eq!(xml("/org/raspimcp/calls").await, "<node><node name=\"1\"/></node>\n");
    assert_eq!(xml(&call).await, CALL_XML);
    assert!(CALL_XML.contains(CALL));
}

/// What busctl says on the bus of `pi`, as this user.
pub(super) async fn busctl(pi: &BusPi, args: &[&str]) -> String {
    let mut command = Command::new("busctl");
    command.arg(format!("--address={}", pi.bus.address())).args(args);
    let done = soon(command.output()).await;
    let done = done.expect("busctl runs here: Debian's package systemd (ci/parts/tests installs it)");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8(done.stdout).unwrap()
}

#[tokio::test]
async fn busctl_shows_and_calls_what_is_there() {
    let pi = BusPi::start().await;
    let shown = busctl(&pi, &["introspect", "org.raspimcp", OBJECT]).await;
    for line in [".Call", ".Subscribe", ".Version", ".Updated", ".Introspect"] {
        assert!(shown.lines().any(|shown| shown.starts_with(line)), "{line} in\n{shown}");
    }
    assert!(busctl(&pi, &["tree", "--list", "org.raspimcp"]).await.contains("/org/raspimcp/calls"));
    let call = ["call", "org.raspimcp", OBJECT, "org.raspimcp.Tools1", "Call", "ssa{sv}"];
    let said = busctl(&pi, &[&call[..], &["test.echo", r#"{"text": "hello"}"#, "0"]].concat()).await;
    assert_eq!(said.trim(), r#"s "{\"text\":\"hello\"}""#);
    let options = ["test.echo", "{}", "2", "timeout_ms", "u", "5000", "correlation_id", "s", "from busctl"];
    busctl(&pi, &[&call[..], &options].concat()).await;
    pi.pi.audited(|record| record["correlation_id"] == "from busctl").await;
}
