//! `system.shutdown`: a delayed shutdown by the agent (docs/contract/system.md).

use super::power::{self, Args, Out, call};
use crate::registry::{context::Context, tool::Tool};
use agent::PowerAction;
use base::error::ToolError;
use contract::meta::{Meta, Mode};

pub struct Shutdown;

impl Tool for Shutdown {
    type Args = Args;
    type Out = Out;
    const META: Meta = Meta {
        name: "system.shutdown",
        title: "Switch the device off",
        description: "Shut this device down after a delay, or cancel that.\n\nUse when: the person wants it off, to move or unplug it; for a restart use system.reboot.\n\nReturns: whether it is scheduled, and when.\n\nNote: somebody at the device must give it power again. Denied until the owner's policy names it.",
        mode: Mode::Deny,
        estimated_tokens: 60,
        tags: &["power", "off"],
        ..Meta::RISKY
    };

    fn check(args: &Args) -> Result<(), ToolError> {
        power::check(args)
    }

    fn asks(args: &Args) -> bool {
        !args.cancel
    }

    async fn call(cx: &Context, args: Args) -> Result<Out, ToolError> {
        call(cx, PowerAction::Shutdown, args).await
    }
}
