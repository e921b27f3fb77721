//! An order of the owner, signed with an enrolled key: what root does at a console, on machines that have none.

use super::RevokeRequest;
use crate::{
    FLEET, GRANTS, NewSetting, REVOKED,
    approvers::{Approver, Enrolled, NewApprover, SignedOrder},
    context::Context,
    halt::HaltActor,
    log::ATTEMPTS,
    operations::{CARD, Operation, backup, fleet::member as fleet, halt::HaltLifted},
    other_release_warning,
    peer::Callers,
};
use base::{error::ToolError, os::blocking};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use std::{sync::Arc, time::Duration};

/// Accepted from anybody: the signature counts, not who carries it. The answer has `text`, lines for people, and fields
/// for programs (docs/approvals.md).
pub struct PerformOrder;

impl Operation for PerformOrder {
    const TAG: &'static str = "perform_order";
    const ANSWER: &'static str = "ordered";
    const CALLERS: Callers = Callers::Carriers;
    const CHANGES: bool = true;
    type Request = SignedOrder;
    type Answer = Value;

    fn patience(_request: &SignedOrder) -> Duration {
        CARD
    }

    async fn run(cx: &Context<'_>, order: SignedOrder) -> Result<Value, ToolError> {
        let judged = owned(cx).and_then(|()| cx.approvers.order(&order));
        let (by, said) = judged.inspect_err(|error| {
            cx.log.attempt(
                "order refused",
                cx.peer,
                ATTEMPTS,
                || json!({ "key": order.key, "kind": order.kind, "reason": error.message }),
            );
        })?;
        let about = json!({
            "operation": said.operation, "args": said.args, "by": by.name, "kind": by.kind, "key": order.key,
        });
        let done = match said.args {
            Value::Object(args) => perform(cx, &by, &said.operation, args).await,
            _ => Err(unreadable("it is no object")),
        };
        cx.noted("order", about, done)
    }
}

/// Refuses on a machine without an owner: it serves nobody.
fn owned(cx: &Context<'_>) -> Result<(), ToolError> {
    match cx.settings.identity.standing() {
        Ok(None) => Ok(()),
        Ok(Some(appliance)) if appliance.claimed => Ok(()),
        _ => Err(ToolError::denied("this machine is unclaimed: it has no owner yet, and takes no orders")
            .with("unclaimed", true)
            .hint("claim it first (docs/claim.md)")),
    }
}

/// The table of operations. Those of the site's configuration are in the crate above ([`crate::SiteOrders`]).
async fn perform(
    cx: &Context<'_>,
    by: &Approver,
    operation: &str,
    args: Map<String, Value>,
) -> Result<Value, ToolError> {
    match operation {
        "lift_halt" => {
            nothing(&args)?;
            let actor = HaltActor { by: by.name.clone(), how: format!("{} key {}", by.kind.name(), by.key.id()) };
            let done = HaltLifted { lifted: cx.halt.lift(actor, cx.peer).await? };
            Ok(json!({ "lifted": done.lifted, "text": done.text() }))
        }
        "add_approver" => {
            let added = cx.approvers.add(read::<NewApprover>(args)?, &by.name)?;
            Ok(json!({ "approver": added.shown(), "text": added.added() }))
        }
        "revoke_approver" => {
            let gone = cx.approvers.revoke(&read::<RevokeRequest>(args)?.name)?;
            let left = cx.approvers.all();
            Ok(json!({ "approver": gone.shown(), "text": gone.revoked(&left) }))
        }
        "backup" => {
            let made = backup::ordered(cx, read(args)?).await?;
            Ok(json!({ "backup": made, "text": "a backup, sealed for the key that was signed" }))
        }
        "enroll_fleet" => fleet::enroll(cx, read(args)?).await,
        "join_fleet" => Ok(warned(cx, fleet::join(cx, read(args)?).await?, &FLEET).await),
        "list_approvers" => {
            nothing(&args)?;
            Ok(Enrolled::listed(&cx.approvers.device()?.0.id(), &cx.approvers.all()))
        }
        _ => {
            let mut done = on_site(cx, by, operation, args).await;
            if operation == "revoke_token" {
                record_revoked(cx, &mut done).await;
            }
            let done = done?;
            match operation {
                "allow" => Ok(warned(cx, done, &GRANTS).await),
                _ => Ok(done),
            }
        }
    }
}

/// Records the hashes of tokens that were revoked, also where that is an error because a running server does not notice.
async fn record_revoked(cx: &Context<'_>, done: &mut Result<Value, ToolError>) {
    let hashes = match done {
        Ok(done) => done.as_object_mut().and_then(|done| done.remove(REVOKED)),
        Err(error) => error.details.remove(REVOKED),
    };
    let Some(tokens) = hashes.and_then(|hashes| serde_json::from_value(hashes).ok()) else { return };
    let agent = Arc::clone(cx.agent);
    let kept = blocking::run("revoke", move |_| agent.approvers.tokens_revoked(tokens)).await;
    if let Err(error) = kept {
        tracing::error!(target: "agent", %error, "a backup from before would bring back the token that was revoked");
    }
}

/// An operation on the site's configuration.
async fn on_site(
    cx: &Context<'_>,
    by: &Approver,
    operation: &str,
    args: Map<String, Value>,
) -> Result<Value, ToolError> {
    let Some(site) = cx.settings.site.as_ref().map(Arc::clone) else {
        return Err(ToolError::precondition("the configuration of this device is one file, which its owner writes")
            .hint("change grants and tokens there"));
    };
    let (operation, by) = (operation.to_owned(), by.name.clone());
    blocking::run("order", move |_| {
        site.perform(&operation, args, &by).unwrap_or_else(|| {
            Err(ToolError::not_found(format!("this device knows no operation {operation:?}"))
                .hint("docs/approvals.md lists them; a newer version may know more"))
        })
    })
    .await
}

/// Adds what the release in the other slot makes of a setting.
async fn warned(cx: &Context<'_>, mut done: Value, setting: &NewSetting) -> Value {
    // Without slots there is no other release.
    let status = cx.installer.status().await.ok().filter(|status| !status.simulated);
    if let Some(warning) = status.and_then(|status| other_release_warning(&status, &cx.settings.state_dir, setting)) {
        done["text"] = json!(format!("{}\n{warning}", done["text"].as_str().unwrap_or_default()));
    }
    done
}

fn read<T: DeserializeOwned>(args: Map<String, Value>) -> Result<T, ToolError> {
    serde_json::from_value(Value::Object(args)).map_err(|error| unreadable(&error.to_string()))
}

fn unreadable(why: &str) -> ToolError {
    ToolError::invalid(format!("args cannot be read: {why}"))
        .with("name", "args")
        .hint("docs/approvals.md says which arguments an operation has")
}

fn nothing(args: &Map<String, Value>) -> Result<(), ToolError> {
    match args.keys().next() {
        None => Ok(()),
        Some(name) => Err(ToolError::ignored(name, "this operation has no arguments")),
    }
}
