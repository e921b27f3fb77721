//! The door opens, stops, finds its name taken, and comes back with the bus.

use super::{BusPi, Failed, NAME, OBJECT, Options, TOOLS, signal};
use crate::{
    appliance::fresh::Fresh,
    support::{
        private_bus::PrivateBus,
        served::{Pi, soon},
    },
};
use base::{error::ErrorCode, os::bus::DBus};
use raspi_mcp::transport::bus::BusDoor;

#[tokio::test]
async fn a_stop_waits_for_calls_that_run() {
    let pi = BusPi::start().await;
    let caller = pi.caller().await;
    let mut hears = caller.hears();
    let bus = "org.freedesktop.DBus";
    let rule = "type='signal',member='NameOwnerChanged',arg0='org.raspimcp'";
    caller.connection.call_method(Some(bus), "/org/freedesktop/DBus", Some(bus), "AddMatch", &rule).await.unwrap();
    caller.begin("test.hold", "{}").await.unwrap();
    pi.pi.bench.until_inside(1).await;
    let server = pi.pi.server();
    server.stop.cancel();
    pi.pi.bench.release.add_permits(1);
    let (ok, _): (bool, String) = signal(&mut hears, "Finished").await.body().deserialize().unwrap();
    assert!(ok);
    server.tasks.close();
    soon(server.tasks.wait()).await;
    // A call that is under way when the connection closes gets NoReply.
    signal(&mut hears, "NameOwnerChanged").await;
    let gone = caller.tools("List", &Options::new()).await.unwrap_err();
    Failed::of(gone).of_bus("ServiceUnknown");
}

#[tokio::test]
async fn a_name_that_is_taken_or_a_bus_that_is_not_there_is_told() {
    let pi = BusPi::start().await;
    let taken = super::open(&pi.bus, &pi.pi.server()).await.err().unwrap();
    assert_eq!(taken.code, ErrorCode::Conflict);
    let missing = BusDoor::open(DBus::at("unix:path=/nonexistent/bus"), false).await.err().unwrap();
    assert_eq!(missing.code, ErrorCode::CapabilityMissing);
}

#[tokio::test]
async fn after_a_restart_of_the_bus_the_door_is_open_again() {
    let mut pi = BusPi::start().await;
    let caller = pi.caller().await;
    caller.call("test.echo", "{}").await.unwrap();
    caller.begin("test.hold", "{}").await.unwrap();
    pi.pi.bench.until_inside(1).await;
    pi.bus.restart();
    // Whoever was there is gone.
    pi.pi.bench.until_dropped(1).await;
    let caller = pi.caller().await;
    let bus = "org.freedesktop.DBus";
    let mut hears = caller.hears();
    let rule = "type='signal',member='NameOwnerChanged',arg0='org.raspimcp'";
    caller.connection.call_method(Some(bus), "/org/freedesktop/DBus", Some(bus), "AddMatch", &rule).await.unwrap();
    let mut answer = caller.connection.call_method(Some(NAME), OBJECT, Some(TOOLS), "Describe", &"test.echo").await;
    if answer.is_err() {
        signal(&mut hears, "NameOwnerChanged").await;
        answer = caller.connection.call_method(Some(NAME), OBJECT, Some(TOOLS), "Describe", &"test.echo").await;
    }
    answer.unwrap();
}

#[tokio::test]
async fn without_an_owner_everybody_is_refused() {
    let fresh = Fresh::new();
    let up = fresh.starts().await;
    let bus = PrivateBus::shipped();
    let door = super::open(&bus, &up.running.server).await.unwrap();
    let server = std::sync::Arc::clone(&up.running.server);
    server.tasks.clone().spawn(door.run(server));
    let caller = super::BusCaller { connection: bus.connect().await };
    let refused = caller.call("system.get_clock", "{}").await.unwrap_err().is("PermissionDenied");
    assert_eq!(refused.details["unclaimed"], true);
    Failed::of(caller.tools("List", &Options::new()).await.unwrap_err()).is("PermissionDenied");
    let read = caller.tools("Read", &"raspi://health").await.unwrap_err();
    Failed::of(read).is("PermissionDenied");
    up.stops().await;
}

/// Without the setting there is no connection, and so no name.
#[tokio::test]
async fn nothing_is_opened_unless_it_is_configured() {
    let pi = Pi::start().await;
    assert!(!pi.server().pipeline.services.settings.dbus.serve);
}
