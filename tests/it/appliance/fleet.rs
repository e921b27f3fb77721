//! An appliance becomes a member of a fleet by two orders of its owner: key and certificate lie with its identity.

use super::{claim::wanted, fresh::Fresh};
use crate::support::{fleet::FleetDesk, served::soon};
use agent::{
    approvers::{ApproverSecret, KeyKind, NewApprover, SignedOrder},
    operations::approvals::{DescribeDevice, DeviceRequest, PerformOrder},
};
use base::error::ToolError;
use fleet_protocol::enrolment::{EnrolmentRequest, Membership};
use raspi_mcp::{
    claim::{client, uri::ClaimUri},
    fleet::desk::{self, NewFleet},
};
use serde_json::{Value, json};
use std::time::Duration;

#[tokio::test]
async fn an_owners_orders_make_a_member_that_a_restart_keeps() {
    let fresh = Fresh::new();
    let up = fresh.starts().await;
    let secret = ApproverSecret::from_pkcs8(&ApproverSecret::generate().unwrap()).unwrap();
    let anna =
        NewApprover { name: "anna".into(), kind: KeyKind::Cli, key: secret.public().text().into(), origin: None };
    let meant = ClaimUri { device: fresh.folder().device(), ..wanted(&fresh, &up) };
    soon(client::claim(&meant, Some(&anna), |_| Ok(()))).await.unwrap();
    let order = async |key: &ApproverSecret, operation: &str, args: Value| -> Result<Value, ToolError> {
        let agent = up.agent();
        let device = agent.call::<DescribeDevice>(DeviceRequest::default()).await?;
        let about = (device.id.as_str(), device.boot.as_str(), device.time_ms);
        agent.call::<PerformOrder>(SignedOrder::by_cli(key, about, operation, &args)?).await
    };
    let eve = ApproverSecret::from_pkcs8(&ApproverSecret::generate().unwrap()).unwrap();
    order(&eve, "enroll_fleet", json!({ "name": "kitchen" })).await.unwrap_err();
    order(&secret, "enroll_fleet", json!({ "name": "Kitchen" })).await.unwrap_err();
    assert_eq!(fresh.identity().fleet.new_key, None);
    let done = order(&secret, "enroll_fleet", json!({ "name": "kitchen" })).await.unwrap();
    let request = EnrolmentRequest::read(done["request"].as_str().unwrap()).unwrap();
    assert_eq!(Some(request.key.id()), fresh.folder().device());

    let desk = FleetDesk::new();
    let folder = desk.path().join("home-fleet");
    let new = NewFleet { name: "home".into(), servers: vec!["tls://broker.test:4222".into()], hosts: Vec::new() };
    desk::init(&folder, &new).unwrap();
    let membership = desk::sign(&folder, &request).unwrap();
    let other = Membership { certificate: membership.ca.clone(), ..membership.clone() };
    let error = order(&secret, "join_fleet", json!(other)).await.unwrap_err();
    assert!(error.message.contains("another key"), "{error}");
    assert!(fresh.identity().fleet.member.is_none());
    order(&secret, "join_fleet", json!(membership)).await.unwrap();
    up.stops().await;

    fresh.power_on(Duration::from_secs(1 << 40));
    let settings = fresh.settings(&[]).fleet;
    assert_eq!((settings.name.as_str(), settings.device.as_str()), ("home", "kitchen"));
    for (file, content) in [(&settings.ca, &membership.ca), (&settings.certificate, &membership.certificate)] {
        assert_eq!(std::fs::read_to_string(file).unwrap(), *content);
    }
    assert!(appliance::certificate::is_for(&membership.certificate, &std::fs::read_to_string(&settings.key).unwrap()));
}
