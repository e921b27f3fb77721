//! Who has a camera open: told to the server alone, about cameras alone.

use super::*;
use raspi_mcp::agent::deeds::holders::HoldersRequest;

fn op(device: &str) -> Op {
    Op::DeviceHolders(HoldersRequest { device: device.into() })
}

#[tokio::test]
async fn a_simulated_machine_has_nobody_at_its_cameras() {
    let pi = Pi::new();
    // Whatever this PC's processes do is none of its business.
    let holders = pi.server().holders(HoldersRequest { device: "/dev/video0".into() }).await.unwrap();
    assert!(holders.is_empty());
}

#[tokio::test]
async fn only_the_server_may_ask_and_not_where_cameras_are_switched_off() {
    let pi = Pi::new();
    let error = pi.person(op("/dev/video0")).await.unwrap_err();
    assert_eq!(error.details["operation"], "device_holders");
    let off = Pi::with(|settings| drop(settings.policy.disabled.insert("camera".into())));
    let error = off.server().holders(HoldersRequest { device: "/dev/video0".into() }).await.unwrap_err();
    assert!(error.message.contains("camera.list_cameras"), "{error}");
}

#[test]
fn it_travels_as_it_is_written_and_with_nothing_else() {
    let parse = |text: &str| serde_json::from_str::<Op>(text);
    assert!(matches!(parse(r#"{"device_holders":{"device":"/dev/video0"}}"#), Ok(Op::DeviceHolders(_))));
    assert!(parse(r#"{"device_holders":{"device":"/dev/video0","pid":1}}"#).is_err());
    assert!(parse(r#"{"device_holders":{}}"#).is_err());
    assert!(!op("/dev/video0").waits());
}
