//! `manage.mark_good`: commits a trial before its time, where every check agrees (notes on updates, rule 5).

use crate::{
    registry::{context::Context, tool::Tool},
    tools::none::NoArgs,
};
use ::update::{Slot, status::SlotState};
use agent::operations::update::{self, GetUpdateStatus, MarkGoodRequest};
use base::error::ToolError;
use contract::meta::Meta;
use schemars::JsonSchema;
use serde::Serialize;
use update_client::in_trial;

#[derive(Serialize, JsonSchema)]
pub struct Out {
    slot: Slot,
    version: Option<String>,
    state: SlotState,
    previous_state: SlotState,
}

pub struct MarkGood;

impl Tool for MarkGood {
    type Args = NoArgs;
    type Out = Out;
    const META: Meta = Meta {
        name: "manage.mark_good",
        title: "Keep the new system",
        description: "Commit the system that is on trial now, if all checks find it healthy.\n\nUse when: you cannot wait for the automatic commit.\n\nReturns: slot, version, state.\n\nNote: a sick trial is refused, with what is wrong.",
        timeout_seconds: 120,
        long: true,
        estimated_tokens: 60,
        tags: &["update", "commit"],
        ..Meta::RISKY
    };

    async fn call(cx: &Context, _: NoArgs) -> Result<Out, ToolError> {
        let updates = &cx.services.updates;
        // The last look below may be what commits the trial already.
        let trial = in_trial(&cx.services.agent.get::<GetUpdateStatus>().await?);
        // The same looks as the automatic commit takes, told to the agent, which has its own as well.
        updates.attest(&cx.services.machine).await?;
        let done =
            cx.services.agent.call::<update::MarkGood>(MarkGoodRequest { authorization: cx.authorization() }).await?;
        if done.simulated {
            cx.notes.simulated();
        }
        let previous_state = if trial == Some(done.slot) { SlotState::Trial } else { done.before };
        if previous_state != SlotState::Good {
            cx.notes.changed();
        }
        updates.news();
        Ok(Out { slot: done.slot, version: done.version, state: SlotState::Good, previous_state })
    }
}
