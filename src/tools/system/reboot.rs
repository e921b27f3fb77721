//! `system.reboot`: a delayed restart by the agent (docs/contract/system.md).

use super::power::{self, Args, Out, call};
use crate::registry::{context::Context, tool::Tool};
use agent::PowerAction;
use base::error::ToolError;
use contract::meta::Meta;

pub struct Reboot;

impl Tool for Reboot {
    type Args = Args;
    type Out = Out;
    const META: Meta = Meta {
        name: "system.reboot",
        title: "Reboot the device",
        description: "Restart this device after a delay, or cancel that.\n\nUse when: the person asks for a restart, or an update needs one.\n\nReturns: whether it is scheduled, and when.\n\nNote: by default a person approves a restart (not a cancellation); connections end when it happens.",
        estimated_tokens: 60,
        tags: &["power", "restart"],
        ..Meta::RISKY
    };

    fn check(args: &Args) -> Result<(), ToolError> {
        power::check(args)
    }

    fn asks(args: &Args) -> bool {
        !args.cancel
    }

    async fn call(cx: &Context, args: Args) -> Result<Out, ToolError> {
        call(cx, PowerAction::Reboot, args).await
    }
}
