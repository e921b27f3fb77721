//! The first approvers of a machine: those that come with the claim or with the provisioning file, and nobody else.

use super::{claim::wanted, fresh::Fresh, partition, token};
use crate::support::served::soon;
use agent::{
    approvers::{ApproverSecret, KeyKind, NewApprover, Vouched},
    operations::approvals::{AddApprover, RevokeApprover, RevokeRequest},
};
use base::error::ErrorCode;
use contract::meta::Role;
use raspi_mcp::claim::{client, uri::ClaimUri};
use serde_json::{Value, json};
use std::{fs, time::Duration};

pub fn approver(name: &str) -> NewApprover {
    let secret = ApproverSecret::from_pkcs8(&ApproverSecret::generate().unwrap()).unwrap();
    NewApprover { name: name.into(), kind: KeyKind::Cli, key: secret.public().text().into(), origin: None }
}

fn keys(approvers: &[agent::approvers::Approver]) -> Vec<&str> {
    approvers.iter().map(|one| one.key.text()).collect()
}

#[tokio::test]
async fn the_approver_that_comes_with_the_claim_is_the_only_one() {
    let fresh = Fresh::new();
    let up = fresh.starts().await;
    up.at_the_console::<AddApprover>(approver("earlier")).await;
    let anna = approver("anna");
    let meant = ClaimUri { device: fresh.folder().device(), ..wanted(&fresh, &up) };
    let mut token = String::new();
    let keep = |given: &str| {
        given.clone_into(&mut token);
        Ok(())
    };
    let taken = soon(client::claim(&meant, Some(&anna), keep)).await.unwrap();
    assert!(taken.device.is_some() && taken.device == meant.device);
    let now = up.approvers().await;
    assert_eq!((keys(&now), now[0].added_by.as_str()), (vec![anna.key.as_str()], "the claim"));
    assert!(fresh.log().contains("approvers replaced"));
    // The owner's token alone adds nobody, also where a claim is confirmed again.
    let (status, _) = up.post(json!({ "token": token, "approver": approver("eve") }).to_string()).await;
    assert_eq!(status, 200, "the claim is confirmed already");
    assert_eq!(keys(&up.approvers().await), [anna.key.as_str()]);
    up.stops().await;
    assert_eq!(fresh.identity().approvers, None, "it is done, and not done again");

    fresh.power_on(Duration::from_secs(1 << 40));
    let up = fresh.starts().await;
    assert_eq!(keys(&up.approvers().await), [anna.key.as_str()]);
    up.at_the_console::<RevokeApprover>(RevokeRequest { name: "anna".into() }).await;
    up.stops().await;
    let up = fresh.starts().await;
    assert_eq!(keys(&up.approvers().await), [""; 0], "revoked is revoked");
}

#[tokio::test]
async fn a_claim_without_an_approver_removes_those_of_before() {
    let fresh = Fresh::new();
    let up = fresh.starts().await;
    up.at_the_console::<AddApprover>(approver("earlier")).await;
    soon(client::claim(&wanted(&fresh, &up), None, |_| Ok(()))).await.unwrap();
    assert!(up.approvers().await.is_empty());
}

#[tokio::test]
async fn another_device_is_noticed_before_the_token_counts() {
    let fresh = Fresh::new();
    let up = fresh.starts().await;
    let other = ClaimUri { device: Some("0f".repeat(32)), ..wanted(&fresh, &up) };
    let kept = |_: &str| panic!("nothing is kept");
    let error = soon(client::claim(&other, Some(&approver("anna")), kept)).await.unwrap_err();
    assert_eq!(error.code, ErrorCode::VerificationFailed, "{error}");
    assert!(!fresh.folder().standing().unwrap().unwrap().claimed);

    // A server that was taken over exchanges the key on its way, or the code: the device did not sign that.
    let (anna, eve, code) = (approver("anna"), approver("eve"), fresh.code().to_string());
    let (status, answer) = up.post(json!({ "code": code, "approver": eve }).to_string()).await;
    assert_eq!(status, 200);
    let device: Vouched = serde_json::from_value(answer["device"].clone()).unwrap();
    assert_eq!(device.check(None, &code, Some(&eve.key)).unwrap(), fresh.folder().device().unwrap());
    for (code, key) in [(&*code, Some(&*anna.key)), (&code, None), (&code[1..], Some(&eve.key))] {
        let error = device.check(None, code, key).unwrap_err();
        assert_eq!(error.code, ErrorCode::VerificationFailed);
    }
    let own = ApproverSecret::from_pkcs8(&ApproverSecret::generate().unwrap()).unwrap().public();
    let forged = Vouched { key: own, ..device };
    forged.check(None, &code, Some(&eve.key)).unwrap_err();
}

#[tokio::test]
async fn what_is_no_approver_is_refused_and_uses_no_try() {
    let fresh = Fresh::new();
    let up = fresh.starts().await;
    let code = fresh.code().to_string();
    let anna = approver("anna");
    for bad in [
        json!({ "name": "", "kind": "cli", "key": anna.key }),
        json!({ "name": "anna", "kind": "cli", "key": "AAAA" }),
        json!({ "name": "anna", "kind": "passkey", "key": anna.key }),
        json!({ "name": "anna", "kind": "cli" }),
        json!("anna"),
    ] {
        let (status, refusal) = up.post(json!({ "code": code, "approver": bad }).to_string()).await;
        assert_eq!(status, 400, "{bad}: {refusal}");
    }
    let (status, _) = up.post(json!({ "token": "rmcp_x", "approver": anna }).to_string()).await;
    assert_eq!((status, fresh.tries_left()), (400, 5), "an approver comes with the code");
}

#[tokio::test]
async fn a_claim_whose_approver_cannot_be_stored_yet_is_finished_at_the_next_start() {
    let fresh = Fresh::new();
    let up = fresh.starts().await;
    let (anna, code) = (approver("anna"), fresh.code().to_string());
    let (_, answer) = up.post(json!({ "code": code, "approver": anna }).to_string()).await;
    let token = answer["token"].as_str().unwrap().to_owned();
    let file = fresh.places().agent_state_dir.join("approvers.json");
    fs::create_dir(&file).unwrap();
    assert_eq!(up.shows(&token).await.0, 503);
    up.stops().await;
    fs::remove_dir(&file).unwrap();
    assert!(fresh.identity().claimed, "the owner is recorded, and the approver with them");
    fresh.power_on(Duration::from_secs(1 << 40));
    let up = fresh.starts().await;
    assert_eq!(keys(&up.approvers().await), [anna.key.as_str()]);
    assert_eq!(up.calls(Some(&token)).await.0, 200);
}

#[tokio::test]
async fn approvers_of_the_provisioning_file_are_enrolled_once() {
    let fresh = Fresh::new();
    let (anna, ben) = (approver("anna"), approver("ben"));
    let (_, lines) = token("laptop", Role::Admin);
    let text = [&anna, &ben]
        .map(|new| format!("[[approver]]\nname = \"{}\"\nkind = \"cli\"\nkey = \"{}\"\n\n", new.name, new.key));
    let text = format!("{}{lines}", text.concat());
    let card = fresh.places().agent_state_dir.join("card/config.img");
    fs::write(card, partition(&[("raspi-mcp.toml", text.as_bytes())])).unwrap();
    assert_eq!(fresh.power_on_damaged(Duration::from_secs(1 << 40)), [""; 0]);
    assert!(fresh.identity().claimed);
    let up = fresh.starts().await;
    let now = up.approvers().await;
    assert_eq!(keys(&now), [anna.key.as_str(), ben.key.as_str()]);
    assert!(now.iter().all(|one| one.added_by == "raspi-mcp.toml"), "{now:?}");
    up.at_the_console::<RevokeApprover>(RevokeRequest { name: "ben".into() }).await;
    up.stops().await;
    fresh.power_on(Duration::from_secs(1 << 40));
    let up = fresh.starts().await;
    assert_eq!(keys(&up.approvers().await), [anna.key.as_str()]);
    let shown: Value = serde_json::to_value(&up.approvers().await[0]).unwrap();
    assert_eq!(shown["added_ms"], now[0].added_ms, "and not enrolled anew");
}
