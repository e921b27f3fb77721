//! The time zone: judged by the agent, tried without effect, set through systemd-timedated.

use super::*;
use crate::support::{private_bus::PrivateBus, trees::Copied};
use ::agent::{
    machine::{MachineControl, RealMachine},
    operations::timezone::TimezoneRequest,
};
use base::error::ErrorCode;
use futures::StreamExt;
use std::{os::unix::fs::symlink, path::PathBuf};
use zbus::{MessageStream, message::Type};

fn zone(timezone: &str) -> TimezoneRequest {
    TimezoneRequest {
        timezone: timezone.into(),
        dry_run: false,
        authorization: authorization(&json!({ "timezone": timezone }), None),
    }
}

/// A tree with two zones.
fn zones() -> Copied {
    let tree = Copied::empty();
    tree.write("usr/share/zoneinfo/Europe/Berlin", "TZif2").write("usr/share/zoneinfo/Asia/Kolkata", "TZif2");
    tree.write(
        "usr/share/zoneinfo/zone1970.tab",
        "# c\nDE\t+5230+01322\tEurope/Berlin\tmost\nIN\t+2232+08822\tAsia/Kolkata\n",
    );
    tree
}

#[tokio::test]
async fn a_zone_is_tried_first_then_set() {
    let tree = zones();
    let pi = Pi::with(|settings| settings.root = tree.root());
    let server = pi.server();
    let dry = TimezoneRequest { dry_run: true, ..zone("Europe/Berlin") };
    let tried = server.call::<op::timezone::SetTimezone>(dry).await.unwrap();
    assert_eq!((tried.previous.as_str(), tried.simulated), ("UTC", true));
    assert_eq!(pi.machine.timezone().unwrap(), "UTC", "a dry run changes nothing");
    server.call::<op::timezone::SetTimezone>(zone("Europe/Berlin")).await.unwrap();
    assert_eq!(server.call::<op::timezone::SetTimezone>(zone("Asia/Kolkata")).await.unwrap().previous, "Europe/Berlin");
    assert_eq!(pi.machine.timezone().unwrap(), "Asia/Kolkata");
    assert!(pi.log().contains("\"set_timezone\""));
}

#[tokio::test]
async fn what_is_no_zone_changes_nothing_and_similar_names_are_told() {
    let tree = zones();
    tree.write("usr/share/zoneinfo/Europe/Broken", "no zone").write("etc/shadow", "TZif");
    let pi = Pi::with(|settings| settings.root = tree.root());
    for bad in [
        "",
        "/",
        "Berlin",
        "Europe",
        "Europe/",
        "Europe/Broken",
        "../../../etc/shadow",
        "Europe/../Europe/Berlin",
        "Europe/Berlin\n",
    ] {
        let error = pi.server().call::<op::timezone::SetTimezone>(zone(bad)).await.unwrap_err();
        let well_formed = ["Berlin", "Europe", "Europe/Broken"].contains(&bad);
        let code = if well_formed { ErrorCode::NotFound } else { ErrorCode::InvalidArgument };
        assert_eq!((error.code, &error.details["parameter"]), (code, &json!("timezone")), "{bad:?}");
    }
    assert_eq!(pi.machine.timezone().unwrap(), "UTC");
    let error = pi.server().call::<op::timezone::SetTimezone>(zone("Germany/berlin")).await.unwrap_err();
    assert_eq!(error.hint.as_deref(), Some("perhaps Europe/Berlin"));
}

/// A machine with `org.freedesktop.timedate1` on a bus of its own, which replaces the link as systemd does.
async fn timedated(tree: &Copied, bus: &PrivateBus, refuses: Option<&'static str>) -> RealMachine {
    let connection = bus.connect().await;
    let mut stream = MessageStream::from(&connection);
    connection.request_name("org.freedesktop.timedate1").await.unwrap();
    let etc: PathBuf = tree.root().path("etc");
    std::fs::create_dir_all(&etc).unwrap();
    tokio::spawn(async move {
        while let Some(Ok(message)) = stream.next().await {
            if message.message_type() != Type::MethodCall {
                continue;
            }
            let header = message.header();
            assert_eq!(header.member().unwrap().as_str(), "SetTimezone");
            let (name, interactive): (String, bool) = message.body().deserialize().unwrap();
            assert!(!interactive);
            if let Some(said) = refuses {
                connection.reply_error(&header, "System.Error.EROFS", &said).await.unwrap();
                continue;
            }
            if name != "Asia/Kolkata" {
                symlink(format!("../usr/share/zoneinfo/{name}"), etc.join("new")).unwrap();
                std::fs::rename(etc.join("new"), etc.join("localtime")).unwrap();
            }
            connection.reply(&header, &()).await.unwrap();
        }
    });
    RealMachine { root: tree.root(), bus: bus.bus() }
}

/// Rules of one type, without summer time (RFC 9636).
fn rules() -> Vec<u8> {
    let header = [&b"TZif2"[..], &[0; 15], &[0; 16], &[0, 0, 0, 1], &[0, 0, 0, 4]].concat();
    let block = [&header[..], &[0, 0, 0x0e, 0x10, 0, 0], b"CET\0"].concat();
    [&block[..], &block[..], b"\nCET-1\n"].concat()
}

#[tokio::test]
async fn a_real_machine_is_set_through_systemd_and_read_back() {
    let (tree, bus) = (zones(), PrivateBus::start());
    tree.write("usr/share/zoneinfo/Europe/Berlin", rules());
    let machine = RealMachine { root: tree.root(), bus: bus.bus() };
    let error = machine.set_timezone("Europe/Berlin").await.unwrap_err();
    assert_eq!(error.code, ErrorCode::CapabilityMissing, "nobody has that name on the bus: {error}");

    let machine = timedated(&tree, &bus, None).await;
    assert_eq!(machine.timezone().unwrap(), "UTC");
    machine.set_timezone("Europe/Berlin").await.unwrap();
    assert_eq!(machine.timezone().unwrap(), "Europe/Berlin");
    let error = machine.set_timezone("Asia/Kolkata").await.unwrap_err();
    assert!(error.message.contains("still Europe/Berlin"), "what it only says is not believed: {error}");
}

#[tokio::test]
async fn a_read_only_etc_is_told() {
    let (tree, bus) = (zones(), PrivateBus::start());
    let machine = timedated(&tree, &bus, Some("Failed to set time zone: Read-only file system")).await;
    let error = machine.set_timezone("Europe/Berlin").await.unwrap_err();
    assert!(error.hint.as_ref().unwrap().contains("/etc is read-only"), "{error}");
}
