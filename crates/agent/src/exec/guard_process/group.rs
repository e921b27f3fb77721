//! A control group of the command's own (cgroup v2), where this process may make one.
//!
//! Its name begins with "raspi-mcp-exec": the agent takes nothing from processes in such a group.

use base::os::Root;
use std::{fs, io, path::PathBuf};

pub(super) struct Group {
    /// This process' own, and the one below it.
    parent: PathBuf,
    path: PathBuf,
}

impl Group {
    /// `None` where there is no cgroup v2, or it is not ours to divide.
    pub(super) fn make(id: &str) -> Option<Self> {
        let root = Root::system();
        // Where it is the only hierarchy, and where it stands beside those of v1 (cgroups(7)).
        let mount = ["sys/fs/cgroup", "sys/fs/cgroup/unified"]
            .into_iter()
            .find(|mount| root.has(&format!("{mount}/cgroup.procs")))?;
        let own = root.read("proc/self/cgroup").ok()?;
        let own = own.lines().find_map(|line| line.strip_prefix("0::"))?.to_owned();
        let parent = root.path(mount).join(own.trim_start_matches('/'));
        let path = parent.join(format!("raspi-mcp-exec-{id}"));
        fs::create_dir(&path).ok()?;
        let group = Self { parent, path };
        // Tried at once: to be able to make a group is not to be able to use it.
        let usable = fs::write(group.path.join("cgroup.procs"), "0").is_ok();
        group.leave();
        if usable {
            return Some(group);
        }
        group.remove();
        None
    }

    /// Children born until this is dropped belong to it.
    pub(super) fn enter(&self) -> Inside<'_> {
        let _ = fs::write(self.path.join("cgroup.procs"), "0");
        Inside(self)
    }

    fn leave(&self) {
        let _ = fs::write(self.parent.join("cgroup.procs"), "0");
    }

    /// Kills all in it, where this kernel can (since 5.14).
    pub(super) fn kill(&self) {
        let _ = fs::write(self.path.join("cgroup.kill"), "1");
    }

    pub(super) fn remove(self) {
        if let Err(error) = fs::remove_dir(&self.path)
            && error.kind() != io::ErrorKind::NotFound
        {
            tracing::debug!(%error, group = %self.path.display(), "not removed");
        }
    }
}

/// This process is in the group.
pub(super) struct Inside<'a>(&'a Group);

impl Drop for Inside<'_> {
    fn drop(&mut self) {
        self.0.leave();
    }
}
