//! `service.stop`: short form of `service.control_service` that stops.

use super::control::{self, Args, Out};
use crate::registry::{context::Context, tool::Tool};
use agent::units::Action;
use base::error::ToolError;
use contract::meta::{Listing, Meta};

pub struct Stop;

impl Tool for Stop {
    type Args = Args;
    type Out = Out;
    const META: Meta = Meta {
        name: "service.stop",
        title: "Stop a service",
        description: "Stop a service and wait until it is down.\n\nUse when: it should not run for now.\n\nReturns: its status now and before.\n\nNote: refused while active services depend on it.",
        listing: Listing::Extra,
        estimated_tokens: 60,
        ..control::META
    };

    fn permit(cx: &Context, args: &Args) -> Result<(), ToolError> {
        control::permit_short(cx, Self::META.name, args, Action::Stop)
    }

    async fn call(cx: &Context, args: Args) -> Result<Out, ToolError> {
        control::short(cx, args, Action::Stop).await
    }
}
