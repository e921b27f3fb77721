//! The memory of a service without kernel accounting, as on Raspberry Pi OS, whose firmware starts the kernel with
//! `cgroup_disable=memory`: the sum of its processes' resident memory.

use crate::os::Root;

/// Limit of processes per service; beyond it there is no sum, rather than a partial one.
const PROCESSES: usize = 1024;

/// In bytes; pages shared between processes count for each. `None` when the group cannot be read or is empty, has more
/// than 1024 processes, or a process' status cannot be parsed.
///
/// `group` is the service's ControlGroup, below the unified hierarchy or the one of systemd's own name (cgroups(7)).
pub fn of_group(root: &Root, group: &str) -> Option<u64> {
    if group.is_empty() || group.contains("..") {
        return None;
    }
    let list = ["sys/fs/cgroup", "sys/fs/cgroup/unified", "sys/fs/cgroup/systemd"]
        .into_iter()
        .find_map(|hierarchy| root.read(&format!("{hierarchy}{group}/cgroup.procs")).ok())?;
    let pids: Vec<u32> = list.lines().map(str::parse).collect::<Result<_, _>>().ok()?;
    if pids.is_empty() || pids.len() > PROCESSES {
        return None;
    }
    let mut kib = 0_u64;
    for pid in pids {
        // A process that has just ended has no resident memory, and neither has a kernel thread (proc_pid_status(5)).
        let Ok(status) = root.read(&format!("proc/{pid}/status")) else { continue };
        let Some(line) = status.lines().find_map(|line| line.strip_prefix("VmRSS:")) else { continue };
        kib = kib.saturating_add(line.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok()?);
    }
    Some(kib.saturating_mul(1024))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn the_processes_of_the_group_are_summed() {
        let dir = tempfile::tempdir().unwrap();
        let root = Root::at(dir.path());
        let group = "/system.slice/app.service";
        assert_eq!(of_group(&root, group), None);
        let folder = dir.path().join("sys/fs/cgroup/system.slice/app.service");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("cgroup.procs"), "7\n8\n9\n").unwrap();
        for (pid, resident) in [(7, 100), (8, 20)] {
            fs::create_dir_all(dir.path().join(format!("proc/{pid}"))).unwrap();
            let text = format!("Name:\tapp\nVmRSS:\t  {resident} kB\nThreads:\t1\n");
            fs::write(dir.path().join(format!("proc/{pid}/status")), text).unwrap();
        }
        assert_eq!(of_group(&root, group), Some(120 * 1024), "9 has just ended");
        assert_eq!((of_group(&root, ""), of_group(&root, "/../../etc")), (None, None));
        fs::write(dir.path().join("proc/8/status"), "VmRSS: much").unwrap();
        assert_eq!(of_group(&root, group), None);
    }
}
