//! A FAT16 maker, as plain as can be: clusters of one sector, files one after the other.

const SECTOR: usize = 512;
pub const CLUSTER: usize = SECTOR;
const ROOT_ENTRIES: usize = 512;

pub struct Fat {
    image: Vec<u8>,
    fat_at: usize,
    fat_size: usize,
    root_at: usize,
    data_at: usize,
    next: usize,
}

pub fn fat16(size: usize, files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut fat = Fat::new(size);
    let mut folders: Vec<(&str, usize, usize)> = Vec::new();
    let mut root = 0;
    for (path, content) in files {
        match path.split_once('/') {
            None => {
                let cluster = fat.store(content);
                fat.entry(fat.root_at + 32 * root, path, 0x20, cluster, content.len());
                root += 1;
            }
            Some((folder, name)) => {
                let known = folders.iter().position(|(known, ..)| *known == folder).unwrap_or_else(|| {
                    let cluster = fat.store(&[0; CLUSTER]);
                    fat.entry(fat.root_at + 32 * root, folder, 0x10, cluster, 0);
                    root += 1;
                    folders.push((folder, cluster, 0));
                    folders.len() - 1
                });
                let cluster = fat.store(content);
                let at = fat.data_at + (folders[known].1 - 2) * CLUSTER + 32 * folders[known].2;
                fat.entry(at, name, 0x20, cluster, content.len());
                folders[known].2 += 1;
            }
        }
    }
    fat.image
}

impl Fat {
    pub fn new(size: usize) -> Self {
        assert!(size.is_multiple_of(CLUSTER) && (4 << 20..=30 << 20).contains(&size), "{size}");
        let sectors = size / SECTOR;
        let fat_sectors = (sectors * 2).div_ceil(SECTOR);
        let fat_at = 4 * SECTOR;
        let root_at = fat_at + 2 * fat_sectors * SECTOR;
        let data_at = root_at + ROOT_ENTRIES * 32;
        let mut image = vec![0; size];
        image[..11].copy_from_slice(b"\xeb\x3c\x90raspitst");
        image[11..13].copy_from_slice(&(SECTOR as u16).to_le_bytes());
        image[13] = (CLUSTER / SECTOR) as u8;
        image[14..16].copy_from_slice(&4u16.to_le_bytes());
        image[16] = 2;
        image[17..19].copy_from_slice(&(ROOT_ENTRIES as u16).to_le_bytes());
        image[21] = 0xf8;
        image[22..24].copy_from_slice(&(fat_sectors as u16).to_le_bytes());
        image[32..36].copy_from_slice(&(sectors as u32).to_le_bytes());
        image[38] = 0x29;
        image[54..62].copy_from_slice(b"FAT16   ");
        image[510..512].copy_from_slice(&[0x55, 0xaa]);
        let mut fat = Self { image, fat_at, fat_size: fat_sectors * SECTOR, root_at, data_at, next: 2 };
        fat.link(0, 0xfff8);
        fat.link(1, 0xffff);
        fat
    }

    /// Puts a file's content into clusters; its first one (0 for an empty file).
    pub fn store(&mut self, content: &[u8]) -> usize {
        let first = self.next;
        for chunk in content.chunks(CLUSTER) {
            let at = self.data_at + (self.next - 2) * CLUSTER;
            self.image[at..at + chunk.len()].copy_from_slice(chunk);
            self.link(self.next, self.next as u16 + 1);
            self.next += 1;
        }
        if self.next == first {
            return 0;
        }
        self.link(self.next - 1, 0xffff);
        first
    }

    pub fn link(&mut self, cluster: usize, next: u16) {
        for copy in 0..2 {
            let at = self.fat_at + copy * self.fat_size + 2 * cluster;
            self.image[at..at + 2].copy_from_slice(&next.to_le_bytes());
        }
    }

    pub fn entry(&mut self, at: usize, name: &str, attributes: u8, cluster: usize, size: usize) {
        let (stem, end) = name.split_once('.').unwrap_or((name, ""));
        assert!(stem.len() <= 8 && end.len() <= 3, "{name}");
        let entry = &mut self.image[at..at + 32];
        entry[..11].copy_from_slice(format!("{:8}{:3}", stem.to_uppercase(), end.to_uppercase()).as_bytes());
        entry[11] = attributes;
        entry[26..28].copy_from_slice(&(cluster as u16).to_le_bytes());
        entry[28..32].copy_from_slice(&(size as u32).to_le_bytes());
    }

    pub fn data_at(&self) -> usize {
        self.data_at
    }

    pub fn root_at(&self) -> usize {
        self.root_at
    }

    pub fn image(&mut self) -> &mut Vec<u8> {
        &mut self.image
    }
}
