//! Finds the card: the disk with the layout's partition table, and the running slot.

use super::sysfs::{SysfsBlock, blocks, made_of, mounts};
use crate::{
    Slot,
    disk::{Area, Layout, booted_partition},
};
use base::{
    error::{ErrorCode, ToolError},
    os::{Root, command_line::argument},
};
use std::{
    fs::File,
    io::{self, Read},
};

const SECTOR: u64 = 512;

/// The card, as found now.
#[derive(Debug)]
pub struct FoundCard {
    pub disk: SysfsBlock,
    /// The layout's partitions.
    pub partitions: Vec<SysfsBlock>,
    /// The slot whose root is mounted at `/`.
    pub root: Option<Slot>,
    /// The smallest unit of reads and writes, in bytes.
    pub block_size: u64,
}

impl FoundCard {
    /// # Errors
    /// `capability_missing` when no disk has the layout's signature, `failed_precondition` when one has it but is
    /// partitioned differently, `conflict` when two match and the one in use cannot be determined.
    pub fn find(root: &Root, layout: &Layout) -> Result<Self, ToolError> {
        let all = blocks(root).map_err(|fault| ToolError::unavailable(format!("no disks can be listed: {fault}")))?;
        let (mut fitting, mut reasons) = (Vec::new(), Vec::new());
        for disk in all.iter().filter(|block| block.number.is_none()) {
            let parts: Vec<&SysfsBlock> =
                all.iter().filter(|block| block.disk == disk.name && block.number.is_some()).collect();
            if parts.is_empty() {
                continue;
            }
            match fits(root, layout, disk, &parts) {
                Ok(Some(partitions)) => fitting.push((disk.clone(), partitions)),
                Ok(None) => {}
                Err(why) => reasons.push(format!("{}: {why}", disk.name)),
            }
        }
        // A copy of the card may be in a reader: the running one is used.
        let below = below_root(root, &all);
        if fitting.len() > 1 {
            fitting.retain(|(_, partitions)| partitions.iter().any(|part| below.contains(part)));
            if fitting.len() != 1 {
                return Err(ToolError::new(ErrorCode::Conflict, "more than one disk has the layout of this card")
                    .hint("unplug the copy: two disks with the same signature cannot be told apart"));
            }
        }
        let Some((disk, partitions)) = fitting.pop() else { return Err(none(layout, &reasons)) };
        let slot_of = |block: &SysfsBlock| match layout.number(block.number?)?.area {
            Area::Root(slot) => Some(slot),
            _ => None,
        };
        let root_slot = partitions.iter().filter(|part| below.contains(part)).find_map(slot_of);
        let block_size = root.number(&format!("sys/block/{}/queue/logical_block_size", disk.name));
        let block_size = block_size.ok().and_then(|size| u64::try_from(size).ok());
        let block_size = block_size.filter(|size| size.is_power_of_two() && (SECTOR..=4096).contains(size));
        Ok(Self { disk, partitions, root: root_slot, block_size: block_size.unwrap_or(SECTOR) })
    }

    /// All slots that may be running by any evidence, so that none of them is written.
    pub fn running(&self, root: &Root, layout: &Layout) -> Vec<Slot> {
        let told = argument(root, "raspi_mcp.slot");
        let told = Slot::BOTH.into_iter().find(|slot| told.as_deref() == Some(slot.name()));
        let booted = booted_partition(root).and_then(|number| layout.boots(number));
        [self.root, root_argument(root, layout), told, booted].into_iter().flatten().collect()
    }
}

/// The slot that the kernel's command line tells it to mount.
pub fn root_argument(root: &Root, layout: &Layout) -> Option<Slot> {
    let wanted = argument(root, "root")?;
    let wanted = wanted.strip_prefix("PARTUUID=")?;
    layout.partitions().iter().find_map(|partition| match partition.area {
        Area::Root(slot) if wanted.eq_ignore_ascii_case(&layout.part_uuid(partition.number)) => Some(slot),
        _ => None,
    })
}

fn none(layout: &Layout, reasons: &[String]) -> ToolError {
    if reasons.is_empty() {
        return ToolError::missing(format!(
            "no disk here has the layout {} (signature {:08x})",
            layout.name, layout.disk
        ))
        .hint("updates of whole images need an image with two slots; packages are updated by apt");
    }
    ToolError::precondition(format!("no disk here has the layout {}: {}", layout.name, reasons.join("; ")))
        .hint("write the image anew, or set update.layout to the layout it was made with")
}

/// The partitions of the layout, if the disk has its signature; `Err` if it has but something else is wrong.
fn fits(
    root: &Root,
    layout: &Layout,
    disk: &SysfsBlock,
    parts: &[&SysfsBlock],
) -> Result<Option<Vec<SysfsBlock>>, String> {
    let mut table = [0; SECTOR as usize];
    let read = File::open(root.path(&format!("dev/{}", disk.name))).and_then(|mut file| file.read_exact(&mut table));
    match read {
        Ok(()) => {}
        // A drive without a medium, or one that the unit's sandbox hides.
        Err(fault) if fault.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        Err(fault) => return Err(format!("its partition table cannot be read: {fault}")),
    }
    let signature = u32::from_le_bytes([table[440], table[441], table[442], table[443]]);
    if table[510..] != [0x55, 0xaa] || signature != layout.disk {
        return Ok(None);
    }
    let mut found = Vec::new();
    for wanted in layout.partitions() {
        let number = wanted.number;
        let part = parts.iter().find(|part| part.number == Some(number));
        let part = part.ok_or_else(|| format!("it has no partition {number} ({})", wanted.area.name()))?;
        // Logical partitions have their type in sectors of their own, spread over the disk.
        let kind = table.get(446 + 16 * (usize::from(number) - 1) + 4).filter(|_| number <= 4);
        if let Some(kind) = kind.filter(|kind| **kind != wanted.kind) {
            return Err(format!("partition {number} has type {kind:02x}, the layout {:02x}", wanted.kind));
        }
        let bytes = |what: &str| {
            let sectors = part.sectors(root, what).map_err(|fault| fault.to_string())?;
            Ok::<_, String>(sectors.saturating_mul(SECTOR))
        };
        let (start, size) = (bytes("start")?, bytes("size")?);
        if start < layout.first_partition {
            return Err(format!(
                "partition {number} begins at byte {start}, the first may at {}",
                layout.first_partition
            ));
        }
        if size < wanted.size.max(SECTOR) {
            return Err(format!("partition {number} has {size} bytes, the layout wants {}", wanted.size.max(SECTOR)));
        }
        found.push((*part).clone());
    }
    Ok(Some(found))
}

/// The partitions below the mount at `/`. An overlay has no device of its own: then everything mounted from a disk
/// counts.
fn below_root(root: &Root, all: &[SysfsBlock]) -> Vec<SysfsBlock> {
    let mounts = mounts(root).unwrap_or_default();
    let made = |dev: &str| made_of(root, all, dev).into_iter().cloned().collect::<Vec<_>>();
    // The last one covers those before it.
    let direct = mounts.iter().rfind(|mount| mount.point == "/").map(|mount| made(&mount.dev)).unwrap_or_default();
    if direct.is_empty() { mounts.iter().flat_map(|mount| made(&mount.dev)).collect() } else { direct }
}
