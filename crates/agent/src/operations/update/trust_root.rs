//! Accepts a newer root of trust, by the rules of the previous one, from any source. It is stored out of the server's
//! reach.

use crate::{
    context::Context,
    operations::{CARD, Operation},
};
use base::{
    error::{ErrorCode, ToolError},
    os::blocking,
};
use serde_json::json;
use std::time::Duration;
use update::{
    slots::{MOST_ROOTS, Step},
    trust::RootOfTrust,
};

/// Accepts `next`, the whole file of a signed root of trust, when it follows the current one. Returns its version.
/// Idempotent for each root that is held, not only for the newest.
///
/// # Errors
/// `verification_failed` when it does not follow: too few signatures of the old keys or of the new ones, another
/// product, a number left out, another root of a number that is held. `resource_exhausted` beyond the bound.
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
        let held = system.roots()?;
        let given = RootOfTrust::unverified(next.as_bytes()).map_err(ToolError::from)?.0.version();
        // The server's memory may be the shorter one: a factory reset takes it, and not this one.
        match held.after(given.saturating_sub(1)) {
            Some(text) if text == next => return Ok(given),
            Some(_) => {
                let message = format!("another root of trust of version {given} was accepted before");
                return Err(ToolError::new(ErrorCode::VerificationFailed, message)
                    .hint("publish a root only once under a number; the next one takes the next number"));
            }
            None => {}
        }
        let version = held.newest.accept(next.as_bytes()).map_err(ToolError::from)?.version();
        let chain = held.files();
        system.record.step(|state| {
            let mut state = state.clone();
            // Those that an image has overtaken make room.
            if state.roots.len() >= MOST_ROOTS {
                state.roots.clone_from(&chain);
            }
            if state.roots.len() >= MOST_ROOTS {
                return Err(ToolError::exhausted(format!("{MOST_ROOTS} roots of trust are kept beyond the image's"))
                    .hint("install a newer image, which brings a newer root itself"));
            }
            state.roots.push(next.clone());
            Ok(Step { state: Some(state), ..Step::default() })
        })?;
        Ok(version)
    })
    .await
}
