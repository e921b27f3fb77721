//! One process in a list (docs/contract/process.md).

use crate::tools::system::rounded;
use base::{
    error::ToolError,
    os::{
        Root, groups, meminfo,
        processes::{Proc, Stat, environment, load::EarlierReading, stat::TICKS},
        uptime::Uptime,
    },
};
use hw::machine::{Machine, unreadable};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::{borrow::Cow, collections::HashMap, io, time::Duration};

#[derive(Serialize, JsonSchema)]
pub struct ProcessSummary {
    #[schemars(range(min = 1))]
    pub pid: u32,
    pub name: String,
    /// Secrets are masked. Empty for threads of the kernel.
    pub cmdline: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub exe: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub cwd: Option<String>,
    pub status: ProcessState,
    pub username: String,
    /// Seconds since 1970.
    pub create_time: f64,
    /// Of one processor.
    #[schemars(range(min = 0))]
    pub cpu_percent: f64,
    #[schemars(range(min = 0, max = 100))]
    pub memory_percent: f64,
    /// Bytes.
    pub memory_rss: u64,
    /// Bytes.
    pub memory_vms: u64,
    #[schemars(range(min = 1))]
    pub num_threads: u32,
    pub ppid: u32,
    pub nice: i32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ProcessState {
    Running,
    Sleeping,
    DiskSleep,
    Stopped,
    Zombie,
    Idle,
}

impl ProcessState {
    /// Converts the state letter of proc_pid_stat(5).
    pub fn of(state: char) -> Self {
        match state {
            'R' => Self::Running,
            'D' | 'W' => Self::DiskSleep,
            'T' | 't' => Self::Stopped,
            'Z' | 'X' | 'x' => Self::Zombie,
            'I' | 'P' => Self::Idle,
            _ => Self::Sleeping,
        }
    }
}

/// The values needed to convert raw numbers of all processes.
pub struct Scale {
    /// Time since boot.
    pub now: Duration,
    /// Time of the boot, in seconds since 1970.
    boot: f64,
    pub page: u64,
    total: f64,
    users: HashMap<u32, String>,
}

impl Scale {
    pub fn read(machine: &Machine) -> Result<Self, ToolError> {
        let root = &machine.root;
        let now =
            Uptime::open(root).and_then(|uptime| uptime.now()).map_err(|fault| unreadable("the uptime", &fault))?;
        let memory = meminfo::read(root).map_err(|fault| unreadable("memory", &fault))?;
        let wall = time::OffsetDateTime::now_utc().unix_timestamp_nanos() as f64 / 1e9;
        Ok(Self {
            now,
            boot: wall - now.as_secs_f64(),
            page: rustix::param::page_size() as u64,
            total: memory.total as f64,
            users: users(root),
        })
    }

    pub fn create_time(&self, stat: &Stat) -> f64 {
        rounded(self.boot + stat.start_ticks as f64 / TICKS, 2)
    }

    /// The account's name, or its uid if unknown.
    pub fn user(&self, uid: u32) -> Cow<'_, str> {
        self.users.get(&uid).map_or_else(|| uid.to_string().into(), |name| name.as_str().into())
    }

    pub fn summary(
        &self,
        proc: &mut Proc,
        stat: &Stat,
        since: &EarlierReading,
        detail: bool,
    ) -> io::Result<ProcessSummary> {
        let pid = stat.pid;
        let cmdline = if stat.is_kernel { Vec::new() } else { proc.cmdline(pid)? };
        // These links are unreadable for other users' processes; the rest is available.
        let link = |name: &str| detail.then(|| proc.link(pid, name).ok()).flatten();
        let (exe, cwd) = (link("exe"), link("cwd"));
        let rss = stat.resident_pages * self.page;
        Ok(ProcessSummary {
            pid,
            name: full_name(&stat.comm, &cmdline),
            cmdline: environment::arguments(cmdline),
            exe,
            cwd,
            status: ProcessState::of(stat.state),
            username: self.user(proc.owner(pid)?).into_owned(),
            create_time: self.create_time(stat),
            cpu_percent: rounded(since.percent(stat), 1),
            memory_percent: rounded((rss as f64 / self.total * 100.0).min(100.0), 2),
            memory_rss: rss,
            memory_vms: stat.virtual_bytes,
            num_threads: stat.threads.max(1),
            ppid: stat.ppid,
            nice: stat.nice,
        })
    }
}

fn users(root: &Root) -> HashMap<u32, String> {
    let mut all = HashMap::new();
    // Where there is no such file, accounts have their numbers.
    let _ = groups::each_user(root, |uid, name| {
        all.entry(uid).or_insert_with(|| name.to_owned());
    });
    all
}

/// The full name: the kernel keeps 15 bytes; the command line may have the rest.
pub fn full_name(comm: &str, cmdline: &[String]) -> String {
    let program = cmdline.first().and_then(|path| path.rsplit('/').next()).unwrap_or_default();
    if comm.len() == 15 && program.starts_with(comm) { program.to_owned() } else { comm.to_owned() }
}
