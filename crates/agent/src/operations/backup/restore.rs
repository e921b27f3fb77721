//! Restores a backup on a machine without an owner: the claim code seals it, and so is not sent.

use crate::{
    approvers,
    claims::ClaimService,
    context::Context,
    operations::{
        CARD, Operation,
        claim::{claim_log, explained},
    },
    power::PowerOrder,
};
use appliance::{
    ClaimRefusal, Identity,
    backup::{Restore, left_out, restored, transfer::open_by},
    claim::claimed_already,
};
use base::{base64url, error::ToolError, os::blocking};
use serde::{Deserialize, Serialize};
use std::{
    sync::{Arc, PoisonError},
    time::Duration,
};
use update::slots::Step;

/// Seconds until the restart: the answer reaches its caller first.
const RESTART_SECONDS: u32 = 2;

/// What a client brings.
#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RestoreRequest {
    /// A [`Restore`] under the claim code, as `appliance::backup::transfer::seal_for` makes it; base64url.
    pub sealed: String,
    /// The client's address as the server reports it, for the log.
    pub from: String,
}

/// It is recorded. The machine is the restored one once it has restarted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Restored {
    /// The machine's name, if it has one.
    pub name: Option<String>,
    /// Whether it restarts by itself.
    pub restarts: bool,
    /// What of the backup was left out because it was revoked: `token:laptop`, `approver:anna`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<String>,
}

/// Uses one attempt for what is sealed. What the code opens is recorded in one write, with the owner; the machine then
/// restarts and writes its files.
///
/// # Errors
/// `permission_denied` for another code; `invalid_argument` for what is not base64url, which uses no attempt; those of
/// `appliance::backup::restored`, which use none either and change nothing; else as `Claim`.
pub struct RestoreBackup;

impl Operation for RestoreBackup {
    const TAG: &'static str = "restore_backup";
    const ANSWER: &'static str = "restored";
    const WAITS: bool = true;
    const CHANGES: bool = true;
    type Request = RestoreRequest;
    type Answer = Restored;

    fn patience(_request: &RestoreRequest) -> Duration {
        CARD
    }

    async fn run(cx: &Context<'_>, request: RestoreRequest) -> Result<Restored, ToolError> {
        let (system, ClaimService { folder, boot, turn }) = (cx.installer.system()?, &cx.claims);
        let (folder, boot, turn) = (folder.clone(), Arc::clone(boot), Arc::clone(turn));
        let (log, agent) = (claim_log(cx, &request.from), Arc::clone(cx.agent));
        blocking::run("restore", move |_| {
            let _turn = turn.lock().unwrap_or_else(PoisonError::into_inner);
            if Identity::of(system.record.ledger().state()).0.claimed {
                return Err(claimed_already());
            }
            let sealed = base64url::decode(&request.sealed)
                .ok_or_else(|| ToolError::invalid("sealed is not base64url").with("name", "sealed"))?;
            let json = match folder.tried_with(boot(), |claim| open_by(&claim.code, &sealed))? {
                Ok(json) => json,
                Err(refusal) => {
                    if let ClaimRefusal::Wrong { .. } = refusal {
                        log("restore", "wrong", Some(refusal))?;
                    }
                    return Err(explained(refusal));
                }
            };
            let restore = Restore::parse(&json)?;
            restore.approver.as_ref().map_or(Ok(()), approvers::check)?;
            let product = &agent.settings.update.product;
            let (mut name, mut without) = (None, Vec::new());
            system.record.step(|state| {
                let next = restored(&restore.backup, state, product, |identity| restore.over(identity))?;
                name = Identity::of(&next).0.name;
                without = left_out(&restore.backup, state);
                Ok(Step::to(next))
            })?;
            log("restored", "ok", None)?;
            system.record.ledger().save_again(Identity::is_same)?;
            // Nobody else gets in until the restart.
            folder.close_claim()?;
            let order = PowerOrder::reboot(RESTART_SECONDS, "a backup was restored".to_owned(), "claim".to_owned());
            let restart = agent.power.schedule(order);
            if let Err(error) = &restart {
                tracing::error!(target: "agent", %error, "a backup was restored, and the machine does not restart by itself");
            }
            Ok(Restored { name, restarts: restart.is_ok(), left_out: without })
        })
        .await
    }
}

impl std::fmt::Debug for RestoreRequest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("RestoreRequest(…)")
    }
}
