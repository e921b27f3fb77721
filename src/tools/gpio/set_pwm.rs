//! `gpio.set_pwm`: outputs a square wave on a pin (docs/contract/gpio.md).

use super::{
    begin,
    info::stamp,
    lasts, lease_seconds, permit, pin,
    pwm_info::{PwmInfo, Requested},
    refusal::told,
};
use crate::registry::{context::Context, tool::Tool};
use base::{clock, error::ToolError, os::blocking};
use contract::{meta::Meta, values::Pin};
use hw::{
    gpio::{lease::HeldBy, wave::Waved},
    pwm::{
        Wave,
        port::{HIGHEST_HZ, LOWEST_HZ},
    },
};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, de::Error};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {
    /// The Broadcom number.
    #[schemars(with = "u8", range(min = 0, max = 27))]
    #[serde(deserialize_with = "pin")]
    pin: Pin,
    /// Waves a second.
    #[schemars(range(min = LOWEST_HZ, max = HIGHEST_HZ))]
    #[serde(deserialize_with = "frequency")]
    frequency_hz: f64,
    /// High for this part of each.
    #[schemars(range(min = 0.0, max = 100.0))]
    #[serde(deserialize_with = "percent")]
    duty_cycle_percent: f64,
    /// Lease without use, though you may have gone; by default 60 over HTTP, else the connection.
    #[schemars(range(min = 1, max = 3600))]
    #[serde(default, deserialize_with = "lease_seconds")]
    lease_seconds: Option<u32>,
}

fn frequency<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    between(f64::deserialize(deserializer)?, LOWEST_HZ, HIGHEST_HZ, "Hz")
}

fn percent<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    between(f64::deserialize(deserializer)?, 0.0, 100.0, "%")
}

fn between<E: Error>(number: f64, least: f64, most: f64, unit: &str) -> Result<f64, E> {
    if (least..=most).contains(&number) {
        return Ok(number);
    }
    Err(E::custom(format!("{number} {unit} where {least} to {most} are allowed")))
}

#[derive(Serialize, JsonSchema)]
pub struct Out {
    /// The Broadcom number.
    #[schemars(range(min = 0, max = 27))]
    pin: u8,
    /// What it makes.
    #[serde(flatten)]
    pwm: PwmInfo,
    /// What was asked for.
    requested: Requested,
    /// Why it is software's.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    /// How the pin would get hardware's.
    #[serde(skip_serializing_if = "Option::is_none")]
    remedy: Option<String>,
    /// When its lease ends unless it is used, UTC; absent where it ends with the connection.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "date-time"))]
    expires_at: Option<String>,
    /// What ends it, beside gpio.release_pin.
    #[serde(skip_serializing_if = "Option::is_none")]
    held_by: Option<HeldBy>,
    /// UTC.
    #[schemars(extend("format" = "date-time"))]
    timestamp: String,
}

pub struct SetPwm;

impl Tool for SetPwm {
    type Args = Args;
    type Out = Out;
    const META: Meta = Meta {
        name: "gpio.set_pwm",
        title: "PWM on a GPIO pin",
        description: "Make a square wave on a GPIO pin, by hardware where the pin has it, else by software up to 2 kHz.\n\nUse when: dimming, driving a servo or a fan; again to change it without a gap.\n\nReturns: frequency and duty as achieved, source, jitter.\n\nNote: lent like an output; gpio.release_pin ends it.",
        volatile: true,
        estimated_tokens: 120,
        tags: &["gpio", "pwm", "servo", "dimming"],
        ..Meta::WRITE
    };

    fn permit(cx: &Context, args: &Args) -> Result<(), ToolError> {
        permit(cx, Self::META.name, args.pin, "write")
    }

    async fn call(cx: &Context, args: Args) -> Result<Out, ToolError> {
        let (owner, lines, pin) = (begin(cx, Some(args.pin)).await, &cx.services.gpio, args.pin);
        blocking::go_on(Self::META.name)?;
        let Args { frequency_hz, duty_cycle_percent, .. } = args;
        let wave = Wave::of(frequency_hz, duty_cycle_percent)
            .ok_or_else(|| ToolError::invalid("frequency_hz and duty_cycle_percent are out of bounds"))?;
        let waved = lines.set_pwm(&owner, pin, wave, lasts(cx, args.lease_seconds)).await;
        let Waved { report, without, until, held_by } = waved.map_err(|refusal| told(pin, refusal))?;
        cx.notes.changed();
        let (reason, remedy) = without.map_or((None, None), |without| (Some(without.why), without.remedy));
        Ok(Out {
            pin: pin.bcm(),
            pwm: PwmInfo::of(&report),
            requested: Requested { frequency_hz, duty_cycle_percent },
            reason,
            remedy,
            expires_at: until.map(stamp),
            held_by,
            timestamp: clock::now(),
        })
    }
}
