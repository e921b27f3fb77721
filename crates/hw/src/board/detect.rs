//! Detects the board from the configuration and the device tree.

use super::{Board, SimulatedBoard};
use crate::model::{BoardKind, BoardProfile, profile};
use base::os::{Root, command_line, cpuinfo};
use contract::config::BoardChoice as Choice;
use std::sync::Arc;

/// The two paths of the live device tree (`Documentation/ABI/testing/sysfs-firmware-ofw`).
const DEVICE_TREES: [&str; 2] = ["proc/device-tree", "sys/firmware/devicetree/base"];
const VENDOR: &str = "raspberrypi,";
/// Each marks an image with slots: the root's verification data for the initramfs, and the slot chosen by U-Boot
/// (docs/boot.md).
const APPLIANCE: [&str; 2] = ["raspi_mcp.verity", "raspi_mcp.slot"];

/// The configuration and the machine disagree.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("board = \"raspberry-pi\", but {found}; set board = \"auto\", \"linux\" or \"simulated\"")]
pub struct Conflict {
    /// What was detected.
    pub found: String,
}

pub(super) fn detect(choice: Choice, root: &Root) -> Result<Board, Conflict> {
    let compatible = compatible(root);
    let is_pi = compatible.first().is_some_and(|board| board.starts_with(VENDOR));
    let found = match compatible.first() {
        Some(board) => format!("the device tree says {board}"),
        None => "there is no device tree".to_owned(),
    };
    match choice {
        Choice::RaspberryPi if !is_pi => Err(Conflict { found }),
        Choice::RaspberryPi => Ok(raspberry_pi(root, &compatible, found)),
        Choice::Linux => Ok(linux(root, "the configuration says so".into())),
        Choice::Simulated => Ok(simulated("the configuration says so".into())),
        Choice::Auto if is_pi => Ok(raspberry_pi(root, &compatible, found)),
        Choice::Auto if is_appliance(root) => Ok(linux(root, format!("{found}, and this image was made for it"))),
        Choice::Auto if compatible.is_empty() => Ok(simulated(found)),
        Choice::Auto if has_gpio_chip(root) => Ok(linux(root, format!("{found}, and there is a GPIO chip"))),
        Choice::Auto => Ok(simulated(format!("{found}, and there is no GPIO chip"))),
    }
}

fn raspberry_pi(root: &Root, compatible: &[String], reason: String) -> Board {
    let profile = compatible.iter().find_map(|name| BoardProfile::of_compatible(name));
    let cpu = cpuinfo::read(root).unwrap_or_default();
    let model = tree_line(root, "model")
        .or(cpu.board)
        .unwrap_or_else(|| profile.map_or_else(|| compatible[0].clone(), |profile| profile.name.to_owned()));
    Board {
        kind: BoardKind::RaspberryPi,
        reason,
        model,
        serial: tree_line(root, "serial-number").or(cpu.serial),
        revision: cpu.revision.or_else(|| tree_revision(root)),
        profile,
        simulated: None,
    }
}

fn linux(root: &Root, reason: String) -> Board {
    let machine = |file: &str| root.line(&format!("sys/class/dmi/id/{file}")).ok();
    let model = tree_line(root, "model")
        .or_else(|| match (machine("sys_vendor"), machine("product_name")) {
            (Some(vendor), Some(product)) => Some(format!("{vendor} {product}")),
            (vendor, product) => product.or(vendor),
        })
        .or_else(|| cpuinfo::read(root).ok()?.model_name)
        .unwrap_or_else(|| "Linux machine without a model name".into());
    let serial = tree_line(root, "serial-number");
    Board { kind: BoardKind::Linux, reason, model, serial, revision: None, profile: None, simulated: None }
}

fn simulated(reason: String) -> Board {
    let profile = profile::simulated();
    Board {
        kind: BoardKind::Simulated,
        reason,
        model: format!("{} Rev 1.5 (simulated)", profile.name),
        serial: Some("10000000005ca1ab".into()),
        revision: Some("c03115".into()),
        profile: Some(profile),
        simulated: Some(Arc::new(SimulatedBoard::default())),
    }
}

/// The board's compatible names, most specific first. Empty without a device tree.
fn compatible(root: &Root) -> Vec<String> {
    let bytes = DEVICE_TREES.iter().find_map(|tree| root.read_bytes(&format!("{tree}/compatible")).ok());
    bytes
        .unwrap_or_default()
        .split(|byte| *byte == 0)
        .filter_map(|name| std::str::from_utf8(name).ok())
        .map(str::trim)
        .filter(|name| !name.is_empty())
        .map(str::to_owned)
        .collect()
}

fn tree_line(root: &Root, property: &str) -> Option<String> {
    DEVICE_TREES.iter().find_map(|tree| root.line(&format!("{tree}/{property}")).ok())
}

/// `/proc/device-tree/system/linux,revision`: the revision code as a big-endian number, for kernels that omit it from
/// `/proc/cpuinfo`.
fn tree_revision(root: &Root) -> Option<String> {
    let bytes = DEVICE_TREES.iter().find_map(|tree| root.read_bytes(&format!("{tree}/system/linux,revision")).ok())?;
    Some(format!("{:04x}", u32::from_be_bytes(bytes.try_into().ok()?)))
}

/// Whether the card has slots. Its identity and updates are real, even when the hardware is simulated or missing.
fn is_appliance(root: &Root) -> bool {
    APPLIANCE.iter().any(|name| command_line::argument(root, name).is_some())
}

fn has_gpio_chip(root: &Root) -> bool {
    root.list("dev").is_ok_and(|names| names.iter().any(|name| name.starts_with("gpiochip")))
}
