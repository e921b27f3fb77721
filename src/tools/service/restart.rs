//! `service.restart`: short form of `service.control_service` that restarts.

use super::control::{self, Args, Out};
use crate::registry::{context::Context, tool::Tool};
use agent::units::Action;
use base::error::ToolError;
use contract::meta::{Listing, Meta};

pub struct Restart;

impl Tool for Restart {
    type Args = Args;
    type Out = Out;
    const META: Meta = Meta {
        name: "service.restart",
        title: "Restart a service",
        description: "Restart a service, or start it if it is down.\n\nUse when: it hangs, or has a new configuration.\n\nReturns: its status now and before.\n\nNote: units that hang on it restart too.",
        listing: Listing::Extra,
        estimated_tokens: 60,
        ..control::META
    };

    fn permit(cx: &Context, args: &Args) -> Result<(), ToolError> {
        control::permit_short(cx, Self::META.name, args, Action::Restart)
    }

    async fn call(cx: &Context, args: Args) -> Result<Out, ToolError> {
        control::short(cx, args, Action::Restart).await
    }
}
