//! The device behind a sensor: its name, its bus and its driver, by the links of sysfs.

use super::port::SensorDevice;
use std::path::Path;

/// Longest part of a sensor's name that a chip or a device is.
const LONGEST_PART: usize = 30;

/// A device, and its name in the names of its sensors; that is empty for one that has no place of its own.
pub struct Found {
    pub about: SensorDevice,
    pub place: String,
}

/// The device at `path`, which may be a link or missing.
pub fn of(path: &Path) -> Found {
    let path = path.canonicalize().ok();
    let last = |path: &Path| Some(path.file_name()?.to_str()?.to_owned());
    let link = |name: &str| std::fs::read_link(path.as_ref()?.join(name)).ok();
    let name = path.as_deref().and_then(last);
    let subsystem = link("subsystem").as_deref().and_then(last);
    let (bus, address) = match (subsystem.as_deref(), &name) {
        // `1-0048`
        (Some("i2c"), Some(name)) => match name.split_once('-') {
            Some((bus, address)) => {
                let short = address.trim_start_matches('0');
                (Some(format!("i2c-{bus}")), Some(format!("0x{short:0>2}")))
            }
            None => (subsystem.clone(), Some(name.clone())),
        },
        _ => (subsystem.clone(), name.clone()),
    };
    let node = link("of_node").and_then(|node| {
        let node = node.to_str()?;
        Some(node.split_once("devicetree/base").map_or(node, |(_, node)| node).to_owned())
    });
    // A thermal zone has a number of its own, which a restart may change; its type is the chip's name.
    let is_numbered = subsystem.as_deref() == Some("thermal");
    let place = name.filter(|_| !is_numbered).map(|name| plain(&name)).unwrap_or_default();
    let about = SensorDevice { bus, address, driver: link("driver").as_deref().and_then(last), device_tree: node };
    Found { about, place }
}

/// A part of a sensor's name: no white space, no comma, no surprises.
pub fn plain(text: &str) -> String {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | ':' | '-');
    text.chars().take(LONGEST_PART).map(|c| if fits(c) { c } else { '_' }).collect()
}

/// `chip@place/channel`
pub fn name(chip: &str, place: &str, channel: &str) -> String {
    let (chip, channel) = (plain(chip), plain(channel));
    if place.is_empty() || place == chip { format!("{chip}/{channel}") } else { format!("{chip}@{place}/{channel}") }
}
