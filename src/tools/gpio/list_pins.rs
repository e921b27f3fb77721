//! `gpio.list_pins`: the usable pins and their current state.

use super::{begin, info::PinInfo, look, refusal::broken, usable};
use crate::registry::{context::Context, tool::Tool};
use base::error::ToolError;
use contract::{meta::Meta, values::Pin};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {
    /// Also those that may not be used.
    #[serde(default)]
    all: bool,
}

#[derive(Serialize, JsonSchema)]
pub struct Out {
    /// In the order of their numbers.
    pins: Vec<PinInfo>,
    /// The GPIO chip behind them.
    chip: String,
    /// Pins that a server before this one drove when it was killed, and that were put right at the start.
    #[serde(skip_serializing_if = "Option::is_none")]
    recovered: Option<Vec<u8>>,
    /// Why it is empty.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    note: Option<&'static str>,
}

const NONE_ALLOWED: &str =
    "no pin may be used yet: name some in gpio.allow in /etc/raspi-mcp and restart the server; all shows what there is";

pub struct ListPins;

impl Tool for ListPins {
    type Args = Args;
    type Out = Out;
    const META: Meta = Meta {
        name: "gpio.list_pins",
        title: "List GPIO pins",
        description: "List the GPIO pins that may be used, with mode, level and holder.\n\nUse when: choosing a pin, or asking who has one.\n\nReturns: pins by Broadcom number.",
        estimated_tokens: 1200,
        tags: &["gpio", "pins", "header"],
        resource_uri: Some("raspi://gpio"),
        ..Meta::READ
    };

    async fn call(cx: &Context, args: Args) -> Result<Out, ToolError> {
        let (owner, lines) = (begin(cx, None).await, &cx.services.gpio);
        let chip = lines.port().map_err(|fault| broken(None, fault))?.name();
        let usable = usable(cx);
        let wanted = Pin::all().filter(|pin| if args.all { !lines.rules.keeps(*pin) } else { usable(*pin) });
        let pins: Vec<PinInfo> = wanted.map(|pin| look(cx, &owner, pin, &usable)).collect::<Result<_, _>>()?;
        let note = (pins.is_empty() && !args.all).then_some(NONE_ALLOWED);
        let recovered: Vec<u8> = lines.recovered().iter().map(|pin| pin.bcm()).collect();
        Ok(Out { pins, chip, recovered: (!recovered.is_empty()).then_some(recovered), note })
    }
}
