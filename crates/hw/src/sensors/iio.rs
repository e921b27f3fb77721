//! Industrial I/O: `/sys/bus/iio/devices` (Documentation/ABI/testing/sysfs-bus-iio).

use super::{
    attribute, device,
    port::{Reading, Sensor, Source},
    quantity::{DISTANCE, IIO, PROXIMITY, split},
};
use base::os::{Root, malformed};
use std::io;

const DEVICES: &str = "sys/bus/iio/devices";

/// Every input channel of every device.
pub fn list(root: &Root, into: &mut Vec<Sensor>) {
    let entries = root.list(DEVICES).unwrap_or_default();
    for entry in entries.iter().filter(|entry| entry.starts_with("iio:device")) {
        let folder = format!("{DEVICES}/{entry}/");
        let about = |file: &str| attribute::text(root, &format!("{folder}{file}")).ok().filter(|text| !text.is_empty());
        let chip = about("name").unwrap_or_else(|| "iio".into());
        let names = root.list(&folder).unwrap_or_default();
        // The part lies above its IIO device.
        let whole = root.path(&format!("{DEVICES}/{entry}")).canonicalize();
        let found = device::of(whole.as_ref().ok().and_then(|path| path.parent()).unwrap_or("".as_ref()));
        let has = |name: &String| names.contains(name);
        for name in &names {
            let Some((stem, kind)) = name.strip_prefix("in_").and_then(|rest| rest.rsplit_once('_')) else { continue };
            // What the driver has converted comes before what it measured.
            if kind != "input" && (kind != "raw" || has(&format!("in_{stem}_input"))) {
                continue;
            }
            let Some((channel, ..)) = split(IIO, stem) else { continue };
            let shared = |what: &str| {
                let without_digits: String = stem.chars().filter(|c| !c.is_ascii_digit()).collect();
                [
                    format!("in_{stem}_{what}"),
                    format!("in_{without_digits}_{what}"),
                    format!("in_{}_{what}", channel.0),
                    format!("in_{what}"),
                    what.to_owned(),
                ]
                .into_iter()
                .find(has)
            };
            let (scale, offset) = if kind == "raw" { (shared("scale"), shared("offset")) } else { (None, None) };
            // Without a scale it is a number that grows as something comes near; with one, it is meters.
            let is_far = *channel.1 == PROXIMITY && (kind == "input" || scale.is_some());
            into.push(Sensor {
                name: device::name(&chip, &found.place, stem),
                quantity: if is_far { &DISTANCE } else { channel.1 },
                label: about(&format!("in_{stem}_label")).or_else(|| about("label")),
                chip: chip.clone(),
                interface: "iio",
                device: found.about.clone(),
                source: Source {
                    folder: folder.clone(),
                    file: Some(name.clone()),
                    scale,
                    offset,
                    factor: channel.2,
                    ..Source::default()
                },
            });
        }
    }
}

/// `(raw + offset) * scale`, in the unit of the quantity.
///
/// # Errors
/// As [`super::port::SensorPort::read`].
pub fn read(root: &Root, source: &Source) -> io::Result<Reading> {
    let file = |name: &str| attribute::number(root, &format!("{}{name}", source.folder));
    let optional = |name: &Option<String>, or: f64| name.as_deref().map_or(Ok(or), file);
    let name = source.file.as_deref().unwrap_or_default();
    let value = (file(name)? + optional(&source.offset, 0.0)?) * optional(&source.scale, 1.0)? * source.factor;
    let value = attribute::plausible(value)
        .ok_or_else(|| malformed(&format!("{}{name}", source.folder), "with its scale it is no plausible number"))?;
    Ok(Reading { value: Some(value), ..Reading::default() })
}
