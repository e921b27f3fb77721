//! The file systems with stored data, each once: `/proc/self/mountinfo` (proc_pid_mountinfo(5)).
//!
//! Includes those on devices of this machine. Excludes those of the kernel and in memory, overlays, which combine
//! others, and read-only images other than `/` (a snap, an ISO file). Network and FUSE file systems are listed but not
//! queried: statvfs(2) blocks when their server is gone.

use super::{
    Root, malformed,
    mounts::{IMMUTABLE, Space, space, unescaped},
};
use std::io;

const FILE: &str = "proc/self/mountinfo";
/// Limit of entries in an answer; a board has two to five.
const MOST: usize = 32;
/// Kinds that store data without a block device.
const WITHOUT_DEVICE: [&str; 4] = ["zfs", "bcachefs", "ubifs", "jffs2"];
/// Kinds that depend on another machine or a program.
const REMOTE: [&str; 10] = ["nfs", "nfs4", "cifs", "smb3", "9p", "virtiofs", "ceph", "afs", "glusterfs", "fuseblk"];

/// One file system, at the mount point that shows most of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileSystem {
    /// Unescaped.
    pub mount_point: String,
    /// `/dev/mmcblk0p2`, a pool, or a server's path.
    pub device: String,
    /// ext4, vfat, ...
    pub kind: String,
    /// Read-only as a whole; a read-only bind mount does not count.
    pub read_only: bool,
    /// Its usage may be queried.
    pub is_local: bool,
}

/// The file systems with their usage.
#[derive(Debug)]
pub struct MountedFileSystems {
    /// In mount order; `None` for those that are not queried.
    pub file_systems: Vec<(FileSystem, Option<io::Result<Space>>)>,
    /// Number of further ones, beyond the limit.
    pub left_out: usize,
}

/// # Errors
/// `NotFound` without procfs, `InvalidData` when a line does not have the kernel's format.
pub fn read(root: &Root) -> io::Result<MountedFileSystems> {
    let mut all = parse(&root.read(FILE)?, |numbers| device_name(root, numbers))?;
    let left_out = all.len().saturating_sub(MOST);
    all.truncate(MOST);
    let asked = |file_system: FileSystem| {
        let space = file_system.is_local.then(|| space(root, &file_system.mount_point));
        (file_system, space)
    };
    Ok(MountedFileSystems { file_systems: all.into_iter().map(asked).collect(), left_out })
}

/// The kernel's name of the block device with these numbers (`179:2`), where the mount says `/dev/root`.
fn device_name(root: &Root, numbers: &str) -> Option<String> {
    let link = root.link(&format!("sys/dev/block/{numbers}")).ok()?;
    Some(format!("/dev/{}", link.file_name()?.to_str()?))
}

/// One line.
struct Line<'a> {
    numbers: &'a str,
    /// The directory of the file system that is mounted there.
    part: &'a str,
    mount_point: &'a str,
    kind: &'a str,
    source: &'a str,
    read_only: bool,
}

impl<'a> Line<'a> {
    /// `36 35 98:0 /part /mount rw,noatime master:1 - ext4 /dev/sda1 rw,errors=continue`: optional fields before the
    /// dash.
    fn parse(line: &'a str) -> Option<Self> {
        let (mount, file_system) = line.split_once(" - ")?;
        let mut mount = mount.split(' ').skip(2);
        let (numbers, part, mount_point, _options) = (mount.next()?, mount.next()?, mount.next()?, mount.next()?);
        // A source may be empty.
        let mut file_system = file_system.split(' ');
        let (kind, source, options) = (file_system.next()?, file_system.next()?, file_system.next()?);
        numbers.split_once(':')?;
        Some(Self {
            numbers,
            part,
            mount_point,
            kind,
            source,
            read_only: options.split(',').any(|option| option == "ro"),
        })
    }

    fn is_remote(&self) -> bool {
        let named_by_server = || self.source.contains(':') || self.source.starts_with("//");
        REMOTE.contains(&self.kind) || (self.kind.starts_with("fuse.") && named_by_server())
    }

    fn counts(&self) -> bool {
        let keeps = self.source.starts_with("/dev/") || WITHOUT_DEVICE.contains(&self.kind) || self.is_remote();
        keeps && (!IMMUTABLE.contains(&self.kind) || self.mount_point == "/")
    }
}

fn parse(text: &str, name: impl Fn(&str) -> Option<String>) -> io::Result<Vec<FileSystem>> {
    let mut lines: Vec<Line<'_>> = Vec::new();
    for line in text.lines().filter(|line| !line.is_empty()) {
        let line = Line::parse(line).ok_or_else(|| malformed(FILE, "a line has not the form of a mount"))?;
        // A later mount on the same directory covers this one.
        lines.retain(|earlier| earlier.mount_point != line.mount_point);
        lines.push(line);
    }
    lines.retain(Line::counts);
    let mut once: Vec<Line<'_>> = Vec::new();
    for line in lines {
        // A bind mount shows the same file system again.
        match once.iter_mut().find(|known| known.numbers == line.numbers && known.source == line.source) {
            Some(known) if known.part != "/" && line.part == "/" => *known = line,
            Some(_) => {}
            None => once.push(line),
        }
    }
    Ok(once
        .into_iter()
        .map(|line| FileSystem {
            mount_point: unescaped(line.mount_point),
            device: match line.source {
                "/dev/root" => name(line.numbers).unwrap_or_else(|| line.source.to_owned()),
                source => unescaped(source),
            },
            kind: line.kind.to_owned(),
            read_only: line.read_only,
            is_local: !line.is_remote() && !line.kind.starts_with("fuse"),
        })
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    const PI: &str = "\
21 28 0:20 / /sys rw,nosuid - sysfs sysfs rw
22 28 0:21 / /proc rw - proc proc rw
23 28 0:5 / /dev rw - devtmpfs udev rw,size=1
28 1 179:2 / / rw,noatime shared:1 - ext4 /dev/root rw
29 28 0:22 / /run rw,nosuid - tmpfs tmpfs rw
30 28 179:1 / /boot/firmware rw - vfat /dev/mmcblk0p1 rw,fmask=0022
31 28 8:1 / /media/USB\\040disk ro,relatime shared:9 master:2 propagate_from:1 - ext4 /dev/sda1 ro
32 28 179:2 /tmp/private /tmp ro - ext4 /dev/root rw
33 28 7:0 / /snap/core/1 ro - squashfs /dev/loop0 ro
34 28 0:40 / /var/lib/docker/overlay2/x rw - overlay overlay rw,lowerdir=/a
35 28 0:41 / /mnt/nas rw - nfs4 nas:/export rw,addr=10.0.0.2
36 28 0:42 / /home/pi/cloud rw - fuse.rclone cloud: rw
37 28 0:43 / /run/user/1000/doc rw - fuse.portal portal rw
38 28 0:44 / /mnt/auto rw - autofs systemd-1 rw
39 38 8:17 / /mnt/auto rw - fuseblk /dev/sdb1 rw
";

    fn names(text: &str) -> Vec<String> {
        parse(text, |_| None).unwrap().into_iter().map(|found| found.mount_point).collect()
    }

    #[test]
    fn those_that_keep_something_each_once() {
        let found = parse(PI, |numbers| (numbers == "179:2").then(|| "/dev/mmcblk0p2".to_owned())).unwrap();
        let shown: Vec<_> = found
            .iter()
            .map(|found| {
                (
                    found.mount_point.as_str(),
                    found.device.as_str(),
                    found.kind.as_str(),
                    found.read_only,
                    found.is_local,
                )
            })
            .collect();
        assert_eq!(
            shown,
            [
                ("/", "/dev/mmcblk0p2", "ext4", false, true),
                ("/boot/firmware", "/dev/mmcblk0p1", "vfat", false, true),
                ("/media/USB disk", "/dev/sda1", "ext4", true, true),
                ("/mnt/nas", "nas:/export", "nfs4", false, false),
                ("/home/pi/cloud", "cloud:", "fuse.rclone", false, false),
                ("/mnt/auto", "/dev/sdb1", "fuseblk", false, false),
            ]
        );
    }

    #[test]
    fn a_slot_is_told_as_read_only_and_data_is_where_it_is_mounted_whole() {
        let slot = "1 0 254:0 / / ro - squashfs /dev/mapper/root ro\n\
                    2 1 179:8 /etc /etc rw - ext4 /dev/mmcblk0p8 rw\n\
                    3 1 179:8 / /data rw - ext4 /dev/mmcblk0p8 rw\n\
                    4 1 179:8 /var /var rw - ext4 /dev/mmcblk0p8 rw\n";
        let found = parse(slot, |_| None).unwrap();
        assert_eq!(names(slot), ["/", "/data"]);
        assert_eq!((found[0].read_only, found[1].read_only), (true, false));
    }

    #[test]
    fn what_is_covered_is_not_asked_and_pools_count() {
        assert_eq!(names("1 0 8:1 / /data rw - ext4 /dev/sda1 rw\n2 0 0:9 / /data rw - tmpfs tmpfs rw\n"), [""; 0]);
        let pool = "1 0 0:30 /@ / rw - btrfs /dev/sda2 rw\n2 1 0:30 /@home /home rw - btrfs /dev/sda2 rw\n\
                    3 1 0:50 / /tank rw - zfs tank/data rw\n4 1 0:51 / /none rw - tmpfs  rw\n";
        assert_eq!(names(pool), ["/", "/tank"]);
    }

    #[test]
    fn malformed() {
        for bad in [
            "1 0 8:1 / /data rw ext4 /dev/sda1 rw",
            "1 0 8:1 / /data - ext4 /dev/sda1 rw",
            "1 0 8 / / rw - ext4 /dev/sda1 rw",
            "1 0 8:1 / / rw - ext4",
        ] {
            assert_eq!(parse(bad, |_| None).unwrap_err().kind(), io::ErrorKind::InvalidData, "{bad}");
        }
        assert_eq!(names(""), [""; 0]);
    }
}
