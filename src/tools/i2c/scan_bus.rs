//! `i2c.scan_bus`: the devices that answer on a bus (docs/contract/i2c.md), probed as i2cdetect does.

use super::{args, granted, mark};
use crate::registry::{context::Context, tool::Tool};
use base::error::ToolError;
use contract::{config::HIGHEST_I2C_BUS, meta::Meta, values::I2cAddress};
use hw::i2c::{Addresses, BoundDevice, I2cError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {
    /// N of /dev/i2c-N.
    #[schemars(range(max = HIGHEST_I2C_BUS))]
    #[serde(deserialize_with = "args::bus")]
    bus: u32,
}

#[derive(Serialize, JsonSchema)]
pub struct Out {
    bus: u32,
    /// Those that answered, without the direction bit.
    #[schemars(inner(range(min = 0, max = 127)))]
    addresses: Vec<u8>,
    /// Those that drivers of the kernel have: they were not asked.
    in_use: Vec<DeviceInUse>,
    /// Ranges like "0x50-0x57" that were not asked, and why.
    skipped: Vec<Skipped>,
    /// Addresses where the adapter said something else than yes or no.
    unclear: Vec<Unclear>,
    /// Why it is empty.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    note: Option<String>,
}

/// A device that a driver has.
#[derive(Serialize, JsonSchema)]
#[schemars(inline)]
pub(super) struct DeviceInUse {
    #[schemars(range(min = 0, max = 127))]
    address: u8,
    /// e.g. "rtc-ds1307"
    driver: String,
    /// The part it drives, where the kernel says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    device: Option<String>,
}

impl From<BoundDevice> for DeviceInUse {
    fn from(holder: BoundDevice) -> Self {
        Self { address: holder.address, driver: holder.driver, device: holder.device }
    }
}

#[derive(Serialize, JsonSchema)]
#[schemars(inline)]
struct Skipped {
    reason: Reason,
    addresses: Vec<String>,
}

#[derive(Clone, Copy, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
enum Reason {
    /// Neither on the list of the configuration nor granted.
    NotAllowed,
    /// The adapter has no safe way to ask there.
    NoSafeWay,
}

#[derive(Serialize, JsonSchema)]
#[schemars(inline)]
struct Unclear {
    /// arbitration_lost, bus_busy, timeout, refused_by_adapter or io.
    fault: String,
    addresses: Vec<String>,
}

fn unclear(faults: Vec<(I2cAddress, I2cError)>) -> Vec<Unclear> {
    let mut by_fault: BTreeMap<&str, Addresses> = BTreeMap::new();
    for (address, fault) in &faults {
        let one: Addresses = [*address].into_iter().collect();
        let all = by_fault.entry(fault.word()).or_default();
        *all = all.and(one);
    }
    by_fault
        .into_iter()
        .map(|(fault, addresses)| Unclear { fault: fault.to_owned(), addresses: addresses.ranges() })
        .collect()
}

pub struct ScanBus;

impl Tool for ScanBus {
    type Args = Args;
    type Out = Out;
    const META: Meta = Meta {
        name: "i2c.scan_bus",
        title: "Scan an I2C bus",
        description: "Find who answers on an I2C bus.\n\nUse when: you look for a device.\n\nReturns: allowed addresses that answered, and those of kernel drivers (not asked).",
        estimated_tokens: 120,
        tags: &["i2c", "hardware", "bus", "discovery"],
        ..Meta::READ
    };

    fn permit(cx: &Context, args: &Args) -> Result<(), ToolError> {
        cx.services.i2c.allow().scannable(args.bus, granted(cx, Self::META.name, args.bus)).map(drop)
    }

    async fn call(cx: &Context, args: Args) -> Result<Out, ToolError> {
        mark(cx);
        let say = |asked: usize, of: usize| {
            cx.progress.say(asked as f64, Some(of as f64), "scan", format!("asked {asked} of {of} addresses"));
        };
        let more = granted(cx, Self::META.name, args.bus);
        let scan = cx.services.i2c.scan(Self::META.name, args.bus, more, say).await?;
        let skipped = [(Reason::NotAllowed, scan.not_allowed), (Reason::NoSafeWay, scan.no_way)];
        let nobody = scan.found.iter().next().is_none() && scan.held.is_empty();
        Ok(Out {
            note: nobody.then(|| {
                format!(
                    "nobody answered on bus {}: look at power, SDA and SCL, pull-ups, and what was skipped",
                    args.bus
                )
            }),
            bus: args.bus,
            addresses: scan.found.iter().map(I2cAddress::number).collect(),
            in_use: scan.held.into_iter().map(DeviceInUse::from).collect(),
            skipped: skipped
                .into_iter()
                .filter(|(_, addresses)| !addresses.is_empty())
                .map(|(reason, addresses)| Skipped { reason, addresses: addresses.ranges() })
                .collect(),
            unclear: unclear(scan.unclear),
        })
    }
}
