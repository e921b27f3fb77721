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
    fs, io,
};

/// Limit of descriptors examined.
const MOST_FDS: usize = 1024;
/// Limit of files in an answer.
const MOST_FILES: usize = 256;

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
            part("connections", sockets::join(root, pid, &found.sockets).map(|all| connections = Some(all)));
        }
        if ended {
            return Err(io::Error::new(io::ErrorKind::NotFound, format!("process {pid} has ended")));
        }
        if files.is_none()
            && let Some(why) = detail.unavailable.get("open_files").cloned()
        {
            detail.unavailable.insert("connections".into(), why);
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
    /// Descriptor numbers by socket inode.
    sockets: HashMap<u64, u32>,
}

fn descriptors(root: &Root, pid: u32) -> io::Result<Descriptors> {
    let mut found = Descriptors { count: 0, files: Vec::new(), sockets: HashMap::new() };
    let mut fds: Vec<u32> = fs::read_dir(root.path(&format!("proc/{pid}/fd")))?
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .inspect(|_| found.count += 1)
        .take(MOST_FDS)
        .collect();
    crate::sort::sort(&mut fds);
    for fd in fds {
        // Possibly closed meanwhile.
        let Ok(target) = root.link(&format!("proc/{pid}/fd/{fd}")) else { continue };
        let target = target.to_string_lossy();
        if let Some(inode) = target.strip_prefix("socket:[").and_then(|rest| rest.strip_suffix(']')) {
            found.sockets.extend(inode.parse::<u64>().ok().map(|inode| (inode, fd)));
        } else if target.starts_with('/') && found.files.len() < MOST_FILES {
            found.files.push(OpenFile { mode: mode(root, pid, fd), path: target.into_owned(), fd });
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
