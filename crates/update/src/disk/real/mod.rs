//! The real card: block devices, found by the layout's signature and partition numbers, and opened exclusively where
//! needed.
//!
//! Writes to a shared area ([`Access::Shared`]) bypass the page cache, so that exactly those sectors are written and
//! not the page around them. Writes to an exclusive area go through the cache, which keeps the card busy. Below a root
//! that is not the machine's (a captured tree in a test) regular files stand for the devices.

mod find;
mod node;
mod sysfs;

pub use find::{FoundCard, root_argument};
pub use sysfs::SysfsBlock;

use super::{Access, Area, BlockDevice, Disk, Layout, Slot};
use base::{
    error::{ErrorCode, ToolError},
    os::Root,
};
use node::DeviceNode;
use sysfs::{blocks, holders, mounts};

/// The kernel's sector size, and the size of a copy of U-Boot's state, in bytes.
const SECTOR: u64 = 512;

/// The card of this machine. Looked up for every area: card readers come and go.
#[derive(Clone, Debug)]
pub struct RealDisk {
    root: Root,
    layout: Layout,
}

impl RealDisk {
    pub fn new(root: Root, layout: Layout) -> Self {
        Self { root, layout }
    }

    /// Finds the card.
    ///
    /// # Errors
    /// Those of [`FoundCard::find`].
    pub fn card(&self) -> Result<FoundCard, ToolError> {
        FoundCard::find(&self.root, &self.layout)
    }

    /// The whole card, for its partition table, which is in no area.
    ///
    /// # Errors
    /// Those of opening the node.
    pub fn whole(&self, card: &FoundCard, access: Access) -> Result<Box<dyn BlockDevice>, ToolError> {
        let sectors = card.disk.sectors(&self.root, "size");
        let size = sectors.map_err(|fault| ToolError::unavailable(fault.to_string()))?.saturating_mul(SECTOR);
        let node = DeviceNode { root: &self.root, block: &card.disk, offset: 0, size, block_size: card.block_size };
        node.open(access).map_err(|error| error.with("device", card.disk.name.clone()))
    }

    /// The card's partition with that number, which need not be an area of the layout.
    ///
    /// # Errors
    /// `failed_precondition` when there is none, `unavailable` when the disks cannot be listed.
    pub fn numbered(&self, card: &FoundCard, number: u8) -> Result<SysfsBlock, ToolError> {
        let all =
            blocks(&self.root).map_err(|fault| ToolError::unavailable(format!("no disks can be listed: {fault}")))?;
        let found = all.into_iter().find(|block| block.disk == card.disk.name && block.number == Some(number));
        found.ok_or_else(|| ToolError::precondition(format!("{} has no partition {number}", card.disk.name)))
    }

    /// Whether it is mounted writable.
    ///
    /// # Errors
    /// `unavailable` when the mounts cannot be read.
    pub fn mounted(&self, block: &SysfsBlock) -> Result<bool, ToolError> {
        let mounted = mounts(&self.root)
            .map_err(|fault| ToolError::unavailable(format!("nobody says what is mounted: {fault}")))?;
        Ok(mounted.iter().any(|mount| mount.dev == block.dev && !mount.read_only))
    }

    /// Refuses an area in use, naming its user.
    fn free(&self, card: &FoundCard, area: Area, block: &SysfsBlock, access: Access) -> Result<(), ToolError> {
        let held = |why: String, hint: &str| {
            Err(ToolError::new(ErrorCode::Conflict, why)
                .with("area", area.name())
                .with("device", block.name.clone())
                .hint(hint))
        };
        let mounted = mounts(&self.root).map_err(|fault| {
            ToolError::unavailable(format!("nobody says what is mounted: {fault}")).with("area", area.name())
        })?;
        let on =
            |mount: &&sysfs::MountInfo| mount.dev == block.dev && (access == Access::Exclusive || !mount.read_only);
        if let Some(mount) = mounted.iter().find(on) {
            let how = if mount.read_only { "mounted" } else { "mounted read-write" };
            let why = format!("{} ({}) is {how} at {}", area.name(), block.name, mount.point);
            return held(why, "unmount it, and keep the automounter from it: it is the update engine's");
        }
        if access != Access::Exclusive {
            return Ok(());
        }
        if let Area::Boot(slot) | Area::Root(slot) = area
            && card.running(&self.root, &self.layout).contains(&slot)
        {
            return held(format!("{}: slot {slot} is running", area.name()), "only the other slot is written");
        }
        match holders(&self.root, block).first() {
            Some(holder) => {
                let why = format!("{} ({}) is in use by {holder}", area.name(), block.name);
                held(why, "stop what uses it: it is the update engine's")
            }
            None => Ok(()),
        }
    }
}

impl Disk for RealDisk {
    fn open(&self, area: Area, access: Access) -> Result<Box<dyn BlockDevice>, ToolError> {
        let card = self.card()?;
        let missing = || ToolError::missing(format!("the layout has no {} area", area.name()));
        let (block, offset, size) = match area {
            Area::UbootCopy(copy) => {
                let at = self.layout.uboot_state.get(usize::from(copy)).copied();
                (card.disk.clone(), at.ok_or_else(missing)?, SECTOR)
            }
            _ => {
                let block = match area {
                    Area::Data => self.numbered(&card, self.layout.data.ok_or_else(missing)?.number)?,
                    _ => {
                        let number = self.layout.partition(area).ok_or_else(missing)?.number;
                        let block = card.partitions.iter().find(|block| block.number == Some(number)).cloned();
                        block.ok_or_else(|| ToolError::internal("a card without a partition of its layout"))?
                    }
                };
                let sectors = block.sectors(&self.root, "size");
                let sectors = sectors.map_err(|fault| ToolError::unavailable(fault.to_string()))?;
                (block, 0, sectors.saturating_mul(SECTOR))
            }
        };
        if access != Access::Read {
            self.free(&card, area, &block, access)?;
        }
        let node = DeviceNode { root: &self.root, block: &block, offset, size, block_size: card.block_size };
        node.open(access).map_err(|error| error.with("area", area.name()).with("device", block.name.clone()))
    }
}

/// The slot whose root is mounted; by the mounts, otherwise by the kernel's command line. `Err` says why it is unknown.
pub fn root_slot(root: &Root, layout: &Layout) -> Result<Slot, String> {
    let card = FoundCard::find(root, layout).map_err(|error| error.into_message());
    let mounted = card.as_ref().ok().and_then(|card| card.root);
    mounted.or_else(|| root_argument(root, layout)).ok_or_else(|| match card {
        Ok(_) => "what is mounted at / belongs to no slot".into(),
        Err(why) => why,
    })
}
