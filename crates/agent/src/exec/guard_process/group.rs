//! A control group for the command (cgroup v2), where this process may create one.
//!
//! Its name begins with "raspi-mcp-exec": the agent rejects peers in such a group.

use base::os::Root;
use std::{fs, io, path::PathBuf};

pub(super) struct Group {
    /// This process' own group, and the child group.
    parent: PathBuf,
    path: PathBuf,
}

impl Group {
    /// `None` where there is no cgroup v2, or it is not delegated to us.
    pub(super) fn make(id: &str) -> Option<Self> {
        let root = Root::system();
        // As the only hierarchy, or beside those of v1 (cgroups(7)).
        let mount = ["sys/fs/cgroup", "sys/fs/cgroup/unified"]
            .into_iter()
            .find(|mount| root.has(&format!("{mount}/cgroup.procs")))?;
        let own = root.read("proc/self/cgroup").ok()?;
        let own = own.lines().find_map(|line| line.strip_prefix("0::"))?.to_owned();
        let parent = root.path(mount).join(own.trim_start_matches('/'));
        let path = parent.join(format!("raspi-mcp-exec-{id}"));
        fs::create_dir(&path).ok()?;
        let group = Self { parent, path };
        // Tested at once: a group that can be created cannot always be used.
        let usable = fs::write(group.path.join("cgroup.procs"), "0").is_ok();
        group.leave();
        if usable {
            return Some(group);
        }
        group.remove();
        None
    }

    /// Children started before this is dropped belong to the group.
    pub(super) fn enter(&self) -> Inside<'_> {
        let _ = fs::write(self.path.join("cgroup.procs"), "0");
        Inside(self)
    }

    fn leave(&self) {
        let _ = fs::write(self.parent.join("cgroup.procs"), "0");
    }

    /// Kills all its processes, where the kernel supports it (since 5.14).
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

/// While it lives, this process is in the group.
pub(super) struct Inside<'a>(&'a Group);

impl Drop for Inside<'_> {
    fn drop(&mut self) {
        self.0.leave();
    }
}
