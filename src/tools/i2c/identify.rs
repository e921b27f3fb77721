//! `i2c.identify`: what the device at an address may be (docs/contract/i2c.md), by the table of [`hw::i2c`].

use super::{
    args::{self, ADDRESS, HIGHEST, LOWEST},
    granted, mark, permit,
    scan_bus::DeviceInUse,
};
use crate::registry::{context::Context, tool::Tool};
use base::error::ToolError;
use contract::{
    config::HIGHEST_I2C_BUS,
    meta::{Listing, Meta},
    values::I2cAddress,
};
use hw::i2c::{BoundDevice, Candidates, Chip, Confirmation, I2cAccessKind};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {
    /// N of /dev/i2c-N.
    #[schemars(range(max = HIGHEST_I2C_BUS))]
    #[serde(deserialize_with = "args::bus")]
    bus: u32,
    /// Without the direction bit: a data sheet's 0x90 is 72.
    #[schemars(with = "u8", range(min = LOWEST, max = HIGHEST))]
    #[serde(deserialize_with = "args::address")]
    address: I2cAddress,
    /// Read registers even where another chip would take their number as a command.
    #[serde(default)]
    force: bool,
}

#[derive(Serialize, JsonSchema)]
pub struct Out {
    bus: u32,
    #[schemars(range(max = ADDRESS))]
    address: u8,
    /// The kernel driver that has it; then it was not asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "DeviceInUse")]
    in_use: Option<DeviceInUse>,
    /// Chips usually found at that address, those confirmed first.
    candidates: Vec<CandidateOut>,
    /// What to know about this answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    note: Option<String>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(inline)]
struct CandidateOut {
    chip: &'static str,
    /// What it is.
    what: &'static str,
    identity: Identity,
    /// Of Linux.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    driver: Option<&'static str>,
    /// The line for config.txt that gives it a driver; its values are in sensors.list then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    overlay: Option<String>,
    /// Where this is from.
    source: &'static str,
}

/// What the chip's identity register says.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
enum Identity {
    Confirmed,
    NotAsked,
    /// It has none that tells it apart.
    NoRegister,
    /// It is another chip.
    Refuted,
}

impl CandidateOut {
    fn of((chip, state): (Chip, Confirmation), bus: u32, address: I2cAddress) -> Self {
        Self {
            chip: chip.name,
            what: chip.what,
            identity: match state {
                Confirmation::Confirmed => Identity::Confirmed,
                Confirmation::Refuted => Identity::Refuted,
                Confirmation::NotAsked => Identity::NotAsked,
                Confirmation::NoRegister => Identity::NoRegister,
            },
            driver: chip.driver(),
            overlay: chip.overlay(bus, address),
            source: chip.source,
        }
    }
}

/// Why the device was not asked, if it was not.
fn not_asked(cx: &Context, args: &Args, held: Option<&BoundDevice>, candidates: &Candidates) -> Option<String> {
    if let Some(held) = held {
        return Some(format!("not asked: the kernel driver {} has it; sensors.list may have its values", held.driver));
    }
    if candidates.chips.is_empty() {
        return Some("the table knows no chip at that address; what is printed on it says more".into());
    }
    if !candidates.can_be_asked() {
        return Some(
            "not asked: none of these has a register that tells it apart; what is printed on it says more".into(),
        );
    }
    // What i2c.read may read, or a grant of this tool.
    let own = granted(cx, Identify::META.name, args.bus).holds(args.address);
    if let Err(refusal) = permit(cx, "i2c.read", args.bus, args.address, I2cAccessKind::Read)
        && !own
    {
        return Some(format!("not asked: {}", refusal.advice()));
    }
    let name = candidates.hindered_by.filter(|_| !args.force)?;
    Some(format!(
        "not asked: if it is {name}, it would take a register's number as a command; force = true asks anyway"
    ))
}

pub struct Identify;

impl Tool for Identify {
    type Args = Args;
    type Out = Out;
    const META: Meta = Meta {
        name: "i2c.identify",
        title: "Identify an I2C device",
        description: "Say which chips a device at an I2C address may be.\n\nUse when: i2c.scan_bus found a device and you ask what it is, or how it gets a kernel driver.\n\nReturns: candidates, confirmed by identity registers where reading them is harmless and i2c.read may, with the dtoverlay= line of config.txt.",
        listing: Listing::Extra,
        estimated_tokens: 300,
        tags: &["i2c", "hardware", "discovery"],
        ..Meta::READ
    };

    async fn call(cx: &Context, args: Args) -> Result<Out, ToolError> {
        mark(cx);
        let (bus, address) = (args.bus, args.address);
        let i2c = &cx.services.i2c;
        let held = i2c.port().holders(bus).into_iter().find(|held| held.address == address.number());
        let mut candidates = Candidates::of(address);
        let mut note = not_asked(cx, &args, held.as_ref(), &candidates);
        if note.is_none() {
            i2c.confirm(Self::META.name, bus, address, &mut candidates).await?;
            let confirmed = candidates.chips.iter().any(|(_, state)| *state == Confirmation::Confirmed);
            note = (!confirmed)
                .then(|| "no identity register fits: it is one of those without, or another chip".to_owned());
        }
        let mut candidates: Vec<CandidateOut> =
            candidates.chips.into_iter().map(|chip| CandidateOut::of(chip, bus, address)).collect();
        base::sort::sort_by_key(&mut candidates, |candidate| candidate.identity);
        Ok(Out { bus, address: address.number(), in_use: held.map(DeviceInUse::from), candidates, note })
    }
}
