//! `service.start`: short form of `service.control_service` that starts.

use super::control::{self, Args, Out};
use crate::registry::{context::Context, tool::Tool};
use agent::units::Action;
use base::error::ToolError;
use contract::meta::{Listing, Meta};

pub struct Start;

impl Tool for Start {
    type Args = Args;
    type Out = Out;
    const META: Meta = Meta {
        name: "service.start",
        title: "Start a service",
        description: "Start a service and wait until it is up.\n\nUse when: it is down and should run.\n\nReturns: its status now and before.\n\nNote: service.control_service has more options.",
        listing: Listing::Extra,
        estimated_tokens: 60,
        ..control::META
    };

    fn permit(cx: &Context, args: &Args) -> Result<(), ToolError> {
        control::permit_short(cx, Self::META.name, args, Action::Start)
    }

    async fn call(cx: &Context, args: Args) -> Result<Out, ToolError> {
        control::short(cx, args, Action::Start).await
    }
}
