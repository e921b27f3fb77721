//! Orders by which an appliance, which has no console, becomes a member of a fleet. Key and certificate lie with the identity.

use crate::context::Context;
use appliance::{Identity, certificate, identity::FleetMember};
use base::{base64url, error::ToolError, os::blocking};
use fleet_protocol::enrolment::{EnrolmentRequest, Membership};
use serde::Deserialize;
use serde_json::{Value, json};
use update::slots::Step;

/// Arguments of `enroll_fleet`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EnrollArgs {
    name: String,
    /// The fingerprint of the listener's certificate. The owner knows it, and signed the order with it.
    #[serde(default)]
    pin: Option<String>,
}

/// Makes the key of the connection, and the signed request. The membership before it goes on until the answer comes.
///
/// # Errors
/// `failed_precondition` on a machine that is no appliance; `invalid_argument` for the name; `unavailable` when the identity
/// cannot be written.
pub async fn enroll(cx: &Context<'_>, args: EnrollArgs) -> Result<Value, ToolError> {
    let key = certificate::connection_key()?;
    let public_key = base64url::encode(&key.public);
    let request = cx
        .approvers
        .sign_as_device(|_, _, device| EnrolmentRequest::sign(&args.name, &public_key, args.pin, device))?;
    change(cx, move |identity| {
        identity.fleet.new_key = Some(key.secret.clone());
        Ok(())
    })
    .await?;
    Ok(json!({ "request": request, "text": request }))
}

/// Takes the owner's answer.
///
/// # Errors
/// As [`enroll`]; `invalid_argument` for an answer that does not go with this machine's key: then nothing has changed.
pub async fn join(cx: &Context<'_>, membership: Membership) -> Result<Value, ToolError> {
    membership.check()?;
    let text = format!(
        "{} belongs to the fleet {} from the next start on; restart it: raspi-mcp call system.reboot",
        membership.device, membership.fleet
    );
    let settings = membership.fragment(&format!("{}/fleet-", cx.settings.identity.path().display()));
    change(cx, move |identity| {
        let fleet = &identity.fleet;
        let known = fleet.member.as_ref().map(|member| &member.key);
        let mut keys = fleet.new_key.iter().chain(known);
        let key = keys.find(|key| certificate::is_for(&membership.certificate, key)).cloned().ok_or_else(|| {
            ToolError::invalid("the certificate is for another key than this device's")
                .hint("sign the newest request: raspi-mcp fleet enroll makes one, and the key for it")
        })?;
        let (ca, certificate) = (membership.ca.clone(), membership.certificate.clone());
        identity.fleet.member = Some(FleetMember { key, ca, certificate, settings: settings.clone() });
        identity.fleet.new_key = None;
        Ok(())
    })
    .await?;
    Ok(json!({ "text": text }))
}

/// Changes the identity, in both copies, and the files derived from it.
async fn change(
    cx: &Context<'_>,
    change: impl Fn(&mut Identity) -> Result<(), ToolError> + Send + Sync + 'static,
) -> Result<(), ToolError> {
    if !cx.settings.identity.standing().is_ok_and(|standing| standing.is_some()) {
        return Err(ToolError::precondition("only an appliance takes this order; this machine has a console")
            .hint("run it there: raspi-mcp fleet enroll --name NAME, and then raspi-mcp fleet join FILE"));
    }
    let (system, folder) = (cx.installer.system()?, cx.settings.identity.clone());
    blocking::run("fleet", move |_| {
        let mut now = Identity::default();
        system.record.step(|state| {
            let (mut identity, _) = Identity::of(state);
            change(&mut identity)?;
            now = identity.clone();
            Ok(Step::to(identity.in_state(state)))
        })?;
        system.record.ledger().save_again(Identity::is_same)?;
        folder.write_fleet(&now)
    })
    .await
}
