//! The layout file: which partition is which area (`dist/layout.toml`, docs/boot.md).

use super::{Area, Slot};
use base::error::ToolError;
use serde::Deserialize;
use std::path::{Path, PathBuf};

/// The built-in layout; an image may bring its own file.
const SHIPPED: &str = include_str!("../../../../dist/layout.toml");
/// Limit of a layout file in bytes.
const LONGEST: u64 = 64 << 10;
const SECTOR: u64 = 512;
/// Most partitions supported in an MBR with its chain of extended partitions.
const MOST_PARTITIONS: u8 = 15;

/// The positions of everything on the card.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    /// As in a manifest's `layout`.
    pub name: String,
    /// The MBR's signature.
    pub disk: u32,
    /// No partition begins before this byte.
    pub first_partition: u64,
    /// Byte offsets of U-Boot's two copies on the disk.
    pub uboot_state: [u64; 2],
    /// An image of the config partition in the root file system, from which a damaged one is restored.
    pub config_template: Option<PathBuf>,
    /// The partition that belongs to no slot and grows on the first boot.
    pub data: Option<Data>,
    partitions: Vec<Partition>,
}

/// The data partition. The update engine does not use it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Data {
    pub number: u8,
    /// The type byte in the partition table.
    pub kind: u8,
}

/// A partition that the update engine uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Partition {
    pub number: u8,
    pub area: Area,
    /// The type byte in the partition table.
    pub kind: u8,
    /// Minimum size in bytes; 0 when the image builder decides.
    pub size: u64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    name: String,
    disk: String,
    first_partition: u64,
    uboot_state: [u64; 2],
    #[serde(default)]
    config_template: Option<PathBuf>,
    partition: Vec<Entry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    number: u8,
    area: String,
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    size: u64,
}

impl Layout {
    /// The built-in layout.
    ///
    /// # Errors
    /// `internal` if it is invalid; a test checks it.
    pub fn shipped() -> Result<Self, ToolError> {
        Self::parse(SHIPPED).map_err(|why| ToolError::internal(format!("the layout that is built in is wrong: {why}")))
    }

    /// Reads a file's layout, or the built-in one if there is no file.
    ///
    /// # Errors
    /// Those of [`Layout::read`].
    pub fn of(path: &Path) -> Result<Self, ToolError> {
        if path.exists() { Self::read(path) } else { Self::shipped() }
    }

    /// Reads a file's layout.
    ///
    /// # Errors
    /// `unavailable` when it cannot be read, `failed_precondition` when it is invalid, both naming the file.
    pub fn read(path: &Path) -> Result<Self, ToolError> {
        use std::io::Read;
        let mut text = String::new();
        std::fs::File::open(path).and_then(|file| file.take(LONGEST).read_to_string(&mut text)).map_err(|fault| {
            ToolError::unavailable(format!("the layout {} cannot be read: {fault}", path.display()))
                .hint("set update.layout to the layout of this image")
        })?;
        Self::parse(&text).map_err(|why| {
            ToolError::precondition(format!("the layout {} cannot be used: {why}", path.display()))
                .hint("docs/boot.md says what a layout has; dist/layout.toml is one")
        })
    }

    /// # Errors
    /// Why it is invalid, for people.
    pub fn parse(text: &str) -> Result<Self, String> {
        let file: File = toml::from_str(text).map_err(|error| error.to_string().trim_end().replace('\n', " "))?;
        let disk = hex(&file.disk, 8).ok_or_else(|| format!("disk \"{}\" is not 8 hexadecimal digits", file.disk))?;
        let [one, two] = file.uboot_state;
        let apart = one + SECTOR <= two && two.saturating_add(SECTOR) <= file.first_partition;
        // The first sector has the partition table.
        if one < SECTOR || !apart || [one, two, file.first_partition].iter().any(|at| at % SECTOR != 0) {
            return Err("uboot_state has to be two sectors between the partition table and first_partition".into());
        }
        let mut partitions: Vec<Partition> = Vec::new();
        let mut data: Option<Data> = None;
        for entry in &file.partition {
            let kind = hex(&entry.kind, 2).and_then(|kind| u8::try_from(kind).ok());
            let kind = kind.ok_or_else(|| format!("type \"{}\" is not 2 hexadecimal digits", entry.kind))?;
            if !(1..=MOST_PARTITIONS).contains(&entry.number) {
                return Err(format!("partition {} is none of an MBR's 1 to {MOST_PARTITIONS}", entry.number));
            }
            if entry.area == Area::Data.name() {
                if data.replace(Data { number: entry.number, kind }).is_some() {
                    return Err(format!("partition {} ({}) is there twice", entry.number, entry.area));
                }
                continue;
            }
            let area = AREAS.into_iter().find(|area| area.name() == entry.area);
            let area = area.ok_or_else(|| format!("\"{}\" is no area", entry.area))?;
            if partitions.iter().any(|other| other.number == entry.number || other.area == area) {
                return Err(format!("partition {} ({}) is there twice", entry.number, entry.area));
            }
            partitions.push(Partition { number: entry.number, area, kind, size: entry.size });
        }
        if data.is_some_and(|data| partitions.iter().any(|other| other.number == data.number)) {
            return Err("the number of the data partition is there twice".into());
        }
        if file.config_template.as_ref().is_some_and(|path| !path.is_absolute()) {
            return Err("config_template has to be a full path".into());
        }
        if let Some(area) = AREAS.into_iter().find(|area| !partitions.iter().any(|other| other.area == *area)) {
            return Err(format!("no partition is the area \"{}\"", area.name()));
        }
        Ok(Self {
            name: file.name,
            disk,
            first_partition: file.first_partition,
            uboot_state: file.uboot_state,
            config_template: file.config_template,
            data,
            partitions,
        })
    }

    pub fn partitions(&self) -> &[Partition] {
        &self.partitions
    }

    /// The partition of an area; `None` for U-Boot's copies, which are outside of partitions, and for [`Layout::data`].
    pub fn partition(&self, area: Area) -> Option<&Partition> {
        self.partitions.iter().find(|partition| partition.area == area)
    }

    pub fn number(&self, number: u8) -> Option<&Partition> {
        self.partitions.iter().find(|partition| partition.number == number)
    }

    /// The slot whose boot files are on that partition.
    pub fn boots(&self, number: u8) -> Option<Slot> {
        match self.number(number)?.area {
            Area::Boot(slot) => Some(slot),
            _ => None,
        }
    }

    /// The number of the partition with a slot's boot files.
    pub fn boot_number(&self, slot: Slot) -> Option<u8> {
        self.partition(Area::Boot(slot)).map(|partition| partition.number)
    }

    /// In the kernel's form: `72706d63-05`.
    pub fn part_uuid(&self, number: u8) -> String {
        format!("{:08x}-{number:02x}", self.disk)
    }
}

const AREAS: [Area; 6] = [
    Area::Config,
    Area::Boot(Slot::A),
    Area::Boot(Slot::B),
    Area::Root(Slot::A),
    Area::Root(Slot::B),
    Area::AgentState,
];

fn hex(text: &str, digits: usize) -> Option<u32> {
    let plain = text.len() == digits && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    u32::from_str_radix(text, 16).ok().filter(|_| plain)
}
