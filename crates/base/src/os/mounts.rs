//! Mount points and their usage: `/proc/mounts` and `statvfs`.

use super::{Root, lossy, malformed};
use std::{
    io,
    ops::ControlFlow::{Break, Continue},
    path::Path,
};

const FILE: &str = "proc/mounts";
/// File systems of images, which are always full.
pub(super) const IMMUTABLE: [&str; 4] = ["squashfs", "erofs", "cramfs", "iso9660"];
/// The root of a slot, as the initramfs names it: ext4, but read-only behind dm-verity, and so always full too
/// (dist/initramfs/init).
const SLOT_ROOT: &str = "/dev/mapper/root";
/// Candidates for a writable file system when the root is read-only, in order of preference.
const WRITABLE_PLACES: [&str; 3] = ["/data", "/var", "/mnt/data"];

/// One mounted file system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mount {
    pub source: String,
    /// The directory, unescaped.
    pub target: String,
    pub kind: String,
    pub read_only: bool,
}

/// Size and usage of a file system, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Space {
    pub total: u64,
    /// As in `df`: everything except the free blocks, including root's reserve.
    pub used: u64,
    /// Available to users other than root.
    pub free: u64,
}

impl Space {
    /// As in `df`: used in percent of used and free. `None` for one without a size.
    pub fn used_percent(&self) -> Option<f64> {
        let whole = self.used.saturating_add(self.free);
        (whole > 0).then(|| self.used as f64 * 100.0 / whole as f64)
    }
}

/// # Errors
/// `NotFound` without procfs, `InvalidData` when a line has fewer than four columns.
pub fn read(root: &Root) -> io::Result<Vec<Mount>> {
    let mut mounts = Vec::new();
    let fault = root.each_line(FILE, |line| match parse(&String::from_utf8_lossy(line)) {
        Ok(mount) => {
            mounts.extend(mount);
            Continue(())
        }
        Err(fault) => Break(fault),
    })?;
    fault.map_or(Ok(mounts), Err)
}

/// The directory whose file system should be monitored: `/` or, if the root is an immutable image, the first writable
/// mount of the candidates.
pub fn watched(mounts: &[Mount]) -> &str {
    // A later mount covers an earlier one on the same directory.
    let at = |target: &str| mounts.iter().rfind(|mount| mount.target == target);
    let immutable = at("/").is_some_and(|mount| {
        IMMUTABLE.contains(&mount.kind.as_str()) || (mount.read_only && mount.source == SLOT_ROOT)
    });
    let elsewhere = || WRITABLE_PLACES.iter().find_map(|place| at(place));
    match immutable.then(elsewhere).flatten() {
        Some(mount) => &mount.target,
        None => "/",
    }
}

/// The usage of the file system with `directory`, an absolute path on the machine of `root`.
///
/// # Errors
/// Those of `statvfs`.
pub fn space(root: &Root, directory: impl AsRef<Path>) -> io::Result<Space> {
    let numbers = rustix::fs::statvfs(root.path_of(directory.as_ref()))?;
    let total = numbers.f_blocks.saturating_mul(numbers.f_frsize);
    let bytes = |blocks: u64| blocks.saturating_mul(numbers.f_frsize);
    Ok(Space { total, used: total.saturating_sub(bytes(numbers.f_bfree)), free: bytes(numbers.f_bavail) })
}

/// One line; an empty one has no mount. Columns are separated by one space each; a name may have other white space,
/// which the kernel does not escape.
fn parse(line: &str) -> io::Result<Option<Mount>> {
    let mut columns = line.split(' ');
    match (columns.next(), columns.next(), columns.next(), columns.next()) {
        (Some(""), None, ..) => Ok(None),
        (Some(source), Some(target), Some(kind), Some(options)) => Ok(Some(Mount {
            source: unescaped(source),
            target: unescaped(target),
            kind: kind.to_owned(),
            read_only: options.split(',').any(|option| option == "ro"),
        })),
        _ => Err(malformed(FILE, "a line has fewer than four columns")),
    }
}

/// The kernel escapes space, tab, newline, backslash and number sign as three octal digits.
const ESCAPES: [(&str, u8); 5] =
    [("\\040", b' '), ("\\011", b'\t'), ("\\012", b'\n'), ("\\043", b'#'), ("\\134", b'\\')];

/// Text of a table of mounts as it was before the kernel escaped it.
pub(super) fn unescaped(text: &str) -> String {
    lossy(unescaped_bytes(text.as_bytes()))
}

/// The same for bytes, which a path may have of any value.
pub(super) fn unescaped_bytes(mut rest: &[u8]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(rest.len());
    while let Some((first, after)) = rest.split_first() {
        let escape = ESCAPES.iter().find(|(escape, _)| rest.starts_with(escape.as_bytes()));
        plain.push(escape.map_or(*first, |(_, byte)| *byte));
        rest = escape.map_or(after, |(escape, _)| &rest[escape.len()..]);
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> io::Result<Vec<Mount>> {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("proc")).unwrap();
        std::fs::write(dir.path().join(FILE), text).unwrap();
        read(&Root::at(dir.path()))
    }

    #[test]
    fn good_with_escapes() {
        let mounts =
            parse("/dev/mmcblk0p2 / ext4 rw,noatime 0 0\n/dev/sda1 /media/USB\\040disk vfat ro 0 0\n").unwrap();
        assert_eq!((mounts[0].kind.as_str(), mounts[0].read_only), ("ext4", false));
        assert_eq!((mounts[1].target.as_str(), mounts[1].read_only), ("/media/USB disk", true));
        assert_eq!(watched(&mounts), "/");
    }

    #[test]
    fn a_slot_that_is_always_full_is_not_watched() {
        let slot = "/dev/mmcblk0p5 / squashfs ro 0 0\n/dev/mmcblk0p7 /var ext4 rw 0 0\n";
        assert_eq!(watched(&parse(slot).unwrap()), "/var");
        assert_eq!(watched(&parse("/dev/mmcblk0p5 / squashfs ro 0 0\n").unwrap()), "/");
    }

    #[test]
    fn a_slot_of_ext4_behind_verity_is_as_full_and_a_root_somebody_mounted_read_only_is_watched() {
        let data = "/dev/mmcblk0p8 /data ext4 rw 0 0\n";
        let at = |root: &str| watched(&parse(&format!("{root}\n{data}")).unwrap()).to_owned();
        assert_eq!(at("/dev/mapper/root / ext4 ro,relatime 0 0"), "/data");
        assert_eq!(at("/dev/mapper/root / ext4 rw 0 0"), "/");
        assert_eq!(at("/dev/mmcblk0p2 / ext4 ro,errors=remount-ro 0 0"), "/");
    }

    #[test]
    fn a_name_may_have_any_white_space_that_the_kernel_does_not_escape() {
        let text = "/dev/sda1 /media/My\u{a0}disk\r ext4 rw 0 0\n /mnt/none tmpfs ro 0 0\n";
        let mounts = parse(text).unwrap();
        assert_eq!((mounts[0].target.as_str(), mounts[0].kind.as_str()), ("/media/My\u{a0}disk\r", "ext4"));
        assert_eq!((mounts[1].source.as_str(), mounts[1].kind.as_str(), mounts[1].read_only), ("", "tmpfs", true));
        assert_eq!(unescaped("\\134040\\043\\0"), "\\040#\\0");
    }

    #[test]
    fn malformed() {
        assert_eq!(parse("/dev/sda1 /\n").unwrap_err().kind(), io::ErrorKind::InvalidData);
        assert_eq!(parse("").unwrap(), []);
    }

    #[test]
    fn the_file_system_of_a_directory_is_not_larger_than_itself() {
        let space = space(&Root::at(std::env::temp_dir()), "/").unwrap();
        assert!(space.used <= space.total && space.total > 0, "{space:?}");
    }
}
