//! The processes that have a device open: searches the descriptors of every accessible process.

use super::{Proc, is_gone};
use crate::os::Root;
use rustix::fs::{AtFlags, FileType, major, minor, statat};
use std::io;

/// Limit of processes in an answer.
const MOST: usize = 16;

/// A device's numbers, as in sysfs: `81:0`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceNumber {
    pub major: u32,
    pub minor: u32,
}

impl DeviceNumber {
    /// The numbers of a video device such as `/dev/video0`.
    ///
    /// # Errors
    /// Those of reading sysfs; `InvalidInput` for any other path.
    pub fn of_video(root: &Root, path: &str) -> io::Result<Self> {
        let number = path.strip_prefix("/dev/video").and_then(|number| number.parse::<u16>().ok());
        let number = number.ok_or(io::ErrorKind::InvalidInput)?;
        // From sysfs, not from the file: a caller's /dev may differ.
        let line = root.line(&format!("sys/class/video4linux/video{number}/dev"))?;
        let parsed = line.split_once(':').and_then(|(major, minor)| Some((major.parse().ok()?, minor.parse().ok()?)));
        let (major, minor) = parsed.ok_or(io::ErrorKind::InvalidData)?;
        Ok(Self { major, minor })
    }
}

/// Ids and names (`comm`) of processes that have the device open, sorted by id; at most 16. Inaccessible processes are
/// skipped.
///
/// # Errors
/// Those of opening `/proc`.
pub fn of(root: &Root, device: DeviceNumber, named: &str) -> io::Result<Vec<(u32, String)>> {
    let mut proc = Proc::open(root)?;
    let mut pids = proc.pids()?;
    crate::sort::sort(&mut pids);
    let mut found = Vec::new();
    for pid in pids {
        if found.len() == MOST {
            break;
        }
        if holds(root, pid, device, named) {
            match proc.stat(pid) {
                Ok(stat) => found.push((pid, stat.comm)),
                Err(error) if is_gone(&error) => {}
                Err(error) => return Err(error),
            }
        }
    }
    Ok(found)
}

fn holds(root: &Root, pid: u32, device: DeviceNumber, named: &str) -> bool {
    let Ok(descriptors) = std::fs::read_dir(root.path(&format!("proc/{pid}/fd"))) else { return false };
    descriptors.filter_map(Result::ok).any(|entry| {
        // The link first: stat of a file on a dead network file system would block.
        let link = std::fs::read_link(entry.path()).unwrap_or_default();
        let called = link.file_name().and_then(|name| name.to_str()).is_some_and(|name| name.starts_with(named));
        called
            && statat(rustix::fs::CWD, entry.path(), AtFlags::empty()).is_ok_and(|about| {
                FileType::from_raw_mode(about.st_mode) == FileType::CharacterDevice
                    && (major(about.st_rdev), minor(about.st_rdev)) == (device.major, device.minor)
            })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_is_found_by_a_device_it_has_open() {
        let root = Root::system();
        let null = DeviceNumber { major: 1, minor: 3 };
        let before = of(&root, null, "null").unwrap();
        let _open = std::fs::File::open("/dev/null").unwrap();
        let found = of(&root, null, "null").unwrap();
        assert!(found.iter().any(|(pid, _)| *pid == std::process::id()) || before.len() == MOST, "{found:?}");
        assert_eq!(of(&root, DeviceNumber { major: 1, minor: 4095 }, "null").unwrap(), []);
    }

    #[test]
    fn only_video_devices_have_numbers_here() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(dir.path().join("sys/class/video4linux/video0")).unwrap();
        std::fs::write(dir.path().join("sys/class/video4linux/video0/dev"), "81:0\n").unwrap();
        let root = Root::at(dir.path());
        assert_eq!(DeviceNumber::of_video(&root, "/dev/video0").unwrap(), DeviceNumber { major: 81, minor: 0 });
        for bad in ["/dev/video1", "/dev/video", "/dev/mem", "/dev/video0/../mem", "/dev/video-1", "video0", "csi:0"] {
            assert!(DeviceNumber::of_video(&root, bad).is_err(), "{bad}");
        }
    }
}
