//! The enrolled approvers, and the entries that only another release can read.

use crate::{approvers::Enrolled, context::Context, operations::Operation, peer::Callers};
use base::error::ToolError;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ApproversRequest {}

/// All approvers, in the order of their enrolment, and then what cannot be read.
pub struct ListApprovers;

impl Operation for ListApprovers {
    const TAG: &'static str = "list_approvers";
    const ANSWER: &'static str = "approvers";
    const CALLERS: Callers = Callers::Anyone;
    type Request = ApproversRequest;
    type Answer = Vec<Enrolled>;

    async fn run(cx: &Context<'_>, _request: ApproversRequest) -> Result<Vec<Enrolled>, ToolError> {
        Ok(cx.approvers.all())
    }
}
