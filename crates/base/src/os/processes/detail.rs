//! Details of a process that only its owner, or root, may see.

use super::{
    environment, is_gone,
    memory::{self, Map, ProcessMemory},
    sockets::{self, ProcessSocket},
};
use crate::os::Root;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::{
    collections::{BTreeMap, HashMap},
    io,
};

/// Limit of descriptors whose targets are looked up, at some microseconds each; all are counted.
const MOST_FDS: usize = 16_384;
/// Limit of files, and of sockets, in an answer.
const MOST_SHOWN: usize = 256;

/// Each part is absent when it cannot be read; `unavailable` says why.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Detail {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub exe: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub cwd: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "IoCounters")]
    pub io_counters: Option<IoCounters>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u32")]
    pub num_fds: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Vec<OpenFile>")]
    pub open_files: Option<Vec<OpenFile>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Vec<ProcessSocket>")]
    pub connections: Option<Vec<ProcessSocket>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "ProcessMemory")]
    pub memory: Option<ProcessMemory>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Vec<Map>")]
    pub memory_maps: Option<Vec<Map>>,
    /// Secrets are masked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "BTreeMap<String, String>")]
    pub environment: Option<BTreeMap<String, String>>,
    /// How many more entries than shown a part has.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(with = "BTreeMap<String, u32>")]
    pub left_out: BTreeMap<String, u32>,
    /// Parts that are absent, and why.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(with = "BTreeMap<String, String>")]
    pub unavailable: BTreeMap<String, String>,
}

/// Since it started.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct IoCounters {
    /// Calls of read(2) and its like.
    pub read_count: u64,
    pub write_count: u64,
    /// From storage.
    pub read_bytes: u64,
    /// To storage.
    pub write_bytes: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OpenFile {
    pub path: String,
    pub fd: u32,
    #[schemars(extend("enum" = ["r", "w", "rw"]))]
    pub mode: String,
}

impl Detail {
    /// Reads all that this process may see of `pid`. With `maps` also its mappings, the slowest part for the kernel.
    ///
    /// # Errors
    /// See [`is_gone`]: it has ended.
    pub fn read(root: &Root, pid: u32, maps: bool) -> io::Result<Self> {
        let at = |name: &str| format!("proc/{pid}/{name}");
        let mut detail = Self::default();
        let gone = |result: &io::Result<()>| matches!(result, Err(error) if is_gone(error) && !root.has(&format!("proc/{pid}/stat")));
        let mut ended = false;
        let mut part = |name: &str, result: io::Result<()>| {
            ended |= gone(&result);
            if let Err(error) = result {
                detail.unavailable.insert(name.to_owned(), why(&error));
            }
        };
        let text = |name: &str| root.link(&at(name)).map(|path| path.to_string_lossy().into_owned());
        let (mut exe, mut cwd, mut io_counters, mut files, mut rollup, mut mapped, mut environment) =
            (None, None, None, None, None, None, None);
        part("exe", text("exe").map(|path| exe = Some(path)));
        part("cwd", text("cwd").map(|path| cwd = Some(path)));
        part("io_counters", root.read(&at("io")).map(|text| io_counters = counters(&text)));
        let fds = descriptors(root, pid);
        part("open_files", fds.map(|found| files = Some(found)));
        part("memory", memory::rollup(root, pid).map(|memory| rollup = Some(memory)));
        if maps {
            part("memory_maps", memory::maps(root, pid).map(|maps| mapped = Some(maps)));
        }
        let environ = root.read_bytes(&at("environ"));
        part("environment", environ.map(|bytes| environment = Some(environment::variables(&bytes))));
        let mut connections = None;
        if let Some(found) = &files {
            let joined = sockets::join(root, pid, &found.sockets);
            part("connections", joined.map(|all| connections = Some(all)));
        }
        if ended {
            return Err(io::Error::new(io::ErrorKind::NotFound, format!("process {pid} has ended")));
        }
        if files.is_none()
            && let Some(why) = detail.unavailable.get("open_files").cloned()
        {
            detail.unavailable.insert("connections".into(), why);
        }
        let mut left_out = BTreeMap::new();
        let mut more = |part: &str, count: usize| {
            if count > 0 {
                left_out.insert(part.to_owned(), u32::try_from(count).unwrap_or(u32::MAX));
            }
        };
        more("open_files", files.as_ref().map_or(0, |found| found.further));
        if let Some(all) = &mut connections {
            more("connections", all.len().saturating_sub(MOST_SHOWN));
            all.truncate(MOST_SHOWN);
        }
        let (num_fds, open_files) = files.map(|found| (found.count, found.files)).unzip();
        Ok(Self {
            exe,
            cwd,
            io_counters,
            num_fds,
            open_files,
            connections,
            memory: rollup,
            memory_maps: mapped,
            environment,
            left_out,
            ..detail
        })
    }

    /// Adds the fields of `other`, read with more privileges, that are missing here.
    pub fn complete(&mut self, other: Self) {
        macro_rules! take {
            ($($name:ident)*) => { $(
                if self.$name.is_none() && other.$name.is_some() {
                    self.$name = other.$name;
                    self.unavailable.remove(stringify!($name));
                    if let Some(count) = other.left_out.get(stringify!($name)) {
                        self.left_out.insert(stringify!($name).to_owned(), *count);
                    }
                }
            )* };
        }
        take!(exe cwd io_counters num_fds open_files connections memory memory_maps environment);
    }
}

fn why(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::PermissionDenied => "not permitted".into(),
        io::ErrorKind::NotFound => "it has none".into(),
        _ => error.to_string(),
    }
}

fn counters(text: &str) -> Option<IoCounters> {
    let of = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok());
    Some(IoCounters {
        read_count: of("syscr:")?,
        write_count: of("syscw:")?,
        read_bytes: of("read_bytes:")?,
        write_bytes: of("write_bytes:")?,
    })
}

struct Descriptors {
    count: u32,
    files: Vec<OpenFile>,
    /// Files beyond the limit, and descriptors that were only counted.
    further: usize,
    /// Descriptor numbers by socket inode.
    sockets: HashMap<u64, u32>,
}

fn descriptors(root: &Root, pid: u32) -> io::Result<Descriptors> {
    let mut found = Descriptors { count: 0, files: Vec::new(), further: 0, sockets: HashMap::new() };
    let mut fds = Vec::new();
    for fd in root.names(&format!("proc/{pid}/fd"))?.filter_map(|name| name.parse::<u32>().ok()) {
        found.count += 1;
        if fds.len() < MOST_FDS {
            fds.push(fd);
        } else {
            found.further += 1;
        }
    }
    crate::sort::sort(&mut fds);
    for fd in fds {
        // Possibly closed meanwhile.
        let Ok(target) = root.link(&format!("proc/{pid}/fd/{fd}")) else { continue };
        let target = target.to_string_lossy();
        if let Some(inode) = target.strip_prefix("socket:[").and_then(|rest| rest.strip_suffix(']')) {
            found.sockets.extend(inode.parse::<u64>().ok().map(|inode| (inode, fd)));
        } else if target.starts_with('/') {
            if found.files.len() < MOST_SHOWN {
                found.files.push(OpenFile { mode: mode(root, pid, fd), path: target.into_owned(), fd });
            } else {
                found.further += 1;
            }
        }
    }
    Ok(found)
}

/// `flags:` of fdinfo, octal: O_RDONLY 0, O_WRONLY 1, O_RDWR 2.
fn mode(root: &Root, pid: u32, fd: u32) -> String {
    let info = root.read(&format!("proc/{pid}/fdinfo/{fd}")).unwrap_or_default();
    let flags = info.lines().find_map(|line| u32::from_str_radix(line.strip_prefix("flags:")?.trim(), 8).ok());
    match flags.unwrap_or(0) & 3 {
        1 => "w",
        2 => "rw",
        _ => "r",
    }
    .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{fs, os::unix::fs::symlink, path::Path};

    /// A process with as many descriptors of sockets and of files, and its namespace's sockets.
    fn process(dir: &Path, sockets: u32, files: u32) {
        let proc = dir.join("proc/7");
        fs::create_dir_all(proc.join("fd")).unwrap();
        fs::create_dir_all(proc.join("net")).unwrap();
        fs::write(proc.join("stat"), "7 (many) S").unwrap();
        let mut table = String::from("sl local_address\n");
        for fd in 0..sockets {
            symlink(format!("socket:[{}]", 10_000 + fd), proc.join(format!("fd/{fd}"))).unwrap();
            let ends = format!("0100007F:{:04X} 0100007F:1F90 01 00000000:00000000 00:00000000 00000000", fd % 65_536);
            table += &format!("{fd:4}: {ends}  1000        0 {} 1 0000000000000000 20 4 30 10 -1\n", 10_000 + fd);
        }
        for fd in sockets..sockets + files {
            symlink("/var/log/syslog", proc.join(format!("fd/{fd}"))).unwrap();
        }
        fs::write(proc.join("net/tcp"), &table).unwrap();
        assert!(sockets < 5000 || table.len() > 512 * 1024, "{}", table.len());
    }

    #[test]
    fn many_descriptors_are_all_counted_and_what_is_not_shown_is_told() {
        let dir = tempfile::tempdir().unwrap();
        process(dir.path(), 5000, 300);
        let detail = Detail::read(&Root::at(dir.path()), 7, false).unwrap();
        assert_eq!(detail.num_fds, Some(5300));
        assert_eq!(detail.open_files.unwrap().len(), MOST_SHOWN);
        assert_eq!(detail.connections.unwrap().len(), MOST_SHOWN);
        assert_eq!(
            detail.left_out,
            BTreeMap::from([("open_files".to_owned(), 44), ("connections".to_owned(), 5000 - 256)])
        );
        assert!(!detail.unavailable.contains_key("connections"), "{:?}", detail.unavailable);
    }

    #[test]
    fn a_process_of_which_all_is_shown_leaves_nothing_out() {
        let dir = tempfile::tempdir().unwrap();
        process(dir.path(), 256, 256);
        let detail = Detail::read(&Root::at(dir.path()), 7, false).unwrap();
        assert_eq!((detail.num_fds, detail.left_out), (Some(512), BTreeMap::new()));
        assert_eq!(detail.connections.unwrap().len(), 256);
        let mut poorer = Detail::default();
        process(&dir.path().join("more"), 257, 0);
        poorer.complete(Detail::read(&Root::at(dir.path().join("more")), 7, false).unwrap());
        assert_eq!(poorer.left_out, BTreeMap::from([("connections".to_owned(), 1)]));
    }
}
