//! The size of an ext4 file system, from four numbers of its superblock (Documentation/filesystems/ext4/super.rst).

/// Offset of the superblock in the partition, and the number of bytes read, in bytes.
pub const SUPERBLOCK: u64 = 1024;
pub const LENGTH: usize = 1024;
const MAGIC: [u8; 2] = [0x53, 0xef];
/// The flag for 64-bit block numbers.
const WIDE: u32 = 0x80;
/// Maximum of the shift for the block size of 1 KiB; the kernel supports up to 64 KiB.
const LARGEST: u32 = 6;

/// Bytes of the file system. `None`: not ext4.
pub fn size(superblock: &[u8; LENGTH]) -> Option<u64> {
    let word =
        |at: usize| u32::from_le_bytes([superblock[at], superblock[at + 1], superblock[at + 2], superblock[at + 3]]);
    let shift = word(0x18);
    if superblock[0x38..0x3a] != MAGIC || shift > LARGEST {
        return None;
    }
    let high = if word(0x60) & WIDE == 0 { 0 } else { word(0x150) };
    let blocks = u64::from(high) << 32 | u64::from(word(0x04));
    blocks.checked_mul(1024 << shift)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_superblock_says_its_size_and_anything_else_is_none() {
        let mut superblock = [0; LENGTH];
        assert_eq!(size(&superblock), None);
        superblock[0x38..0x3a].copy_from_slice(&MAGIC);
        superblock[4..8].copy_from_slice(&16_384_u32.to_le_bytes());
        superblock[0x18] = 2;
        assert_eq!(size(&superblock), Some(64 << 20));
        // The upper half is used only if the flag is set.
        superblock[0x150] = 1;
        assert_eq!(size(&superblock), Some(64 << 20));
        superblock[0x60] = 0x80;
        assert_eq!(size(&superblock), Some((64 << 20) + (1 << 44)));
        superblock[0x18] = 7;
        assert_eq!(size(&superblock), None);
        superblock[0x18] = 6;
        superblock[0x150..0x154].fill(0xff);
        superblock[4..8].fill(0xff);
        assert_eq!(size(&superblock), None, "more bytes than a number has");
    }
}
