//! Makes a small FAT file system in memory, for the factory disk of the simulated machine and for tests.

use super::FatType;

const SECTOR: usize = 512;
const ENTRIES: usize = 512;
const RESERVED: usize = 1;

/// The files do not fit, or one has a name that is not 8.3.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FatOverflow(pub String);

/// A file system of `size` bytes (whole sectors, at least 32 KiB) with these files in its root directory, one after the
/// other. FAT12 up to 4084 clusters of one sector, otherwise FAT16. Deterministic.
///
/// # Errors
/// [`FatOverflow`], naming the file.
pub fn make(size: usize, files: &[(&str, &[u8])]) -> Result<Vec<u8>, FatOverflow> {
    let all = size / SECTOR;
    // In this range the larger FAT16 would leave too few clusters for FAT16: the rest is not used.
    let sectors = if (4096..4200).contains(&all) { 4095 } else { all };
    let (kind, per_cluster) = match sectors {
        ..64 => return Err(FatOverflow(format!("{size} bytes are too few for a file system"))),
        64..4096 => (FatType::Fat12, 1),
        // Of the 16-bit numbers some are reserved for ends of chains.
        _ => (FatType::Fat16, (sectors / 65_000 + 1).next_power_of_two()),
    };
    let bits = if kind == FatType::Fat12 { 12 } else { 16 };
    let fat = ((sectors / per_cluster + 2) * bits).div_ceil(8 * SECTOR);
    let root_at = (RESERVED + 2 * fat) * SECTOR;
    let data_at = root_at + ENTRIES * 32;
    let mut image = vec![0; all * SECTOR];
    first_sector(&mut image, sectors, per_cluster, fat, kind);

    let mut table = vec![0xfff8_u16, 0xffff];
    for (number, (name, content)) in files.iter().enumerate() {
        let clusters = content.len().div_ceil(per_cluster * SECTOR);
        let first = table.len();
        let at = data_at + (first - 2) * per_cluster * SECTOR;
        let room = image.get_mut(..sectors * SECTOR).and_then(|used| used.get_mut(at..at + content.len()));
        let room = room.filter(|_| number < ENTRIES);
        room.ok_or_else(|| FatOverflow(format!("{name} does not fit")))?.copy_from_slice(content);
        let last = first + clusters;
        table.extend((first + 1..=last).map(|next| if next == last { 0xffff } else { next as u16 }));
        let entry = entry(name, if clusters == 0 { 0 } else { first }, content.len());
        let entry = entry.ok_or_else(|| FatOverflow(format!("{name} is no 8.3 name")))?;
        image[root_at + number * 32..][..32].copy_from_slice(&entry);
    }
    let table = packed(&table, kind);
    for copy in 0..2 {
        image[(RESERVED + copy * fat) * SECTOR..][..table.len()].copy_from_slice(&table);
    }
    Ok(image)
}

fn first_sector(image: &mut [u8], sectors: usize, per_cluster: usize, fat: usize, kind: FatType) {
    let mut put = |at: usize, bytes: &[u8]| image[at..at + bytes.len()].copy_from_slice(bytes);
    let half = |value: usize| u16::try_from(value).unwrap_or(0).to_le_bytes();
    put(0, &[0xeb, 0x3c, 0x90]);
    put(3, b"raspimcp");
    put(11, &half(SECTOR));
    put(13, &[per_cluster as u8]);
    put(14, &half(RESERVED));
    put(16, &[2]);
    put(17, &half(ENTRIES));
    // Either field: the 16-bit one if it fits.
    put(19, &half(sectors));
    put(21, &[0xf8]);
    put(22, &half(fat));
    // Sectors per track and heads: unused, but mtools requires them.
    put(24, &half(63));
    put(26, &half(255));
    if sectors > usize::from(u16::MAX) {
        put(32, &(sectors as u32).to_le_bytes());
    }
    put(36, &[0x80]);
    put(38, &[0x29]);
    put(43, b"NO NAME    ");
    put(54, if kind == FatType::Fat12 { b"FAT12   " } else { b"FAT16   " });
    put(510, &[0x55, 0xaa]);
}

fn packed(table: &[u16], kind: FatType) -> Vec<u8> {
    if kind == FatType::Fat16 {
        return table.iter().flat_map(|value| value.to_le_bytes()).collect();
    }
    let pair = |pair: &[u16]| {
        let (low, high) = (u32::from(pair[0] & 0xfff), u32::from(pair.get(1).copied().unwrap_or(0) & 0xfff));
        let [a, b, c, _] = (low | high << 12).to_le_bytes();
        [a, b, c]
    };
    table.chunks(2).flat_map(pair).collect()
}

/// Names are stored in upper case, as FAT requires.
fn entry(name: &str, cluster: usize, size: usize) -> Option<[u8; 32]> {
    let (base, extension) = name.split_once('.').unwrap_or((name, ""));
    let plain = |part: &str| part.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-~".contains(&byte));
    if base.is_empty() || base.len() > 8 || extension.len() > 3 || !plain(base) || !plain(extension) {
        return None;
    }
    let mut entry = [0; 32];
    entry[..11].fill(b' ');
    entry[..base.len()].copy_from_slice(base.to_ascii_uppercase().as_bytes());
    entry[8..8 + extension.len()].copy_from_slice(extension.to_ascii_uppercase().as_bytes());
    entry[11] = 0x20;
    entry[26..28].copy_from_slice(&u16::try_from(cluster).ok()?.to_le_bytes());
    entry[28..].copy_from_slice(&u32::try_from(size).ok()?.to_le_bytes());
    Some(entry)
}
