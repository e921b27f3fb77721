//! Hardware monitors: `/sys/class/hwmon` (Documentation/hwmon/sysfs-interface.rst).

use super::{
    attribute, device,
    port::{Reading, Sensor, Source},
    quantity::{ChannelType, HWMON, split},
};
use base::os::{Root, hwmon::W1_THERM};
use std::io;

const CLASS: &str = "sys/class/hwmon";
/// Limits that are shown, in the unit of the value.
pub const LIMITS: [&str; 5] = ["lcrit", "min", "max", "crit", "emergency"];
/// Flags of a channel.
pub const ALARMS: [&str; 7] =
    ["alarm", "lcrit_alarm", "min_alarm", "max_alarm", "crit_alarm", "emergency_alarm", "fault"];

/// Every channel of every chip.
pub fn list(root: &Root, into: &mut Vec<Sensor>) {
    for entry in root.list(CLASS).unwrap_or_default() {
        let folder = format!("{CLASS}/{entry}/");
        let chip = attribute::text(root, &format!("{folder}name"))
            .ok()
            .filter(|name| name.contains(|c: char| c.is_ascii_alphanumeric()))
            .unwrap_or_else(|| "hwmon".into());
        // What w1_therm registers here is read from its device (`super::w1`).
        if chip != W1_THERM {
            let names = root.list(&folder).unwrap_or_default();
            chip_channels(root, &folder, &chip, &names, into);
        }
    }
}

fn chip_channels(root: &Root, folder: &str, chip: &str, names: &[String], into: &mut Vec<Sensor>) {
    let found = device::of(&root.path(&format!("{folder}device")));
    let mut channels: Vec<(&'static ChannelType, u32, Source)> = Vec::new();
    for name in names {
        let Some((kind, number, suffix)) = split(HWMON, name) else { continue };
        let Ok(digits) = number.parse::<u32>() else { continue };
        let suffix = suffix.strip_prefix('_').unwrap_or(suffix);
        let is_value = match kind.0 {
            "pwm" => suffix.is_empty(),
            "power" => suffix == "input" || suffix == "average",
            _ => suffix == "input",
        };
        let limit = LIMITS.into_iter().find(|limit| *limit == suffix);
        let alarm = ALARMS.into_iter().find(|alarm| *alarm == suffix);
        if !is_value && limit.is_none() && alarm.is_none() {
            continue;
        }
        let known = channels.iter().position(|channel| channel.0.0 == kind.0 && channel.1 == digits);
        let at = known.unwrap_or_else(|| {
            let (folder, channel) = (folder.to_owned(), format!("{}{number}", kind.0));
            channels.push((kind, digits, Source { folder, factor: kind.2, channel, ..Source::default() }));
            channels.len() - 1
        });
        let source = &mut channels[at].2;
        // What is measured now comes before a mean of it; their order in the list is that of the alphabet.
        if is_value {
            source.file = Some(name.clone());
        }
        source.limits.extend(limit);
        source.alarms.extend(alarm);
    }
    // A channel that has limits only has nothing to say.
    channels.retain(|(.., source)| source.file.is_some() || !source.alarms.is_empty());
    let place = |kind: &ChannelType| HWMON.iter().position(|known| known.0 == kind.0);
    base::sort::sort_by_key(&mut channels, |(kind, number, _)| (place(kind), *number));
    into.extend(channels.into_iter().map(|(kind, _, source)| Sensor {
        name: device::name(chip, &found.place, &source.channel),
        quantity: kind.1,
        label: attribute::text(root, &format!("{folder}{}_label", source.channel)).ok().filter(|text| !text.is_empty()),
        chip: chip.to_owned(),
        interface: "hwmon",
        device: found.about.clone(),
        source,
    }));
}

/// One channel, with its limits and alarms. A limit that cannot be read is left out.
///
/// # Errors
/// As [`super::port::SensorPort::read`]; `InvalidData` while the chip reports a fault of the channel.
pub fn read(root: &Root, source: &Source) -> io::Result<Reading> {
    let Source { folder, channel, factor, .. } = source;
    let other = |suffix: &str| attribute::number(root, &format!("{folder}{channel}_{suffix}"));
    let alarms: Vec<&'static str> =
        source.alarms.iter().copied().filter(|alarm| other(alarm).is_ok_and(|state| state != 0.0)).collect();
    if alarms.contains(&"fault") {
        return Err(io::Error::new(
            io::ErrorKind::InvalidData,
            format!("the chip reports a fault of {channel}: is the sensor's wire off, or shorted?"),
        ));
    }
    let value = match &source.file {
        Some(file) => Some(attribute::number(root, &format!("{folder}{file}"))? * factor),
        // Without a value, the alarms are all there is: the device may be gone.
        None if !root.has(folder) => return Err(io::ErrorKind::NotFound.into()),
        None => None,
    };
    let limits = source.limits.iter().filter_map(|limit| Some((*limit, other(limit).ok()? * factor))).collect();
    Ok(Reading { value, limits, alarms })
}
