//! `gpio.*`: the pins of the 40-pin header by their Broadcom numbers (docs/contract/gpio.md).

mod configure_pin;
pub mod info;
mod list_pins;
mod pwm_info;
mod read_pin;
pub mod refusal;
mod release_pin;
mod set_pwm;
mod value;
mod wait_for_edge;
mod write_pin;

use crate::registry::{context::Context, row::ToolRow};
use agent::operations::pins::ReadPins;
use base::error::ToolError;
use contract::{
    access::{reach::Reach, way},
    values::Pin,
};
use hw::gpio::{lease::Owner, rules::Rules};
use serde::{Deserialize, Deserializer, de::Error};
use std::time::Duration;

pub static TOOLS: &[ToolRow] = &[
    ToolRow::of::<list_pins::ListPins>(),
    ToolRow::of::<read_pin::ReadPin>(),
    ToolRow::of::<wait_for_edge::WaitForEdge>(),
    ToolRow::of::<configure_pin::ConfigurePin>(),
    ToolRow::of::<write_pin::WritePin>(),
    ToolRow::of::<set_pwm::SetPwm>(),
    ToolRow::of::<release_pin::ReleasePin>(),
];

/// Default time that a lease lasts after its last use, in seconds, if no connection ends it.
const LEASE_SECONDS: u32 = 60;

/// A header pin: enforces `minimum` and `maximum` in the parser.
fn pin<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Pin, D::Error> {
    Pin::try_from(u64::deserialize(deserializer)?).map_err(D::Error::custom)
}

/// As [`pin`], for the lease time.
pub(super) fn lease_seconds<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u32>, D::Error> {
    within(Option::<u32>::deserialize(deserializer)?, 1, 3600, "seconds")
}

fn within<E: Error>(number: Option<u32>, least: u32, most: u32, unit: &str) -> Result<Option<u32>, E> {
    match number {
        Some(number) if !(least..=most).contains(&number) => {
            Err(E::custom(format!("{number} {unit} where {least} to {most} are allowed")))
        }
        number => Ok(number),
    }
}

/// How long a lease of this caller lasts after each use.
pub(super) fn lasts(cx: &Context, seconds: Option<u32>) -> Option<Duration> {
    let usual = cx.caller.presence.is_none().then_some(LEASE_SECONDS);
    seconds.or(usual).map(|seconds| Duration::from_secs(seconds.into()))
}

/// Whether this caller reaches the pin with one tool. A grant never opens the agent's and the reserved pins.
fn reaches(rules: &Rules, reach: &Reach, pin: Pin) -> bool {
    let grantable = !pin.is_reserved() && !rules.keeps(pin);
    reach.listed && rules.allows(pin) || grantable && reach.has_pin(pin.bcm())
}

/// Tells of a pin whether any tool may use it for this caller.
fn usable(cx: &Context) -> impl Fn(Pin) -> bool + use<'_> {
    let reach: Vec<Reach> = TOOLS.iter().map(|tool| cx.reach(tool.name())).collect();
    move |pin| reach.iter().any(|reach| reaches(&cx.services.gpio.rules, reach, pin))
}

/// The current state of a pin, for a caller for which it is `usable`.
fn look(cx: &Context, owner: &Owner, pin: Pin, usable: &dyn Fn(Pin) -> bool) -> Result<info::PinInfo, ToolError> {
    let info = info::PinInfo::look(&cx.services.gpio, owner, pin)?;
    Ok(info::PinInfo { allowed: usable(pin), ..info })
}

/// The state of a pin after a call of `tool`: without its level where policy does not let callers read one.
fn look_after(cx: &Context, tool: &str, owner: &Owner, pin: Pin) -> Result<info::PinInfo, ToolError> {
    let info = look(cx, owner, pin, &usable(cx))?;
    Ok(if cx.shows(tool, "gpio:read") { info } else { info::PinInfo { value: None, ..info } })
}

/// # Errors
/// `permission_denied` if neither a grant of this tool names the pin, nor `gpio.allow` where that counts for the caller.
fn permit(cx: &Context, tool: &str, pin: Pin, verb: &str) -> Result<(), ToolError> {
    let (rules, reach, number) = (&cx.services.gpio.rules, cx.reach(tool), pin.bcm());
    if reaches(rules, &reach, pin) {
        return Ok(());
    }
    let verbs = if verb == "read" { "read" } else { "write to" };
    let denied = ToolError::denied(format!("User is not allowed to {verbs} this GPIO pin"))
        .with("pin", number)
        .with("required_permission", format!("gpio:{verb}:{number}"));
    Err(if rules.keeps(pin) {
        denied
            .hint(format!("GPIO {number} belongs to the agent (approval.button_pin, approval.led_pin); no tool has it"))
    } else if pin.is_reserved() {
        denied.hint("GPIO 0 and 1 are reserved: add-on boards identify themselves there")
    } else if let Err(narrow) = reach.check_listed(&format!("GPIO {number}")) {
        denied.hint(narrow.advice())
    } else {
        let way = way::to_the_configuration(&cx.caller, &format!("add {number} to gpio.allow"));
        denied.hint(format!("gpio.list_pins lists the pins that may be used; {way}"))
    })
}

/// Prepares a call: refreshes the cached state of unused pins, and marks simulated answers.
async fn begin(cx: &Context, pin: Option<Pin>) -> Owner {
    cx.services.gpio.refresh(pin, || cx.services.agent.get::<ReadPins>()).await;
    if cx.services.machine.board.is_simulated() {
        cx.notes.simulated();
    }
    Owner::of(&cx.caller)
}
