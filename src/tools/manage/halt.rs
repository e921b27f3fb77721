//! `manage.halt`: refuses every change until a person lifts it (docs/halt.md).

use crate::{
    registry::{context::Context, tool::Tool},
    tools::halted::HaltedBy,
};
use agent::operations::halt::{HaltRequest, SetHalt};
use base::error::ToolError;
use contract::{
    halt::{MAX_REASON, check_reason},
    meta::{Listing, Meta, Role},
};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, de::Error};

/// One line: no control characters (Unicode's category Cc).
const REASON: &str = r"^[^\x00-\x1f\x7f-\x9f]+$";

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {
    /// Why, in one line: told to everybody whose call is refused.
    #[schemars(with = "Option<String>", length(min = 1, max = MAX_REASON), regex(pattern = REASON))]
    #[serde(default, deserialize_with = "reason")]
    reason: Option<String>,
}

#[derive(Serialize, JsonSchema)]
pub struct Out {
    /// The halt that stands now: the first one, if there was one already.
    halted: HaltedBy,
    /// Whether the machine was halted before.
    already: bool,
    /// How many requests for a person's approval it denied.
    asks_denied: usize,
}

pub struct Halt;

impl Tool for Halt {
    type Args = Args;
    type Out = Out;
    const META: Meta = Meta {
        name: "manage.halt",
        title: "Halt the machine",
        description: "Refuse every change to this machine until a person lifts it.\n\nUse when: something goes wrong and nobody should change anything more.\n\nReturns: who halted it, when and why; how many pending approvals it denied.\n\nNote: no tool lifts it. Reads, updates, rollback and releasing pins go on.",
        listing: Listing::Extra,
        role: Role::Admin,
        estimated_tokens: 60,
        tags: &["safety", "stop"],
        ..Meta::WRITE
    };

    async fn call(cx: &Context, args: Args) -> Result<Out, ToolError> {
        let services = &cx.services;
        let request = HaltRequest { reason: args.reason, authorization: Some(cx.authorization()) };
        let done = services.agent.call::<SetHalt>(request).await?;
        if !done.already {
            cx.notes.changed();
        }
        if services.machine.board.is_simulated() {
            cx.notes.simulated();
        }
        // Before the answer: whoever has it finds the next change refused.
        services.halt.set(done.halted.clone()).await;
        Ok(Out { halted: done.halted.into(), already: done.already, asks_denied: done.denied })
    }
}

fn reason<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    let reason = Option::<String>::deserialize(deserializer)?;
    reason.as_deref().map_or(Ok(()), check_reason).map_err(|error| D::Error::custom(error.into_message()))?;
    Ok(reason)
}
