//! Writes to routers: only the process that talks to them gets leave, for exactly what a person was shown.

use super::*;
use ::agent::operations::{
    Done,
    routeros::{AuthorizeRouterWrite, ListRouters, RouterWrite, RoutersRequest},
};
use base::error::ErrorCode;
use contract::{
    config::RouterSetting,
    meta::{Environment, Mode},
};

const APPLY: &str = "routeros.apply_firewall_plan";

fn router(name: &str, allow_advanced: bool, allow_professional: bool) -> RouterSetting {
    RouterSetting {
        name: name.into(),
        address: "192.0.2.1:443".into(),
        pin: Some(format!("sha256:{}", "ab".repeat(32))),
        ca: None,
        user: "raspi-mcp".into(),
        password_file: format!("/etc/raspi-mcp/routeros/{name}").into(),
        environment: Environment::Lab,
        tags: Default::default(),
        allow_advanced,
        allow_professional,
    }
}

fn pi() -> Pi {
    Pi::with(|settings| {
        settings.routers = vec![router("edge", true, true), router("core", false, false)];
        settings.policy.namespaces.insert("routeros".into());
    })
}

fn plan(device: &str) -> Value {
    json!({
        "plan_id": "plan-1", "plan_hash": "ab".repeat(32),
        "devices": [{ "device_id": device, "environment": "lab", "risk": "low", "changes": ["adds a rule"] }],
    })
}

fn peer(uid: u32, name: &str, standing: PeerKind) -> Peer {
    Peer { uid, name: name.into(), standing }
}

/// What the process that talks to routers asks for.
async fn write(pi: &Pi, tool: &str, subject: &Value, ask_id: Option<&str>) -> Result<Done, ToolError> {
    let routers = peer(981, "raspi-mcp-routeros", PeerKind::Routers);
    pi.agent().perform::<AuthorizeRouterWrite>(&routers, request(tool, subject, ask_id)).await
}

fn request(tool: &str, subject: &Value, ask_id: Option<&str>) -> RouterWrite {
    RouterWrite { tool: tool.into(), subject: subject.clone(), authorization: authorization(subject, ask_id) }
}

/// The server asks a person about this, who says yes.
async fn approved(pi: &Pi, tool: &str, subject: &Value) -> Ask {
    let asked = pi.server().call::<op::asks::OpenAsk>(ask(tool, subject.clone())).await.unwrap();
    pi.says(&asked, true).await.unwrap()
}

#[tokio::test]
async fn a_plan_is_applied_once_after_a_person_saw_it_and_never_another_one() {
    let pi = pi();
    let shown = plan("edge");
    let none = write(&pi, APPLY, &shown, None).await.unwrap_err();
    assert_eq!(none.code, ErrorCode::PermissionDenied, "{none:?}");
    let yes = approved(&pi, APPLY, &shown).await;
    // Another plan, another tool, another caller: not what the person saw.
    let mut wider = shown.clone();
    wider["devices"][0]["changes"][0] = "accepts everything".into();
    for (tool, subject) in [(APPLY, &wider), ("routeros.apply_bridge_plan", &shown)] {
        let other = write(&pi, tool, subject, Some(&yes.id)).await.unwrap_err();
        assert_eq!(other.code, ErrorCode::PermissionDenied, "{tool}: {other:?}");
    }
    write(&pi, APPLY, &shown, Some(&yes.id)).await.unwrap();
    let again = write(&pi, APPLY, &shown, Some(&yes.id)).await.unwrap_err();
    assert!(again.message.contains("used before"), "{again:?}");
    assert!(pi.log().contains("authorize_router_write"), "{}", pi.log());
}

#[tokio::test]
async fn a_hash_that_the_server_made_up_does_not_stand_for_what_was_shown() {
    let pi = pi();
    // The server shows a harmless plan, under the hash of another one.
    let (harmless, real) = (plan("edge"), json!({ "plan_id": "plan-2", "devices": [{ "device_id": "edge" }] }));
    let forged = AskRequest { args_sha256: canonical::sha256_hex(&real), ..ask(APPLY, harmless) };
    let asked = pi.server().call::<op::asks::OpenAsk>(forged).await.unwrap();
    let yes = pi.says(&asked, true).await.unwrap();
    let refused = write(&pi, APPLY, &real, Some(&yes.id)).await.unwrap_err();
    assert!(refused.message.contains("something else"), "{refused:?}");
}

#[tokio::test]
async fn the_server_gets_no_leave_and_cannot_use_an_approval() {
    let pi = pi();
    let shown = plan("edge");
    let yes = approved(&pi, APPLY, &shown).await;
    let redeemed = redeem(&pi.server(), &yes.id, &ask(APPLY, shown.clone())).await.unwrap_err();
    assert_eq!(redeemed.code, ErrorCode::PermissionDenied, "{redeemed:?}");
    for (uid, standing) in [(980, PeerKind::Server), (982, PeerKind::ApprovalPage), (0, PeerKind::Approver)] {
        let other = peer(uid, "other", standing);
        let refused = pi.agent().perform::<AuthorizeRouterWrite>(&other, request(APPLY, &shown, Some(&yes.id))).await;
        assert_eq!(refused.unwrap_err().code, ErrorCode::PermissionDenied, "{standing:?}");
        let list = pi.agent().perform::<ListRouters>(&other, RoutersRequest {}).await;
        assert_eq!(list.unwrap_err().code, ErrorCode::PermissionDenied, "{standing:?}");
    }
    write(&pi, APPLY, &shown, Some(&yes.id)).await.unwrap();
}

#[tokio::test]
async fn it_asks_for_writes_and_for_nothing_else() {
    let pi = pi();
    let routers = peer(981, "raspi-mcp-routeros", PeerKind::Routers);
    let list = pi.agent().perform::<ListRouters>(&routers, RoutersRequest {}).await.unwrap();
    assert_eq!(list.routers.iter().map(|router| router.name.as_str()).collect::<Vec<_>>(), ["edge", "core"]);
    for row in
        op::OPERATIONS.iter().filter(|row| !["hello", "list_routers", "authorize_router_write"].contains(&row.tag))
    {
        assert_eq!(routers.may(row.tag, row.callers).unwrap_err().code, ErrorCode::PermissionDenied, "{}", row.tag);
    }
}

#[tokio::test]
async fn single_changes_are_allowed_where_the_router_is_open_to_them() {
    let pi = pi();
    let identity = |device: &str| json!({ "device_id": device, "identity": "x" });
    let tool = "routeros.set_system_identity";
    write(&pi, tool, &identity("edge"), None).await.unwrap();
    let closed = write(&pi, tool, &identity("core"), None).await.unwrap_err();
    assert_eq!((closed.code, closed.details["device_id"].as_str()), (ErrorCode::PermissionDenied, Some("core")));
    let outside = write(&pi, tool, &identity("attic"), None).await.unwrap_err();
    assert_eq!(outside.code, ErrorCode::NotFound, "{outside:?}");
    let none = write(&pi, tool, &json!({ "identity": "x" }), None).await.unwrap_err();
    assert_eq!(none.code, ErrorCode::InvalidArgument, "{none:?}");
    let read = write(&pi, "routeros.get_system_overview", &identity("edge"), None).await.unwrap_err();
    assert_eq!(read.code, ErrorCode::InvalidArgument, "{read:?}");
    // One of two is closed: all of the write is refused.
    let both = json!({ "device_ids": ["edge", "core"] });
    assert_eq!(write(&pi, tool, &both, None).await.unwrap_err().code, ErrorCode::PermissionDenied);
    // Such a plan is refused although a person said yes.
    let yes = approved(&pi, APPLY, &plan("core")).await;
    let refused = write(&pi, APPLY, &plan("core"), Some(&yes.id)).await.unwrap_err();
    assert_eq!(refused.details["device_id"], "core", "{refused:?}");
}

#[tokio::test]
async fn the_owner_decides_about_each_tool_and_a_halt_stops_them_all() {
    let with = |mode: Mode| {
        Pi::with(move |settings| {
            settings.routers = vec![router("edge", true, true)];
            settings.policy.namespaces.insert("routeros".into());
            settings.policy.modes.insert("routeros.set_system_identity".into(), mode);
        })
    };
    let (tool, subject) = ("routeros.set_system_identity", json!({ "device_id": "edge", "identity": "x" }));
    let denied = write(&with(Mode::Deny), tool, &subject, None).await.unwrap_err();
    assert_eq!(denied.code, ErrorCode::PermissionDenied, "{denied:?}");
    let asks = with(Mode::Ask);
    assert_eq!(write(&asks, tool, &subject, None).await.unwrap_err().code, ErrorCode::PermissionDenied);
    let yes = approved(&asks, tool, &subject).await;
    write(&asks, tool, &subject, Some(&yes.id)).await.unwrap();
    let closed = Pi::with(|settings| settings.routers = vec![router("edge", true, true)]);
    assert_eq!(write(&closed, tool, &subject, None).await.unwrap_err().code, ErrorCode::PermissionDenied);
    let halted = pi();
    halted.person::<op::halt::SetHalt>(op::halt::HaltRequest { reason: None, authorization: None }).await.unwrap();
    assert_eq!(write(&halted, tool, &subject, None).await.unwrap_err().code, ErrorCode::FailedPrecondition);
}
