//! `sensors.read`: values of sensors now, in their units.

use super::{NONE, mark, measured::Measured};
use crate::registry::{context::Context, tool::Tool};
use base::error::ToolError;
use contract::meta::{Listing, Meta};
use hw::sensors::{LONGEST_NAME, Reading, SensorReading, Wanted, is_onewire};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};
use std::time::Duration;

/// Most names in one call: as many 1-Wire thermometers take 24 seconds.
const MOST: usize = 32;
/// How long a call waits for another one: two of them take no longer than a tool may.
const PATIENCE: Duration = Duration::from_secs(8);

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {
    /// These, by their names of sensors.list.
    #[schemars(length(min = 1, max = MOST), inner(length(min = 1, max = LONGEST_NAME)))]
    #[serde(default, deserialize_with = "names")]
    names: Option<Vec<String>>,
    /// All that measure this; without both, all there are.
    #[serde(default)]
    quantity: Option<Measured>,
}

fn names<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Vec<String>>, D::Error> {
    let names = Option::<Vec<String>>::deserialize(deserializer)?;
    let fits = |name: &String| (1..=LONGEST_NAME).contains(&name.chars().count());
    if names.as_ref().is_none_or(|names| (1..=MOST).contains(&names.len()) && names.iter().all(fits)) {
        return Ok(names);
    }
    Err(D::Error::custom(format!("1 to {MOST} names of 1 to {LONGEST_NAME} characters are allowed")))
}

#[derive(Serialize, JsonSchema)]
pub struct Out {
    /// In the order of the names, else by name; what policy hides comes last.
    readings: Vec<ReadingOut>,
    /// What to know about this answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    note: Option<String>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(inline)]
struct ReadingOut {
    name: String,
    /// Absent when it could not be read, and for a sensor that has alarms only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "f64")]
    value: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    unit: Option<&'static str>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    label: Option<String>,
    /// Of the chip, in the same unit: lcrit, min, max, crit, emergency.
    #[serde(default, skip_serializing_if = "Vec::is_empty", serialize_with = "by_name")]
    #[schemars(with = "std::collections::BTreeMap<String, f64>")]
    limits: Vec<(&'static str, f64)>,
    /// Alarms of the chip that are on, like max_alarm.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "Vec<String>")]
    alarms: Vec<&'static str>,
    /// Why it could not be read: a code of the error table.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    error: Option<&'static str>,
    /// The same in words, with what to do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    message: Option<String>,
}

impl From<SensorReading> for ReadingOut {
    fn from(read: SensorReading) -> Self {
        let SensorReading { name, sensor, reading } = read;
        let (unit, label) = sensor.map(|sensor| (sensor.quantity.unit, sensor.label)).unzip();
        let (error, message) = match &reading {
            Ok(_) => (None, None),
            Err(error) => (Some(error.code.symbol()), Some(error.advice())),
        };
        let Reading { value, limits, alarms } = reading.unwrap_or_default();
        let (value, label) = (value.map(rounded), label.flatten());
        Self { name, value, unit, label, limits, alarms, error, message }
    }
}

fn by_name<S: Serializer>(limits: &[(&'static str, f64)], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(limits.iter().map(|(limit, at)| (limit, rounded(*at))))
}

/// Without the noise of a factor: nine decimals are finer than any sensor.
fn rounded(value: f64) -> f64 {
    if value.abs() < 1e6 { (value * 1e9).round() / 1e9 } else { value }
}

const HIDDEN: &str = "1-Wire sensors were not read: policy denies onewire:read, or has a person asked first";

/// What may be read of `wanted`, and the answers for the rest: policy about 1-Wire devices holds here too.
fn without_hidden(cx: &Context, wanted: Wanted) -> (Wanted, Vec<SensorReading>) {
    if cx.shows(Read::META.name, "onewire:read") {
        return (wanted, Vec::new());
    }
    let names = match wanted {
        Wanted::Names(names) => names,
        Wanted::Quantity(quantity) => {
            let mut there = cx.services.machine.sensors.list();
            there.retain(|sensor| quantity.is_none_or(|quantity| sensor.quantity == quantity));
            there.into_iter().map(|sensor| sensor.name).collect()
        }
    };
    let (hidden, shown): (Vec<String>, Vec<String>) = names.into_iter().partition(|name| is_onewire(name));
    let refusal = || ToolError::denied(HIDDEN).hint("the owner can change that line of [policy] in both halves");
    let told = |name| SensorReading { name, sensor: None, reading: Err(refusal()) };
    (Wanted::Names(shown), hidden.into_iter().map(told).collect())
}

pub struct Read;

impl Tool for Read {
    type Args = Args;
    type Out = Out;
    const META: Meta = Meta {
        name: "sensors.read",
        title: "Read sensors",
        description: "Read sensors now: by name, all of a quantity, or all.\n\nUse when: you want a measured value: humidity, pressure, a room's temperature, a fan's speed.\n\nReturns: each value with its unit, or why it could not be read.\n\nNote: a 1-Wire thermometer takes a second.",
        listing: Listing::Extra,
        estimated_tokens: 300,
        tags: &["sensors", "hardware", "temperature"],
        ..Meta::READ
    };

    fn check(args: &Args) -> Result<(), ToolError> {
        match (&args.names, args.quantity) {
            (Some(_), Some(_)) => Err(ToolError::ignored("quantity", "names")),
            _ => Ok(()),
        }
    }

    async fn call(cx: &Context, args: Args) -> Result<Out, ToolError> {
        mark(cx);
        let wanted = match args.names {
            Some(names) => Wanted::Names(names),
            None => Wanted::Quantity(args.quantity.map(|Measured(quantity)| quantity)),
        };
        let (wanted, hidden) = without_hidden(cx, wanted);
        let mut read = match wanted {
            Wanted::Names(names) if names.is_empty() => Vec::new(),
            wanted => cx.services.machine.sensors.read(Self::META.name, wanted, PATIENCE).await?,
        };
        let left_out = !hidden.is_empty();
        read.extend(hidden);
        let note = match args.quantity {
            _ if left_out => Some(HIDDEN.to_owned()),
            _ if !read.is_empty() => None,
            Some(Measured(quantity)) => {
                Some(format!("no sensor measures {}; sensors.list has those there are", quantity.word))
            }
            None => Some(NONE.to_owned()),
        };
        Ok(Out { readings: read.into_iter().map(ReadingOut::from).collect(), note })
    }
}
