//! Accepts a newer root of trust, by the rules of the previous one, from any source. It is stored out of the server's
//! reach.

use crate::{
    context::Context,
    operations::{CARD, Operation},
};
use base::{error::ToolError, os::blocking};
use serde_json::json;
use std::time::Duration;
use update::{
    slots::{MOST_ROOTS, Step},
    trust::RootOfTrust,
};

/// Accepts `next`, the whole file of a signed root of trust, when it follows the current one. Returns its version.
/// Idempotent.
///
/// # Errors
/// `verification_failed` when it does not follow: too few signatures of the old keys or of the new ones, another
/// product, a number left out. `resource_exhausted` beyond the bound.
pub struct TrustRoot;

impl Operation for TrustRoot {
    const TAG: &'static str = "trust_root";
    const ANSWER: &'static str = "trusted_root";
    const WAITS: bool = true;
    /// The whole file.
    type Request = String;
    type Answer = u64;

    fn patience(_request: &String) -> Duration {
        CARD
    }

    async fn run(cx: &Context<'_>, next: String) -> Result<u64, ToolError> {
        let taken = take(cx, next).await;
        let version = taken.as_ref().ok();
        cx.noted(Self::TAG, json!({ "version": version }), taken)
    }
}

async fn take(cx: &Context<'_>, next: String) -> Result<u64, ToolError> {
    let system = cx.installer.system()?;
    blocking::run("update", move |_| {
        let now = system.roots()?;
        let known = RootOfTrust::unverified(next.as_bytes()).map_err(ToolError::from)?.0.version();
        if known == now.version() && system.record.ledger().state().roots.last() == Some(&next) {
            return Ok(known);
        }
        let version = now.accept(next.as_bytes()).map_err(ToolError::from)?.version();
        system.record.step(|state| {
            if state.roots.len() >= MOST_ROOTS {
                return Err(ToolError::exhausted(format!("{MOST_ROOTS} roots of trust are kept beyond the image's"))
                    .hint("install a newer image, which brings a newer root itself"));
            }
            let mut state = state.clone();
            state.roots.push(next.clone());
            Ok(Step { state: Some(state), ..Step::default() })
        })?;
        Ok(version)
    })
    .await
}
