//! Who is enrolled, by whom, and for how long.

use super::*;

#[tokio::test]
async fn only_root_enrols_and_revokes() {
    let pi = Pi::new();
    let anna = Person::new("anna");
    let server = pi.server().call::<AddApprover>(anna.described()).await.unwrap_err();
    assert_eq!(server.code, ErrorCode::PermissionDenied, "{server}");
    let group = pi.person::<AddApprover>(anna.described()).await.unwrap_err();
    assert_eq!((group.code, group.message.contains("needs root")), (ErrorCode::PermissionDenied, true), "{group}");
    pi.agent().perform::<AddApprover>(&root(), anna.described()).await.unwrap();
    let revoke = || RevokeRequest { name: "anna".into() };
    assert_eq!(pi.person::<RevokeApprover>(revoke()).await.unwrap_err().code, ErrorCode::PermissionDenied);
    pi.agent().perform::<RevokeApprover>(&root(), revoke()).await.unwrap();
    let again = pi.agent().perform::<RevokeApprover>(&root(), revoke()).await.unwrap_err();
    assert_eq!(again.code, ErrorCode::NotFound);
    let log = pi.log_of("operations");
    assert!(log.contains("add_approver") && log.contains("revoke_approver"), "{log}");
}

#[tokio::test]
async fn a_revoked_key_sees_and_answers_nothing() {
    let pi = Pi::new();
    let anna = Person::enrolled("anna", &pi).await;
    let opened = pi.opened("gpio.write_pin", json!({"pin": 4})).await;
    let seen = anna.sees(&pi).await;
    pi.agent().perform::<RevokeApprover>(&root(), RevokeRequest { name: "anna".into() }).await.unwrap();
    let late = pi.carried::<AnswerSigned>(anna.answers(&seen[0], Decision::Approve)).await.unwrap_err();
    assert_eq!(late.code, ErrorCode::PermissionDenied);
    let device = pi.carried::<DescribeDevice>(Default::default()).await.unwrap();
    let blind = pi
        .carried::<ListSigned>(ListSignedRequest { proof: Some(anna.proof(&device)), known: None })
        .await
        .unwrap_err();
    assert_eq!(blind.code, ErrorCode::PermissionDenied);
    assert_eq!(pi.state(&opened.id).await, ::agent::AskState::Pending);
}

#[tokio::test]
async fn approvers_and_the_devices_id_outlive_the_agent() {
    let mut pi = Pi::new();
    let anna = Person::enrolled("anna", &pi).await;
    let before = pi.carried::<DescribeDevice>(Default::default()).await.unwrap();
    pi.restarted_agent().await;
    let after = pi.carried::<DescribeDevice>(Default::default()).await.unwrap();
    assert_eq!((&before.id, &before.key), (&after.id, &after.key));
    assert_ne!(before.boot, after.boot);
    assert_eq!(pi.person::<ListApprovers>(Default::default()).await.unwrap().len(), 1);
    let stale = pi
        .carried::<ListSigned>(ListSignedRequest { proof: Some(anna.proof(&before)), known: None })
        .await
        .unwrap_err();
    assert_eq!(stale.code, ErrorCode::PermissionDenied, "a proof for the boot before");
    assert!(anna.sees(&pi).await.is_empty());
}

#[tokio::test]
async fn damaged_approvers_let_nobody_in_and_are_told() {
    let mut pi = Pi::new();
    let anna = Person::enrolled("anna", &pi).await;
    std::fs::write(pi.dir.path().join("agent/approvers.json"), "[{").unwrap();
    pi.restarted_agent().await;
    assert!(pi.person::<ListApprovers>(Default::default()).await.unwrap().is_empty());
    let status = pi.server().get::<op::status::GetStatus>().await.unwrap();
    assert!(status.faults.iter().any(|fault| fault.contains("approvers.json")), "{:?}", status.faults);
    pi.opened("gpio.write_pin", json!({"pin": 4})).await;
    let device = pi.carried::<DescribeDevice>(Default::default()).await.unwrap();
    let blind = pi.carried::<ListSigned>(ListSignedRequest { proof: Some(anna.proof(&device)), known: None }).await;
    assert_eq!(blind.unwrap_err().code, ErrorCode::PermissionDenied);
}

#[tokio::test]
async fn without_approvers_there_is_no_key_and_no_file() {
    let pi = Pi::new();
    pi.opened("gpio.write_pin", json!({"pin": 4})).await;
    for file in ["device.key", "approvers.json"] {
        assert!(!pi.dir.path().join("agent").join(file).exists(), "{file}");
    }
}

#[tokio::test]
async fn what_is_enrolled_is_checked_and_refusals_change_nothing() {
    let pi = Pi::new();
    let good = Person::new("anna").described();
    let key = good.key.clone();
    let of = |kind: KeyKind, origin: Option<&str>| NewApprover { kind, origin: origin.map(Into::into), ..good.clone() };
    let named = |name: &str| NewApprover { name: name.into(), ..good.clone() };
    let keyed = |key: &str| NewApprover { key: key.into(), ..good.clone() };
    for bad in [
        named(""),
        named("anna\nroot"),
        named(&"a".repeat(65)),
        keyed(""),
        keyed("AAAA"),
        keyed(&format!("{key}=")),
        keyed(&key[..key.len() - 2]),
        of(KeyKind::Cli, Some("https://pi.local")),
        of(KeyKind::Browser, None),
        of(KeyKind::Passkey, None),
        of(KeyKind::Browser, Some("pi.local")),
        of(KeyKind::Browser, Some("http://pi.local")),
        of(KeyKind::Browser, Some("https://pi.local/")),
        of(KeyKind::Browser, Some("https://PI.local")),
        of(KeyKind::Browser, Some("https://pi.local:443")),
        of(KeyKind::Browser, Some("https://pi.local:0")),
        of(KeyKind::Browser, Some("https://pi.local:99999")),
        of(KeyKind::Browser, Some("https://")),
        of(KeyKind::Browser, Some("https://user@pi.local")),
    ] {
        let refused = pi.agent().perform::<AddApprover>(&root(), bad.clone()).await;
        assert_eq!(refused.map_err(|error| error.code), Err(ErrorCode::InvalidArgument), "{bad:?}");
    }
    assert!(!pi.dir.path().join("agent/approvers.json").exists());
    for good in
        [of(KeyKind::Browser, Some("https://pi.local:8444")), of(KeyKind::Passkey, Some("http://localhost:8080"))]
    {
        let pi = Pi::new();
        pi.agent().perform::<AddApprover>(&root(), good).await.unwrap();
    }
    pi.agent().perform::<AddApprover>(&root(), good.clone()).await.unwrap();
    for same in [named("ben"), NewApprover { name: "anna".into(), ..Person::new("anna").described() }] {
        let twice = pi.agent().perform::<AddApprover>(&root(), same).await.unwrap_err();
        assert_eq!(twice.code, ErrorCode::Conflict);
    }
}

#[tokio::test]
async fn there_are_sixteen_at_most() {
    let pi = Pi::new();
    for number in 0..16 {
        let new = NewApprover { name: format!("n{number}"), ..Person::new("x").described() };
        let added: Approver = pi.agent().perform::<AddApprover>(&root(), new).await.unwrap();
        assert_eq!(added.added_by, "root");
    }
    let full = pi.agent().perform::<AddApprover>(&root(), Person::new("more").described()).await.unwrap_err();
    assert_eq!((full.code, &full.details["limit"]), (ErrorCode::ResourceExhausted, &json!(16)));
}

/// The entries of approvers.json.
fn entries(pi: &Pi) -> Vec<serde_json::Value> {
    serde_json::from_slice(&std::fs::read(pi.dir.path().join("agent/approvers.json")).unwrap()).unwrap()
}

#[tokio::test]
async fn what_a_newer_release_wrote_of_approvers_is_kept_and_counts_as_far_as_it_is_understood() {
    let mut pi = Pi::new();
    let anna = Person::enrolled("anna", &pi).await;
    let file = pi.dir.path().join("agent/approvers.json");
    let mut list = entries(&pi);
    list[0]["until_ms"] = json!(5);
    let stranger =
        json!({ "name": "carol", "kind": "voice", "key": "AAAA", "added_ms": 1, "added_by": "root", "tone": 3 });
    list.push(stranger.clone());
    std::fs::write(&file, serde_json::to_vec(&list).unwrap()).unwrap();
    pi.restarted_agent().await;
    let status = pi.server().get::<op::status::GetStatus>().await.unwrap();
    assert!(status.faults.iter().any(|fault| fault.contains("the approver carol")), "{:?}", status.faults);
    let all = pi.person::<ListApprovers>(Default::default()).await.unwrap();
    assert_eq!(all.iter().filter_map(|one| one.known()).map(|one| &*one.name).collect::<Vec<_>>(), ["anna"]);
    let listed = Enrolled::listed("", &all);
    assert_eq!(listed["unread"], json!([{ "name": "carol", "unread": true }]), "{listed}");
    assert!(listed["text"].as_str().unwrap().contains("\ncarol  enrolled by another release"), "{listed}");
    pi.opened("gpio.write_pin", json!({"pin": 4})).await;
    assert_eq!(anna.sees(&pi).await.len(), 1, "her key counts");

    // Whatever is written now, the other release finds what it wrote.
    pi.agent().perform::<AddApprover>(&root(), Person::new("bert").described()).await.unwrap();
    let now = entries(&pi);
    assert_eq!((now.len(), &now[0]["until_ms"], now.contains(&stranger)), (3, &json!(5), true), "{now:?}");
    let second = pi.agent().perform::<AddApprover>(&root(), Person::new("carol").described()).await.unwrap_err();
    assert_eq!(second.code, ErrorCode::Conflict, "{second}");
    for name in ["anna", "bert"] {
        pi.agent().perform::<RevokeApprover>(&root(), RevokeRequest { name: name.into() }).await.unwrap();
    }
    assert_eq!(entries(&pi), [stranger]);
}

#[tokio::test]
async fn an_approver_that_only_another_release_can_read_is_revoked_by_its_name() {
    let mut pi = Pi::new();
    Person::enrolled("anna", &pi).await;
    let file = pi.dir.path().join("agent/approvers.json");
    let mut list = entries(&pi);
    list[0]["until_ms"] = json!(5);
    let dora = json!({ "name": "dora", "kind": "voice", "tone": 3 });
    let carol = json!({ "name": "carol", "kind": "voice", "key": "AAAA" });
    let anna = list[0].clone();
    list.extend([carol, json!("a line"), dora.clone()]);
    std::fs::write(&file, serde_json::to_vec(&list).unwrap()).unwrap();
    pi.restarted_agent().await;
    let revoke =
        async |name: &str| pi.agent().perform::<RevokeApprover>(&root(), RevokeRequest { name: name.into() }).await;
    let gone = revoke("carol").await.unwrap();
    assert_eq!(gone, Enrolled::Unread { unread: "carol".into() });
    assert!(gone.revoked(&[]).starts_with("carol is no longer enrolled"), "{}", gone.revoked(&[]));
    assert_eq!(revoke("carol").await.unwrap_err().code, ErrorCode::NotFound);
    // What has no name is listed by a number.
    let all = pi.person::<ListApprovers>(Default::default()).await.unwrap();
    assert!(all.contains(&Enrolled::Unread { unread: "unread:1".into() }), "{all:?}");
    revoke("unread:1").await.unwrap();
    assert_eq!(entries(&pi), [anna, dora], "the others stay as they are");
    assert!(pi.log_of("operations").contains("carol"), "it is in the log");
}

#[tokio::test]
async fn a_damaged_list_of_approvers_is_set_aside_before_another_one_is_written() {
    let mut pi = Pi::new();
    Person::enrolled("anna", &pi).await;
    let file = pi.dir.path().join("agent/approvers.json");
    std::fs::write(&file, "[{").unwrap();
    pi.restarted_agent().await;
    pi.agent().perform::<AddApprover>(&root(), Person::new("bert").described()).await.unwrap();
    assert_eq!(entries(&pi).len(), 1);
    assert_eq!(std::fs::read_to_string(file.with_file_name("approvers.json.unread")).unwrap(), "[{");
}
