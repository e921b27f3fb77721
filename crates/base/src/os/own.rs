//! Resources used by this process, from `/proc/self`.

use super::Root;
use std::{io, time::Duration};

/// Figures of this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Own {
    /// Resident memory in bytes (`VmRSS`).
    pub resident: u64,
    /// `Threads`
    pub threads: u64,
    /// Open file descriptors.
    pub descriptors: usize,
}

/// # Errors
/// `NotFound` without procfs, `InvalidData` when a field is missing.
pub fn read(root: &Root) -> io::Result<Own> {
    const STATUS: &str = "proc/self/status";
    let status = root.read(STATUS)?;
    let field = |name: &str| {
        let value = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        let number = value.and_then(|value| value.trim().trim_end_matches(" kB").parse::<u64>().ok());
        number.ok_or_else(|| super::malformed(STATUS, &format!("there is no number for {name}")))
    };
    Ok(Own {
        resident: field("VmRSS")?.saturating_mul(1024),
        threads: field("Threads")?,
        descriptors: root.names("proc/self/fd")?.count(),
    })
}

/// Processor time that this process has used, in all its threads (`CLOCK_PROCESS_CPUTIME_ID`).
pub fn cpu_time() -> Duration {
    let used = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::new(u64::try_from(used.tv_sec).unwrap_or(0), u32::try_from(used.tv_nsec).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_finds_itself() {
        let own = read(&Root::system()).unwrap();
        assert!(own.resident > 100_000 && own.threads >= 1 && own.descriptors >= 3, "{own:?}");
        let before = cpu_time();
        while cpu_time() == before {}
    }

    #[test]
    fn a_status_without_its_fields_is_no_status() {
        let dir = tempfile::tempdir().unwrap();
        let root = Root::at(dir.path());
        assert_eq!(read(&root).unwrap_err().kind(), io::ErrorKind::NotFound);
        std::fs::create_dir_all(dir.path().join("proc/self/fd")).unwrap();
        for (status, good) in [
            ("VmRSS:\t  12 kB\nThreads:\t2\n", true),
            ("VmRSS:\t  12 kB\n", false),
            ("VmRSS:\t  twelve kB\nThreads:\t2\n", false),
        ] {
            std::fs::write(dir.path().join("proc/self/status"), status).unwrap();
            let read = read(&root);
            assert_eq!(read.is_ok(), good, "{status}");
            if let Ok(own) = read {
                assert_eq!(own, Own { resident: 12 * 1024, threads: 2, descriptors: 0 });
            }
        }
    }
}
