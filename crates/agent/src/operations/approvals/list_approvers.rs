//! The enrolled approvers.

use crate::{approvers::Approver, context::Context, operations::Operation, peer::Callers};
use base::error::ToolError;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ApproversRequest {}

/// All approvers, in the order of their enrolment.
pub struct ListApprovers;

impl Operation for ListApprovers {
    const TAG: &'static str = "list_approvers";
    const ANSWER: &'static str = "approvers";
    const CALLERS: Callers = Callers::Anyone;
    type Request = ApproversRequest;
    type Answer = Vec<Approver>;

    async fn run(cx: &Context<'_>, _request: ApproversRequest) -> Result<Vec<Approver>, ToolError> {
        Ok(cx.approvers.list())
    }
}
