//! Gives the rest of the card to the data partition, on the first boot: a card is larger than the image that was
//! written to it.
//!
//! Up to three sectors of the partition table are written, in an order that leaves a valid table if the power fails
//! after any of them ([`table`]). Then partx(8) updates the kernel, and resize2fs(8) grows the mounted file system.
//! Each step checks the current state first: it continues after an interruption, and does nothing when all is done. It
//! relies on a sector being written completely or not at all, as docs/boot.md says.

mod ext4;
pub mod table;

use base::{error::ToolError, os::Root};
use std::process::Command;
use table::{Bytes, SECTOR, Sector, Table};
use update::disk::{Access, BlockDevice, Layout, RealDisk};

/// A difference below this number of bytes is ignored: the last block group may be unused.
const SLACK: u64 = 1 << 20;

/// What was found and done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GrowReport {
    /// The data partition's device.
    pub device: String,
    /// Its size before, in bytes.
    pub before: u64,
    /// Its size now, in bytes; with `dry_run`, the size it would have.
    pub after: u64,
    /// Sectors of the table that were written, or would be.
    pub sectors: Vec<u64>,
    pub file_system: FileSystemResult,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileSystemResult {
    /// resize2fs extended it to the partition.
    Grown,
    /// It already fills the partition.
    Full,
    /// It is not mounted and will grow at a boot at which it is: otherwise resize2fs requires a check first, which the
    /// initramfs makes.
    NotMounted,
    /// There is no ext4 file system. It is not formatted here.
    NotExt4,
    /// Not changed.
    DryRun,
}

/// Runs a program and waits for it. The unit limits the time.
pub trait Programs {
    /// # Errors
    /// `unavailable` when it is missing or fails, with its output.
    fn run(&self, program: &str, arguments: &[&str]) -> Result<(), ToolError>;
}

/// The programs of the machine.
pub struct Real;

impl Programs for Real {
    fn run(&self, program: &str, arguments: &[&str]) -> Result<(), ToolError> {
        let failed = |why: String| ToolError::unavailable(format!("{program} {}: {why}", arguments.join(" ")));
        let output = Command::new(program).args(arguments).output().map_err(|fault| {
            failed(fault.to_string())
                .hint("util-linux has partx, e2fsprogs has resize2fs; an image with two slots needs both")
        })?;
        if output.status.success() {
            return Ok(());
        }
        let said = String::from_utf8_lossy(&output.stderr);
        Err(failed(format!("{}: {}", output.status, said.trim())))
    }
}

/// Extends the data partition of this machine's card to the end of the card.
///
/// # Errors
/// Those of finding the card (`capability_missing`: no disk has the layout) and of [`Table::read`];
/// `failed_precondition` for disks whose sectors do not have 512 bytes; `unavailable` when a sector does not read back
/// as written, the kernel keeps the old size, or a program fails.
pub fn grow(root: &Root, layout: &Layout, programs: &dyn Programs, dry_run: bool) -> Result<GrowReport, ToolError> {
    let number = layout.data.map(|data| data.number);
    let number =
        number.ok_or_else(|| ToolError::missing(format!("the layout {} has no data partition", layout.name)))?;
    let disk = RealDisk::new(root.clone(), layout.clone());
    let card = disk.card()?;
    if card.block_size != SECTOR {
        let why = format!("{} has sectors of {} bytes, a partition table counts 512", card.disk.name, card.block_size);
        return Err(ToolError::precondition(why).with("device", card.disk.name.clone()));
    }
    let data = disk.numbered(&card, number)?;
    let device = disk.whole(&card, if dry_run { Access::Read } else { Access::Shared })?;
    let table = Table::read(device.size() / SECTOR, layout, |at| {
        let mut bytes: Bytes = [0; SECTOR as usize];
        device.read_back(at * SECTOR, &mut bytes).map(|()| bytes)
    })?;
    let (writes, grown) = (table.writes(), table.grown());
    let mut report = GrowReport {
        device: data.name.clone(),
        before: table.data().size * SECTOR,
        after: grown.size * SECTOR,
        sectors: writes.iter().map(|sector| sector.at).collect(),
        file_system: FileSystemResult::DryRun,
    };
    if dry_run {
        return Ok(report);
    }
    for sector in &writes {
        write(device.as_ref(), sector)?;
    }
    let known = || data.sectors(root, "size").map_err(|fault| ToolError::unavailable(fault.to_string()));
    if known()? < grown.size {
        let path = format!("/dev/{}", card.disk.name);
        programs.run("partx", &["--update", "--nr", &number.to_string(), &path])?;
        if known()? < grown.size {
            return Err(ToolError::unavailable(format!("the kernel keeps the old size of {}", data.name))
                .hint("the table is written: it has the new one from the next start on"));
        }
    }
    let mut superblock = [0; ext4::LENGTH];
    let read = device.read_back(grown.start * SECTOR + ext4::SUPERBLOCK, &mut superblock);
    read.map_err(|fault| ToolError::unavailable(format!("{} cannot be read: {fault}", data.name)))?;
    report.file_system = match ext4::size(&superblock) {
        None => FileSystemResult::NotExt4,
        Some(size) if size.saturating_add(SLACK) > report.after => FileSystemResult::Full,
        Some(_) if !disk.mounted(&data)? => FileSystemResult::NotMounted,
        Some(_) => {
            programs.run("resize2fs", &[&format!("/dev/{}", data.name)])?;
            FileSystemResult::Grown
        }
    };
    Ok(report)
}

/// Writes a sector, flushes it and reads it back.
fn write(device: &dyn BlockDevice, sector: &Sector) -> Result<(), ToolError> {
    let at = sector.at * SECTOR;
    let mut back: Bytes = [0; SECTOR as usize];
    let written =
        device.write(at, &sector.bytes).and_then(|()| device.flush()).and_then(|()| device.read_back(at, &mut back));
    written.map_err(|fault| {
        ToolError::unavailable(format!("sector {} of the partition table cannot be written: {fault}", sector.at))
            .hint("the table is whole as it is; the next start tries again")
    })?;
    if back == sector.bytes {
        return Ok(());
    }
    Err(ToolError::unavailable(format!("sector {} of the partition table reads back as something else", sector.at))
        .hint("the card is failing: replace it"))
}
