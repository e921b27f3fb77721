//! The host name: judged by the agent, tried without effect, set once.

use super::*;
use crate::private_bus::PrivateBus;
use futures::StreamExt;
use raspi_mcp::{
    agent::{
        HostnameRequest,
        machine::{Machine, RealMachine},
    },
    error::ErrorCode,
    registry::meta::Mode,
};
use zbus::{MessageStream, message::Type};

fn name(hostname: &str) -> HostnameRequest {
    HostnameRequest {
        hostname: hostname.into(),
        dry_run: false,
        warrant: warrant(&json!({ "hostname": hostname }), None),
    }
}

#[tokio::test]
async fn a_name_is_tried_first_then_given() {
    let pi = Pi::new();
    let server = pi.server();
    let tried = server.set_hostname(HostnameRequest { dry_run: true, ..name("kitchen") }).await.unwrap();
    assert_eq!((tried.previous.as_str(), tried.simulated), ("simulated", true));
    assert_eq!(pi.machine.hostname().unwrap(), "simulated", "a dry run changes nothing");
    server.set_hostname(name("kitchen")).await.unwrap();
    assert_eq!(server.set_hostname(name("cellar")).await.unwrap().previous, "kitchen");
    assert_eq!(pi.machine.hostname().unwrap(), "cellar");
    assert!(pi.log().contains("\"set_hostname\""));
}

#[tokio::test]
async fn what_is_no_name_changes_nothing() {
    let pi = Pi::new();
    for bad in ["", "-", "Kitchen", "kitchen.local", "localhost", "a b", "--static"] {
        let error = pi.server().set_hostname(name(bad)).await.unwrap_err();
        assert_eq!(error.code, ErrorCode::InvalidArgument, "{bad:?}");
    }
    assert_eq!(pi.machine.hostname().unwrap(), "simulated");
}

#[tokio::test]
async fn the_owner_may_want_to_be_asked() {
    let pi = Pi::with(|settings| {
        settings.policy.modes.insert("system.set_hostname".into(), Mode::Ask);
    });
    let server = pi.server();
    let error = server.set_hostname(name("kitchen")).await.unwrap_err();
    assert_eq!(error.code, ErrorCode::PermissionDenied);
    let opened = server.open_ask(ask("system.set_hostname", json!({"hostname": "kitchen"}))).await.unwrap();
    pi.says(&opened, true).await.unwrap();
    let approved =
        HostnameRequest { warrant: warrant(&json!({"hostname": "kitchen"}), Some(&opened.id)), ..name("kitchen") };
    let lie = HostnameRequest { hostname: "evil".into(), ..approved.clone() };
    assert_eq!(server.set_hostname(lie).await.unwrap_err().details["differs"], "arguments");
    server.set_hostname(approved.clone()).await.unwrap();
    assert_eq!(pi.machine.hostname().unwrap(), "kitchen");
    server.set_hostname(approved).await.expect_err("an approval is used once");
}

#[tokio::test]
async fn a_real_machine_is_named_through_systemd() {
    let bus = PrivateBus::start();
    let machine = RealMachine { root: Root::at("/nonexistent"), bus: bus.bus() };
    let error = machine.set_hostname("kitchen").await.unwrap_err();
    assert_eq!(error.code, ErrorCode::CapabilityMissing, "nobody has that name on the bus: {error}");

    let hostnamed = bus.connect().await;
    let mut stream = MessageStream::from(&hostnamed);
    hostnamed.request_name("org.freedesktop.hostname1").await.unwrap();
    let serve = async {
        let mut calls = Vec::new();
        while calls.len() < 3 {
            let message = stream.next().await.unwrap().unwrap();
            let header = message.header();
            if message.message_type() != Type::MethodCall {
                continue;
            }
            let (name, interactive): (String, bool) = message.body().deserialize().unwrap();
            assert!(!interactive);
            calls.push((header.member().unwrap().to_string(), name.clone()));
            if name == "evil" {
                let denied = "org.freedesktop.DBus.Error.AccessDenied";
                hostnamed.reply_error(&header, denied, &"Permission denied").await.unwrap();
            } else {
                hostnamed.reply(&header, &()).await.unwrap();
            }
        }
        calls
    };
    let asks = async {
        machine.set_hostname("kitchen").await.unwrap();
        machine.set_hostname("evil").await.unwrap_err()
    };
    let (calls, error) = tokio::join!(serve, asks);
    let said = |method: &str, name: &str| (method.to_owned(), name.to_owned());
    let expected =
        [said("SetStaticHostname", "kitchen"), said("SetHostname", "kitchen"), said("SetStaticHostname", "evil")];
    assert_eq!(calls, expected);
    assert_eq!(error.code, ErrorCode::PermissionDenied, "{error}");
}
