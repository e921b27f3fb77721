//! A backup of a running machine, by its owner's order and at its console, and its restore by the claim code.

use super::{
    claim::wanted,
    fresh::{Fresh, Up},
};
use crate::support::served::soon;
use agent::{
    AgentLink, Peer, PeerKind,
    approvers::{ApproverSecret, KeyKind, NewApprover, SignedOrder},
    operations::{
        approvals::{DescribeDevice, DeviceRequest, PerformOrder, RecordRevokedTokens, TokensRevoked},
        backup::{BackupRequest, MakeBackup, SealedBackup},
        halt::{HaltRequest, SetHalt},
    },
};
use appliance::{
    Code,
    backup::{Backup, Restore, transfer::Recipient},
    generation,
};
use base::error::{ErrorCode, ToolError};
use contract::{access::token::Token, config::TokenSetting, meta::Role};
use raspi_mcp::claim::{client, uri::ClaimUri};
use serde::Deserialize;
use serde_json::{Value, json};
use std::time::Duration;

const FAR: Duration = Duration::from_secs(1 << 40);

/// A machine with an owner and an approver.
pub(super) struct Owned {
    pub(super) fresh: Fresh,
    pub(super) up: Up,
    pub(super) token: String,
    anna: ApproverSecret,
}

fn secret() -> ApproverSecret {
    ApproverSecret::from_pkcs8(&ApproverSecret::generate().unwrap()).unwrap()
}

pub(super) async fn owned() -> Owned {
    let fresh = Fresh::new();
    let up = fresh.starts().await;
    let anna = secret();
    let new = NewApprover { name: "anna".into(), kind: KeyKind::Cli, key: anna.public().text().into(), origin: None };
    let mut token = String::new();
    let keep = |given: &str| {
        token = given.to_owned();
        Ok(())
    };
    soon(client::claim(&wanted(&fresh, &up), Some(&new), keep)).await.unwrap();
    Owned { fresh, up, token, anna }
}

impl Owned {
    /// What the device answers to an order that `key` signed.
    async fn ordered(&self, key: &ApproverSecret, request: &BackupRequest) -> Result<SealedBackup, ToolError> {
        let device = self.up.agent().call::<DescribeDevice>(DeviceRequest::default()).await?;
        let about = (device.id.as_str(), device.boot.as_str(), device.time_ms);
        let order = SignedOrder::by_cli(key, about, "backup", &json!(request))?;
        let done = self.up.agent().call::<PerformOrder>(order).await?;
        Ok(SealedBackup::deserialize(&done["backup"]).unwrap())
    }

    pub(super) async fn backup(&self, identity: bool) -> Backup {
        let recipient = Recipient::make().unwrap();
        let request = BackupRequest { identity, to: recipient.public() };
        let sealed = self.ordered(&self.anna, &request).await.unwrap();
        let device = self.fresh.folder().device();
        let message = sealed.verified(device.as_deref(), &request.to).unwrap();
        Backup::parse(&recipient.open(&message).unwrap()).unwrap()
    }
}

fn restore(backup: &Backup) -> Restore {
    Restore { backup: backup.clone(), owner: None, approver: None }
}

#[tokio::test]
async fn a_new_card_with_the_old_identity_is_the_same_device_for_its_clients() {
    let old = owned().await;
    let backup = old.backup(true).await;
    let (pin, device) = (old.up.pin, old.fresh.folder().device());
    old.up.stops().await;

    let new = Fresh::new();
    let up = new.starts().await;
    assert_ne!(up.pin, pin);
    let done = soon(client::restore(&wanted(&new, &up), &restore(&backup))).await.unwrap();
    assert!(done.restarts);
    // Until then nobody gets in.
    assert_eq!(up.calls(Some(&old.token)).await.0, 403);
    assert!(new.folder().claim().unwrap().is_none());
    up.stops().await;
    new.power_on(FAR);
    let up = new.starts().await;
    assert_eq!((up.pin, new.folder().device()), (pin, device));
    assert_eq!(up.calls(Some(&old.token)).await.0, 200, "its token counts again");
    let approvers: Vec<String> = up.approvers().await.into_iter().map(|one| one.name).collect();
    assert_eq!(approvers, ["anna"]);
    up.stops().await;
    assert_eq!(generation::of(&new.state()), 1);
    assert_eq!(generation::of(&old.fresh.state()), 0);
    let log = new.log();
    assert!(log.contains("\"restored\"") && !log.contains("PRIVATE"), "{log}");
}

impl Owned {
    /// The owner's order, signed by anna.
    async fn orders(&self, operation: &str, args: Value) {
        let device = self.up.agent().call::<DescribeDevice>(DeviceRequest::default()).await.unwrap();
        let about = (device.id.as_str(), device.boot.as_str(), device.time_ms);
        let order = SignedOrder::by_cli(&self.anna, about, operation, &args).unwrap();
        self.up.agent().call::<PerformOrder>(order).await.unwrap();
    }
}

/// The next start of a card that a backup was restored on, and who approves there.
pub(super) async fn restarted(fresh: &Fresh, up: Up) -> (Up, Vec<String>) {
    up.stops().await;
    fresh.power_on(FAR);
    let up = fresh.starts().await;
    let approvers = up.approvers().await.into_iter().map(|one| one.name).collect();
    (up, approvers)
}

#[tokio::test]
async fn what_was_revoked_after_the_backup_stays_revoked_on_the_same_card() {
    let old = owned().await;
    let ben = secret();
    old.orders("add_approver", json!({"name": "ben", "kind": "cli", "key": ben.public().text()})).await;
    let backup = old.backup(true).await;
    old.orders("revoke_approver", json!({"name": "ben"})).await;
    // Tokens are files; what of them is left out is in the unit tests of `appliance::backup`.
    let tokens = vec![Token::mint().unwrap().sha256()];
    assert!(old.up.at_the_console::<RecordRevokedTokens>(TokensRevoked { tokens }).await.kept);
    let later = old.backup(false).await;
    old.up.stops().await;

    old.fresh.is_reset();
    let up = old.fresh.starts().await;
    let done = soon(client::restore(&wanted(&old.fresh, &up), &restore(&backup))).await.unwrap();
    assert_eq!(done.left_out, ["approver:ben"]);
    let (up, approvers) = restarted(&old.fresh, up).await;
    assert_eq!(approvers, ["anna"]);
    assert_eq!(up.calls(Some(&old.token)).await.0, 200);
    up.stops().await;

    // Another card cannot know it.
    let new = Fresh::new();
    let up = new.starts().await;
    let done = soon(client::restore(&wanted(&new, &up), &restore(&backup))).await.unwrap();
    assert_eq!(done.left_out, [""; 0]);
    let (up, approvers) = restarted(&new, up).await;
    assert_eq!(approvers, ["anna", "ben"]);
    up.stops().await;

    // Nor is it forgotten by a later backup.
    let third = Fresh::new();
    let up = third.starts().await;
    let token = Token::mint().unwrap();
    let owner = agent::operations::claim::owner_token(token.sha256());
    let both = Restore { owner: Some(owner), ..restore(&later) };
    soon(client::restore(&wanted(&third, &up), &both)).await.unwrap();
    up.stops().await;
    third.is_reset();
    let up = third.starts().await;
    let done = soon(client::restore(&wanted(&third, &up), &restore(&backup))).await.unwrap();
    assert_eq!(done.left_out, ["approver:ben"]);
}

#[tokio::test]
async fn who_is_enrolled_again_is_not_left_out() {
    let old = owned().await;
    let ben = secret();
    let new = json!({"name": "ben", "kind": "cli", "key": ben.public().text()});
    old.orders("add_approver", new.clone()).await;
    let backup = old.backup(true).await;
    old.orders("revoke_approver", json!({"name": "ben"})).await;
    old.orders("add_approver", new).await;
    old.up.stops().await;
    old.fresh.is_reset();
    let up = old.fresh.starts().await;
    let done = soon(client::restore(&wanted(&old.fresh, &up), &restore(&backup))).await.unwrap();
    assert_eq!(done.left_out, [""; 0]);
    assert_eq!(restarted(&old.fresh, up).await.1, ["anna", "ben"]);
}

#[tokio::test]
async fn without_the_identity_the_claim_brings_an_owner() {
    let old = owned().await;
    let backup = old.backup(false).await;
    assert!(!backup.has_identity());
    let new = Fresh::new();
    let up = new.starts().await;
    let meant = wanted(&new, &up);
    let error = soon(client::restore(&meant, &restore(&backup))).await.unwrap_err();
    assert!(error.message.contains("nobody would own"), "{error}");
    assert_eq!(new.tries_left(), 5, "the code was right");
    let token = Token::mint().unwrap();
    let (role, expires) = (Role::Admin, None);
    let owner =
        TokenSetting { name: "owner".into(), sha256: token.sha256(), role, owner: None, expires, devices: Vec::new() };
    let pin = up.pin;
    soon(client::restore(&meant, &Restore { owner: Some(owner), ..restore(&backup) })).await.unwrap();
    up.stops().await;
    new.power_on(FAR);
    let up = new.starts().await;
    assert_eq!(up.pin, pin, "it keeps its own certificate");
    assert_eq!((up.calls(Some(token.reveal())).await.0, up.calls(Some(&old.token)).await.0), (200, 401));
}

#[tokio::test]
async fn a_wrong_code_uses_an_attempt_and_a_machine_with_an_owner_takes_nothing() {
    let old = owned().await;
    let backup = old.backup(true).await;
    let error = soon(client::restore(&old.meant(), &restore(&backup))).await.unwrap_err();
    assert!(error.message.contains("claimed already"), "{error}");

    let new = Fresh::new();
    let up = new.starts().await;
    let wrong = ClaimUri { code: Code::mint().unwrap(), ..wanted(&new, &up) };
    for left in (0..5).rev() {
        let error = soon(client::restore(&wrong, &restore(&backup))).await.unwrap_err();
        assert!(
            error.code == ErrorCode::PermissionDenied && error.message.contains(&format!("{left} tries")),
            "{error}"
        );
    }
    let error = soon(client::restore(&wanted(&new, &up), &restore(&backup))).await.unwrap_err();
    assert_eq!(error.code, ErrorCode::ResourceExhausted, "{error}");
    // Neither what is no JSON nor what is too long reaches the agent.
    for (body, status) in [("{}".to_owned(), 400), (format!("{{\"sealed\":\"{}\"}}", "A".repeat(200_000)), 413)] {
        let url = up.url("/claim/restore");
        let post = up.client().post(url).header("content-type", "application/json").body(body);
        assert_eq!(soon(post.send()).await.unwrap().status().as_u16(), status);
    }
    assert_eq!(
        generation::of(&{
            up.stops().await;
            new.state()
        }),
        0
    );
}

impl Owned {
    fn meant(&self) -> ClaimUri {
        let url = self.up.url("").parse().unwrap();
        ClaimUri { url, pin: self.up.pin, code: Code::mint().unwrap(), device: None }
    }
}

#[tokio::test]
async fn the_identity_goes_to_root_or_to_an_enrolled_key_and_what_is_carried_cannot_be_exchanged() {
    let old = owned().await;
    let recipient = Recipient::make().unwrap();
    let request = BackupRequest { identity: true, to: recipient.public() };
    let error = old.ordered(&secret(), &request).await.err().unwrap();
    assert_eq!(error.code, ErrorCode::PermissionDenied, "{error}");
    let AgentLink::InProcess(agent) = old.up.agent() else { panic!("the agent is elsewhere") };
    let member = Peer { uid: 1000, name: "ben".into(), standing: PeerKind::Approver };
    let error = agent.perform::<MakeBackup>(&member, request.clone()).await.err().unwrap();
    assert!(error.message.contains("ben may not have the identity"), "{error}");
    let plain = BackupRequest { identity: false, ..request.clone() };
    agent.perform::<MakeBackup>(&member, plain).await.unwrap();
    let server = Peer { standing: PeerKind::Server, ..member };
    assert!(agent.perform::<MakeBackup>(&server, request.clone()).await.is_err());
    let sealed = old.up.at_the_console::<MakeBackup>(request.clone()).await;

    let device = old.fresh.folder().device();
    assert!(sealed.verified(Some(&"0".repeat(64)), &request.to).is_err(), "another device");
    let other = Recipient::make().unwrap();
    assert!(sealed.verified(device.as_deref(), &other.public()).is_err(), "for another recipient");
    let another = old.up.at_the_console::<MakeBackup>(request.clone()).await;
    let mixed = SealedBackup { message: another.message, ..sealed.clone() };
    assert!(mixed.verified(device.as_deref(), &request.to).is_err(), "another message");

    let json = recipient.open(&sealed.verified(device.as_deref(), &request.to).unwrap()).unwrap();
    assert!(Backup::parse(&json).unwrap().has_identity());
    let log = old.fresh.log();
    assert!(log.contains("\"backup\"") && !log.contains(&sealed.message), "{log}");
}

#[tokio::test]
async fn a_halt_comes_with_the_backup() {
    let old = owned().await;
    let reason = Some("the pump leaks".to_owned());
    old.up.at_the_console::<SetHalt>(HaltRequest { reason, authorization: None }).await;
    let backup = old.backup(true).await;
    let new = Fresh::new();
    let up = new.starts().await;
    soon(client::restore(&wanted(&new, &up), &restore(&backup))).await.unwrap();
    up.stops().await;
    new.power_on(FAR);
    let up = new.starts().await;
    let halted = up.running.server.pipeline.services.halt.standing();
    assert_eq!(halted.and_then(|halt| halt.reason).as_deref(), Some("the pump leaks"));
}
