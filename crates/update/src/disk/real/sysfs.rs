//! Block devices as the kernel lists them: `/sys/block` (Documentation/ABI/stable/sysfs-block), mountinfo
//! (proc_pid_mountinfo(5)), and the kernel's command line.

use base::os::Root;
use std::io;

/// Mounts of the machine, not of the agent's own mount namespace.
const MOUNTS: [&str; 2] = ["proc/1/mountinfo", "proc/self/mountinfo"];
/// Longest chain of device mapper devices; verity on a partition has two.
const DEEPEST: usize = 4;

/// A disk or a partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SysfsBlock {
    pub name: String,
    /// The disk that it belongs to, or is.
    pub disk: String,
    /// The partition's number.
    pub number: Option<u8>,
    /// `major:minor`.
    pub dev: String,
}

impl SysfsBlock {
    /// Its folder below `/sys`.
    pub fn folder(&self) -> String {
        match self.number {
            Some(_) => format!("sys/block/{}/{}", self.disk, self.name),
            None => format!("sys/block/{}", self.name),
        }
    }

    /// A number of 512-byte sectors, whatever the disk's block size: `size` or `start`.
    pub fn sectors(&self, root: &Root, what: &str) -> io::Result<u64> {
        root.number(&format!("{}/{what}", self.folder())).map(|sectors| u64::try_from(sectors).unwrap_or(0))
    }
}

/// All disks and partitions.
///
/// # Errors
/// Those of listing `/sys/block`. Devices that disappear meanwhile are skipped.
pub fn blocks(root: &Root) -> io::Result<Vec<SysfsBlock>> {
    let mut all = Vec::new();
    for disk in root.list("sys/block")? {
        let Ok(dev) = root.line(&format!("sys/block/{disk}/dev")) else { continue };
        let below = root.list(&format!("sys/block/{disk}")).unwrap_or_default();
        for name in below.into_iter().filter(|name| name.starts_with(disk.as_str())) {
            let about = |what: &str| root.line(&format!("sys/block/{disk}/{name}/{what}"));
            let (Ok(number), Ok(dev)) = (about("partition"), about("dev")) else { continue };
            let Ok(number) = number.parse() else { continue };
            all.push(SysfsBlock { name, disk: disk.clone(), number: Some(number), dev });
        }
        all.push(SysfsBlock { name: disk.clone(), disk, number: None, dev });
    }
    Ok(all)
}

/// A line of mountinfo.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MountInfo {
    pub dev: String,
    pub point: String,
    /// The file system itself is read-only, so that no mount of it can be written.
    pub read_only: bool,
}

/// The mounts of this machine.
///
/// # Errors
/// Those of reading it.
pub fn mounts(root: &Root) -> io::Result<Vec<MountInfo>> {
    let text = root.read(MOUNTS[0]).or_else(|_| root.read(MOUNTS[1]))?;
    Ok(text.lines().filter_map(mount).collect())
}

fn mount(line: &str) -> Option<MountInfo> {
    let (mount, file_system) = line.split_once(" - ")?;
    let mut fields = mount.split(' ').skip(2);
    let (dev, _, point) = (fields.next()?, fields.next()?, fields.next()?);
    let read_only = |options: &str| options.split(',').any(|option| option == "ro");
    // The file system's own options: the same one may be mounted read-write elsewhere, which is another line.
    let read_only = read_only(file_system.rsplit(' ').next()?);
    Some(MountInfo { dev: dev.to_owned(), point: unescape(point), read_only })
}

/// Decodes `\040` and the like.
fn unescape(text: &str) -> String {
    let mut parts = text.split('\\');
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let code = part.get(..3).and_then(|digits| u8::from_str_radix(digits, 8).ok());
        match code {
            Some(code) => {
                plain.push(char::from(code));
                plain.push_str(&part[3..]);
            }
            None => plain.push_str(part),
        }
    }
    plain
}

/// The names of the devices below this one: itself, and what device mapper built it from.
pub fn made_of<'a>(root: &Root, blocks: &'a [SysfsBlock], dev: &str) -> Vec<&'a SysfsBlock> {
    let mut found: Vec<&SysfsBlock> = blocks.iter().filter(|block| block.dev == dev).collect();
    let mut from = 0;
    for _ in 0..DEEPEST {
        let upper = found.len();
        for at in from..upper {
            let below = root.list(&format!("{}/slaves", found[at].folder())).unwrap_or_default();
            found.extend(blocks.iter().filter(|block| below.contains(&block.name)));
        }
        from = upper;
    }
    found
}

/// Other users of this device besides mounts: device mapper, RAID, swap.
pub fn holders(root: &Root, block: &SysfsBlock) -> Vec<String> {
    let named = |name: String| match root.line(&format!("sys/block/{name}/dm/name")) {
        Ok(mapped) => format!("{name} ({mapped})"),
        Err(_) => name,
    };
    let held = root.list(&format!("{}/holders", block.folder())).unwrap_or_default();
    let mut held: Vec<String> = held.into_iter().map(named).collect();
    let swap = root.read("proc/swaps").unwrap_or_default();
    if swap.lines().any(|line| line.split_whitespace().next() == Some(&format!("/dev/{}", block.name))) {
        held.push("swap".into());
    }
    held
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_mountinfo_is_read_with_and_without_optional_fields() {
        let with = r"36 35 98:0 /mnt1 /mnt\0402 rw,noatime shared:1 master:1 - ext3 /dev/root ro,errors=continue";
        assert_eq!(mount(with), Some(MountInfo { dev: "98:0".into(), point: "/mnt 2".into(), read_only: true }));
        let without = "22 1 179:5 / / ro - squashfs /dev/mmcblk0p5 rw";
        assert_eq!(mount(without), Some(MountInfo { dev: "179:5".into(), point: "/".into(), read_only: false }));
        for bad in ["", " - ", "1 2 3", "1 2 8:1 / - x y z"] {
            assert_eq!(mount(bad), None, "{bad:?}");
        }
        assert_eq!(unescape(r"a\134b\9\"), r"a\b9");
    }
}
