//! The file systems with stored data, each once: `/proc/self/mountinfo` (proc_pid_mountinfo(5)).
//!
//! Includes those on devices of this machine. Excludes those of the kernel and in memory, overlays, which combine
//! others, and read-only images other than `/` (a snap, an ISO file). Network and FUSE file systems are listed but not
//! queried: statvfs(2) blocks when their server is gone.

use super::{
    Root, lossy, malformed,
    mounts::{IMMUTABLE, Space, space, unescaped_bytes},
};
use std::{
    ffi::OsString,
    io,
    ops::ControlFlow::{Break, Continue},
    os::unix::ffi::OsStringExt,
    path::PathBuf,
};

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
    /// Where it is mounted, unescaped; its name may be of any bytes.
    pub mount_point: PathBuf,
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
    let mut all = list(root, |numbers| device_name(root, numbers))?;
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
struct Line {
    numbers: String,
    /// Whether the whole file system is mounted there, rather than a directory of it.
    is_whole: bool,
    /// Escaped.
    mount_point: Vec<u8>,
    kind: String,
    source: String,
    read_only: bool,
}

impl Line {
    /// `36 35 98:0 /part /mount rw,noatime master:1 - ext4 /dev/sda1 rw,errors=continue`: optional fields before the
    /// dash. Only directories and sources have bytes that are not ASCII.
    fn parse(line: &[u8]) -> Option<Self> {
        let mut fields = line.split(|byte| *byte == b' ').skip(2);
        let numbers = std::str::from_utf8(fields.next()?).ok()?;
        let (part, mount_point, _options) = (fields.next()?, fields.next()?, fields.next()?);
        fields.find(|field| *field == b"-")?;
        // A source may be empty.
        let (kind, source, options) = (fields.next()?, fields.next()?, fields.next()?);
        numbers.split_once(':')?;
        Some(Self {
            numbers: numbers.to_owned(),
            is_whole: part == b"/",
            mount_point: mount_point.to_owned(),
            kind: std::str::from_utf8(kind).ok()?.to_owned(),
            source: lossy(unescaped_bytes(source)),
            read_only: options.split(|byte| *byte == b',').any(|option| option == b"ro"),
        })
    }

    fn is_remote(&self) -> bool {
        let named_by_server = || self.source.contains(':') || self.source.starts_with("//");
        REMOTE.contains(&self.kind.as_str()) || (self.kind.starts_with("fuse.") && named_by_server())
    }

    fn counts(&self) -> bool {
        let keeps =
            self.source.starts_with("/dev/") || WITHOUT_DEVICE.contains(&self.kind.as_str()) || self.is_remote();
        keeps && (!IMMUTABLE.contains(&self.kind.as_str()) || self.mount_point == b"/")
    }
}

/// Read in parts, and only lines that count are kept: a host of containers has thousands.
fn list(root: &Root, name: impl Fn(&str) -> Option<String>) -> io::Result<Vec<FileSystem>> {
    let mut lines: Vec<Line> = Vec::new();
    let wrong = root.each_line(FILE, |line| {
        let Some(line) = Line::parse(line) else { return if line.is_empty() { Continue(()) } else { Break(()) } };
        // A later mount on the same directory covers this one.
        lines.retain(|earlier| earlier.mount_point != line.mount_point);
        lines.extend(Some(line).filter(Line::counts));
        Continue(())
    })?;
    if wrong.is_some() {
        return Err(malformed(FILE, "a line has not the form of a mount"));
    }
    let mut once: Vec<Line> = Vec::new();
    for line in lines {
        // A bind mount shows the same file system again.
        match once.iter_mut().find(|known| known.numbers == line.numbers && known.source == line.source) {
            Some(known) if !known.is_whole && line.is_whole => *known = line,
            Some(_) => {}
            None => once.push(line),
        }
    }
    Ok(once
        .into_iter()
        .map(|line| FileSystem {
            is_local: !line.is_remote() && !line.kind.starts_with("fuse"),
            mount_point: OsString::from_vec(unescaped_bytes(&line.mount_point)).into(),
            kind: line.kind,
            read_only: line.read_only,
            device: Some(line.source)
                .filter(|source| source != "/dev/root")
                .or_else(|| name(&line.numbers))
                .unwrap_or_else(|| "/dev/root".to_owned()),
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

    fn parse(text: &[u8], name: impl Fn(&str) -> Option<String>) -> io::Result<Vec<FileSystem>> {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(dir.path().join("proc/self")).unwrap();
        std::fs::write(dir.path().join(FILE), text).unwrap();
        list(&Root::at(dir.path()), name)
    }

    fn names(text: &str) -> Vec<String> {
        parse(text.as_bytes(), |_| None)
            .unwrap()
            .into_iter()
            .map(|found| found.mount_point.into_os_string().into_string().unwrap())
            .collect()
    }

    #[test]
    fn those_that_keep_something_each_once() {
        let found = parse(PI.as_bytes(), |numbers| (numbers == "179:2").then(|| "/dev/mmcblk0p2".to_owned())).unwrap();
        let shown: Vec<_> = found
            .iter()
            .map(|found| {
                (
                    found.mount_point.to_str().unwrap(),
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
        let found = parse(slot.as_bytes(), |_| None).unwrap();
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
    fn names_that_are_not_utf8_stay_two_and_hide_no_other() {
        let text = b"1 0 8:1 / / rw - ext4 /dev/sda1 rw\n2 1 8:2 / /media/M\xfcsik rw - ext4 /dev/sda2 rw\n\
                     3 1 8:3 / /media/M\xe4sik\\040\xa0 ro - ext4 /dev/M\xe4 ro\n";
        let found = parse(text, |_| None).unwrap();
        let points: Vec<&[u8]> = found.iter().map(|found| found.mount_point.as_os_str().as_encoded_bytes()).collect();
        assert_eq!(points, [&b"/"[..], b"/media/M\xfcsik", b"/media/M\xe4sik \xa0"]);
        assert_eq!((found[2].device.as_str(), found[2].read_only), ("/dev/M\u{fffd}", true));
    }

    #[test]
    fn a_host_of_thousands_of_containers_has_its_disks() {
        let mut text: String = (0..6000)
            .map(|at| format!("{at} 1 0:{at} / /var/lib/docker/overlay2/{at:0>64}/merged rw - overlay overlay rw\n"))
            .collect();
        assert!(text.len() > 512 * 1024);
        text += "7 1 8:1 / / rw - ext4 /dev/sda1 rw\n";
        assert_eq!(names(&text), ["/"]);
    }

    #[test]
    fn malformed() {
        for bad in [
            "1 0 8:1 / /data rw ext4 /dev/sda1 rw",
            "1 0 8:1 / /data - ext4 /dev/sda1 rw",
            "1 0 8 / / rw - ext4 /dev/sda1 rw",
            "1 0 8:1 / / rw - ext4",
        ] {
            assert_eq!(parse(bad.as_bytes(), |_| None).unwrap_err().kind(), io::ErrorKind::InvalidData, "{bad}");
        }
        assert_eq!(names(""), [""; 0]);
    }
}
