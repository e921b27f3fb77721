//! Enrols the first approver of a machine that has an owner, by a code on its screen.

use crate::{
    approvers::{NewApprover, Vouched},
    context::{Agent, Context},
    operations::{Operation, claim::explained},
    units::{Action, JobMode},
};
use appliance::{ClaimRefusal, Code, CurrentClaim};
use base::{error::ToolError, os::blocking};
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::{
    sync::{Arc, PoisonError},
    time::Duration,
};

/// An admin asks for a code, or brings it with the approver.
#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EnrollRequest {
    /// The caller's principal as the server reports it, for the record.
    pub by: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approver: Option<NewApprover>,
}

/// The open code or, after the right one, the device's signature.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Enrolling {
    pub tries_left: u8,
    /// Seconds within which the code is taken.
    pub seconds: u64,
    /// For the approver that was enrolled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<Vouched>,
}

/// Without a code: shows one on the machine's screen and console. With it: enrols the approver.
///
/// # Errors
/// `failed_precondition` when there is an approver, no owner, or no code; `permission_denied` for a wrong code;
/// `resource_exhausted` after five wrong ones; `invalid_argument` for what is no code or no approver, which uses no
/// try; `unavailable` when something cannot be stored.
pub struct EnrollApprover;

/// Where the code is shown: the screen and the kernel's console.
const SCREENS: [&str; 2] = ["raspi-mcp-claim@tty1.service", "raspi-mcp-claim@console.service"];

impl Operation for EnrollApprover {
    const TAG: &'static str = "enroll_approver";
    const ANSWER: &'static str = "enrolling";
    const WAITS: bool = true;
    const CHANGES: bool = true;
    type Request = EnrollRequest;
    type Answer = Enrolling;

    fn patience(_request: &EnrollRequest) -> Duration {
        crate::operations::CARD
    }

    async fn run(cx: &Context<'_>, request: EnrollRequest) -> Result<Enrolling, ToolError> {
        let (agent, opens) = (Arc::clone(cx.agent), request.code.is_none());
        let about = json!({ "by": request.by, "approver": request.approver });
        let done =
            blocking::run("enrolment", move |_| {
                let _turn = agent.claims.turn.lock().unwrap_or_else(PoisonError::into_inner);
                agent.enrollable()?;
                match (request.code, request.approver) {
                    (None, None) => agent.open_enrolment(),
                    (Some(code), Some(approver)) => agent.enrolled_by(&code, approver, &request.by),
                    _ => Err(ToolError::invalid("an enrolment brings a code and an approver, or neither")
                        .with("name", "code")),
                }
            })
            .await;
        if opens && done.is_ok() {
            for screen in SCREENS {
                // A machine without a screen has a serial line, and one without both `raspi-mcp claim --show`.
                if let Err(error) = cx.units.act(screen, Action::Start, JobMode::Replace, None).await {
                    tracing::warn!(target: "agent", %error, screen, "does not show the enrolment code");
                }
            }
        }
        cx.noted(if opens { "enrolment opened" } else { "enroll_approver" }, about, done)
    }
}

impl Agent {
    /// Whether the first approver may be enrolled by a code.
    fn enrollable(&self) -> Result<(), ToolError> {
        if !self.approvers.is_empty() {
            return Err(ToolError::precondition("this machine has an approver: a code enrols only the first one")
                .hint("`raspi-mcp approver add` as root on the device enrols others"));
        }
        match self.claims.folder.standing() {
            Ok(Some(standing)) if standing.claimed => Ok(()),
            Ok(Some(_)) => Err(ToolError::precondition("this machine has no owner yet")
                .hint("claim it: `raspi-mcp claim … --approver FILE` brings the approver along")),
            _ => Err(ToolError::precondition("this is no appliance: it shows no codes")
                .hint("run `raspi-mcp approver add` as root on the device")),
        }
    }

    fn enrolling(&self, claim: &CurrentClaim, device: Option<Vouched>) -> Enrolling {
        let seconds = claim.until.saturating_sub((self.claims.boot)()).as_secs();
        Enrolling { tries_left: claim.tries_left, seconds, device }
    }

    /// Opens an enrolment; one that is open stays as it is, with its remaining tries.
    fn open_enrolment(&self) -> Result<Enrolling, ToolError> {
        let (folder, now) = (&self.claims.folder, (self.claims.boot)());
        if !folder.claim().is_ok_and(|claim| claim.is_some_and(|claim| now < claim.until)) {
            folder.close_claim()?;
            folder.open_claim(now + self.settings.claim_window)?;
        }
        let claim = folder.claim().ok().flatten();
        claim.map(|claim| self.enrolling(&claim, None)).ok_or_else(|| ToolError::internal("the code is gone again"))
    }

    fn enrolled_by(&self, code: &str, approver: NewApprover, by: &str) -> Result<Enrolling, ToolError> {
        approver.clone().checked(0, by)?;
        let code = Code::parse(code)?;
        let claim = self.claims.folder.tried(&code, (self.claims.boot)())?.map_err(|refusal| {
            let told = explained(refusal);
            if matches!(refusal, ClaimRefusal::Wrong { .. }) {
                return told;
            }
            told.hint("ask for another code once the time of this one is over: `raspi-mcp approver enroll`")
        })?;
        let device = self.approvers.vouch(&code.to_string(), Some(&approver.key))?;
        self.approvers.add(approver, &format!("a code on the screen, asked for by {by}"))?;
        self.claims.folder.close_claim()?;
        Ok(self.enrolling(&claim, Some(device)))
    }
}
