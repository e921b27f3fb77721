//! Usage of each file system, and warnings for those nearly full.

use super::rates::rounded;
use base::os::{
    file_systems::{FileSystem, MountedFileSystems},
    mounts::Space,
};
use schemars::JsonSchema;
use serde::Serialize;
use std::io;

/// Percentage from which a warning is given: a card needs free space for wear levelling, and for the next update or
/// log.
const NEARLY_FULL: f64 = 90.0;
const NOT_ASKED: &str = "not asked: one on a network or of a program may never answer";

/// One file system.
#[derive(Serialize, JsonSchema)]
#[schemars(inline)]
pub struct DiskInfo {
    /// U+FFFD where its name is not UTF-8.
    mount_point: String,
    device: String,
    /// ext4, vfat, ...
    file_system: String,
    read_only: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u64")]
    total_bytes: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u64")]
    used_bytes: Option<u64>,
    /// For others than root.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u64")]
    free_bytes: Option<u64>,
    /// As df says it: of what is used and free.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "f64", range(min = 0, max = 100))]
    used_percent: Option<f64>,
    /// Why there are no figures.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    problem: Option<String>,
}

impl DiskInfo {
    fn of((about, space): (FileSystem, Option<io::Result<Space>>)) -> Self {
        let (space, problem) = match space {
            Some(Ok(space)) => (Some(space), None),
            Some(Err(fault)) => (None, Some(fault.to_string())),
            None => (None, Some(NOT_ASKED.to_owned())),
        };
        Self {
            mount_point: about.mount_point.to_string_lossy().into_owned(),
            device: about.device,
            file_system: about.kind,
            read_only: about.read_only,
            total_bytes: space.map(|space| space.total),
            used_bytes: space.map(|space| space.used),
            free_bytes: space.map(|space| space.free),
            used_percent: space.and_then(|space| space.used_percent()).map(|percent| rounded(percent, 1)),
            problem,
        }
    }

    /// Without varying numbers, so that subscribers are notified only once.
    fn warning(&self) -> Option<String> {
        let full = !self.read_only && self.used_percent.is_some_and(|percent| percent >= NEARLY_FULL);
        full.then(|| {
            format!("{} is {NEARLY_FULL} % full or more: delete something there, or move it", self.mount_point)
        })
    }
}

/// All file systems, warnings, and the number of those omitted.
pub fn shown(found: MountedFileSystems) -> (Vec<DiskInfo>, Vec<String>, usize) {
    let disks: Vec<DiskInfo> = found.file_systems.into_iter().map(DiskInfo::of).collect();
    let warnings = disks.iter().filter_map(DiskInfo::warning).collect();
    (disks, warnings, found.left_out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn disk(read_only: bool, used: u64, free: u64) -> DiskInfo {
        let about = FileSystem {
            mount_point: "/data".into(),
            device: "/dev/sda1".into(),
            kind: "ext4".into(),
            read_only,
            is_local: true,
        };
        DiskInfo::of((about, Some(Ok(Space { total: 1000, used, free }))))
    }

    #[test]
    fn what_can_still_be_written_and_hardly_is_warned_of() {
        // Root's reserve is neither used nor free.
        assert_eq!(disk(false, 899, 101).warning(), None);
        assert_eq!(disk(false, 855, 95).used_percent, Some(90.0));
        assert!(disk(false, 855, 95).warning().is_some_and(|text| text.starts_with("/data is")));
        assert_eq!(disk(true, 1000, 0).warning(), None);
        let empty = disk(false, 0, 0);
        assert_eq!((empty.used_percent, empty.warning()), (None, None));
    }
}
