//! Makes a backup, sealed to a key that a person made for it.

use crate::{
    approvers::ApproverKey,
    context::Context,
    operations::{CARD, Operation},
    peer::{Callers, PeerKind},
};
use appliance::backup::{
    BackupSource, collect,
    transfer::{seal_to, signed_bytes},
};
use base::{
    base64url,
    error::{ErrorCode, ToolError},
    os::blocking,
};
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::time::Duration;
use update::slots::StateRecord;

/// What a backup shall have, and who opens it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BackupRequest {
    /// With the keys by which clients, approvers and the fleet know the device.
    #[serde(default)]
    pub identity: bool,
    /// A key of X25519 that was made for this backup: base64url of 32 bytes.
    pub to: String,
}

/// A backup on its way. The half that carries it reads nothing of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SealedBackup {
    /// As [`seal_to`] made it; base64url.
    pub message: String,
    /// The device's key, and its signature over [`signed_bytes`]; base64url.
    pub key: ApproverKey,
    pub signature: String,
    /// A sentence for each thing that is not in it.
    pub left_out: Vec<String>,
}

impl SealedBackup {
    /// The message, if this device made it for the key `to`.
    ///
    /// # Errors
    /// `verification_failed` for another device than `device` (64 hexadecimal digits), and for a wrong signature.
    pub fn verified(&self, device: Option<&str>, to: &str) -> Result<Vec<u8>, ToolError> {
        let failed = |why: &str| {
            ToolError::new(ErrorCode::VerificationFailed, why.to_owned())
                .hint("compare the device's ID with the one on its own screen; a taken-over server may answer there")
        };
        if device.is_some_and(|device| !device.eq_ignore_ascii_case(&self.key.id())) {
            return Err(failed("another device made this backup"));
        }
        let message = base64url::decode(&self.message).ok_or_else(|| failed("the backup is not base64url"))?;
        let signature = base64url::decode(&self.signature).unwrap_or_default();
        if !self.key.verifies(&signed_bytes(to, &message), &signature) {
            return Err(failed("the device did not sign this backup"));
        }
        Ok(message)
    }
}

/// For root at the machine; for members of the approver group without the identity. Others sign an order, whose
/// operation `backup` has the same arguments (docs/approvals.md).
///
/// # Errors
/// `permission_denied` for the identity without root; `invalid_argument` for a wrong key; `unavailable` when something
/// cannot be read.
pub struct MakeBackup;

impl Operation for MakeBackup {
    const TAG: &'static str = "make_backup";
    const ANSWER: &'static str = "sealed_backup";
    const CALLERS: Callers = Callers::Approvers { command: "raspi-mcp backup" };
    const WAITS: bool = true;
    type Request = BackupRequest;
    type Answer = SealedBackup;

    fn patience(_request: &BackupRequest) -> Duration {
        CARD
    }

    async fn run(cx: &Context<'_>, request: BackupRequest) -> Result<SealedBackup, ToolError> {
        let about = json!({ "identity": request.identity });
        let all = cx.peer.is_root() || cx.peer.standing == PeerKind::SimulatedOwner;
        let done = if request.identity && !all {
            Err(ToolError::denied(format!("{} may not have the identity of this machine", cx.peer.name))
                .hint("run `raspi-mcp backup --identity` as root, or sign for it with an enrolled key: --url, --key, --device"))
        } else {
            ordered(cx, request).await
        };
        cx.noted("backup", about, done)
    }
}

/// Makes it for whoever may have it: that was judged.
///
/// # Errors
/// As [`MakeBackup`].
pub(crate) async fn ordered(cx: &Context<'_>, request: BackupRequest) -> Result<SealedBackup, ToolError> {
    let agent = std::sync::Arc::clone(cx.agent);
    blocking::run("backup", move |_| {
        let state = match agent.installer.system() {
            Ok(system) => system.record.ledger().state().clone(),
            // A machine without slots keeps nothing there.
            Err(error) if error.code == ErrorCode::CapabilityMissing => StateRecord::default(),
            Err(error) => return Err(error),
        };
        let (settings, key) = (&agent.settings, agent.approvers.device()?.0);
        let sources = settings.reload.sources();
        let nowhere = settings.state_dir.join("no-site");
        let source = BackupSource {
            state: &state,
            root: &settings.root,
            site: sources.as_ref().map_or(&nowhere, |sources| &sources.places.site_dir),
            agent: &settings.state_dir,
            product: &settings.update.product,
            device: &key.id(),
            now_ms: (agent.clock)(),
        };
        let (backup, mut left_out) = collect(&source, request.identity)?;
        if sources.is_none() {
            left_out.push("not in the backup: the configuration, which is one file that its owner writes".into());
        }
        let message = seal_to(&request.to, &backup.json()?)?;
        let signed = signed_bytes(&request.to, &message);
        let signature = agent.approvers.sign_as_device(|_, _, key| Ok(base64url::encode(&key.sign(&signed))))?;
        Ok(SealedBackup { message: base64url::encode(&message), key, signature, left_out })
    })
    .await
}
