//! Users of this machine: which role each has, and what the rules of the bus let them do.

use super::{BusPi, EVENTS, Failed, NAME, NOBODY, OBJECT, is_root};
use crate::support::private_bus::PrivateBus;
use contract::{config::Owners, meta::Role};
use serde_json::json;

#[tokio::test]
async fn this_user_is_who_it_is_at_the_unix_socket() {
    let pi = BusPi::start().await;
    let caller = pi.caller().await;
    let admin = caller.call("test.admin", "{}").await;
    match is_root() {
        true => assert_eq!(admin.unwrap(), json!({"done": true})),
        false => drop(admin.unwrap_err().is("PermissionDenied")),
    }
}

#[tokio::test]
async fn another_user_may_only_read() {
    if !is_root() {
        return;
    }
    let pi = BusPi::with(|settings| {
        settings.tools.enable.insert("test".into());
        settings.tools.disable.insert("logs.get_recent_app_logs".into());
    })
    .await;
    let nobody = pi.caller_as(NOBODY).await;
    assert_eq!(nobody.call("test.echo", "{}").await.unwrap()["text"], "");
    let refused = nobody.call("test.write", "{}").await.unwrap_err().is("PermissionDenied");
    assert!(refused.message.contains("dbus.roles"), "it says what would help: {refused:?}");
    nobody.call("test.admin", "{}").await.unwrap_err().is("PermissionDenied");
    let record = pi.pi.audited(|record| record["tool"] == "test.echo").await;
    assert_eq!(
        (&record["principal"], &record["role"], &record["door"]),
        (&json!("uid:65534"), &json!("read_only"), &json!("dbus"))
    );
    // What it may not read it may not subscribe to.
    let log = nobody.raw(OBJECT, EVENTS, "Subscribe", &vec!["raspi://logs/app"]).await;
    Failed::of(log.unwrap_err()).is("PermissionDenied");
}

#[tokio::test]
async fn a_user_has_the_role_that_the_configuration_gives() {
    if !is_root() {
        return;
    }
    let pi = BusPi::with(|settings| {
        settings.tools.enable.insert("test".into());
        settings.dbus.roles.insert("nobody".into(), Role::OpsRw);
        settings.access.owners = Owners::from_entries(["user:nobody=ann".to_owned()]);
    })
    .await;
    let nobody = pi.caller_as(NOBODY).await;
    assert_eq!(nobody.call("test.write", "{}").await.unwrap(), json!({"done": true}));
    nobody.call("test.admin", "{}").await.unwrap_err().is("PermissionDenied");
    let record = pi.pi.audited(|record| record["tool"] == "test.write").await;
    assert_eq!((&record["owner"], &record["role"]), (&json!("ann"), &json!("ops_rw")));
    // Another user has none of it: Debian's "daemon".
    let stranger = pi.caller_as(1).await;
    stranger.call("test.write", "{}").await.unwrap_err().is("PermissionDenied");
}

#[tokio::test]
async fn a_member_of_the_admin_group_is_admin() {
    if !is_root() {
        return;
    }
    // The primary group of nobody in /etc/passwd, as Debian has it.
    let groups = std::fs::read_to_string("/etc/group").unwrap();
    let group = groups.lines().find(|line| line.split(':').nth(2) == Some("65534")).expect("Debian's nogroup");
    let group = group.split(':').next().unwrap().to_owned();
    let pi = BusPi::with(|settings| settings.access.admin_group = group).await;
    let nobody = pi.caller_as(NOBODY).await;
    assert_eq!(nobody.call("test.admin", "{}").await.unwrap(), json!({"done": true}));
}

#[tokio::test]
async fn only_the_server_s_account_may_have_the_name() {
    if !is_root() {
        return;
    }
    let pi = BusPi { bus: PrivateBus::shipped(), pi: crate::support::served::Pi::start().await };
    let nobody = pi.caller_as(NOBODY).await;
    let bus = "org.freedesktop.DBus";
    let path = "/org/freedesktop/DBus";
    let asked = nobody.connection.call_method(Some(bus), path, Some(bus), "RequestName", &(NAME, 4_u32)).await;
    Failed::of(asked.unwrap_err()).of_bus("AccessDenied");
    let ours = pi.caller().await;
    let asked = ours.connection.call_method(Some(bus), path, Some(bus), "RequestName", &(NAME, 4_u32)).await.unwrap();
    assert_eq!(asked.body().deserialize::<u32>().unwrap(), 1);
    // And the rules let nobody say anything but what the door has.
    let odd = nobody.raw(OBJECT, "org.other.Interface", "Do", &()).await;
    Failed::of(odd.unwrap_err()).of_bus("AccessDenied");
}
