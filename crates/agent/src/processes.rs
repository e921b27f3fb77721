//! The port for signals: the processes of this machine, or simulated ones.

use base::{
    error::ToolError,
    os::{
        Root,
        processes::{Proc, is_gone},
    },
};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::{
    io,
    os::fd::OwnedFd,
    sync::{Mutex, PoisonError},
};

/// The signals there are for callers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
pub enum SignalName {
    #[default]
    Term,
    Kill,
    Hup,
    Int,
}

impl From<SignalName> for Signal {
    fn from(name: SignalName) -> Self {
        match name {
            SignalName::Term => Self::TERM,
            SignalName::Kill => Self::KILL,
            SignalName::Hup => Self::HUP,
            SignalName::Int => Self::INT,
        }
    }
}

/// What is checked before a process gets a signal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignalTarget {
    pub pid: u32,
    pub name: String,
    pub uid: u32,
    pub start_ticks: u64,
    pub is_kernel: bool,
    /// Its control groups, as the kernel writes them.
    pub groups: String,
}

/// A process held by a descriptor, so that a reused id cannot be mistaken for it.
pub trait ProcessHandle: Send {
    fn target(&self) -> &SignalTarget;
    /// # Errors
    /// `not_found` when it has ended, `permission_denied`.
    fn send(&self, signal: SignalName) -> Result<(), ToolError>;
}

/// Processes that can be sent signals.
pub trait Processes: Send + Sync {
    /// # Errors
    /// `not_found` when there is none, `unavailable` when it cannot be inspected.
    fn hold(&self, pid: u32) -> Result<Box<dyn ProcessHandle + '_>, ToolError>;
}

/// The processes of this machine.
pub struct RealProcesses {
    pub root: Root,
}

struct Real {
    target: SignalTarget,
    fd: OwnedFd,
}

impl Processes for RealProcesses {
    fn hold(&self, pid: u32) -> Result<Box<dyn ProcessHandle + '_>, ToolError> {
        let number = i32::try_from(pid).ok().and_then(Pid::from_raw).ok_or_else(|| gone(pid))?;
        // The descriptor is opened before the process is inspected: so what is seen belongs to the process that the
        // descriptor holds, or that process has ended and cannot be signalled.
        let fd = pidfd_open(number, PidfdFlags::empty()).map_err(|error| failed(pid, &error.into()))?;
        let mut proc = Proc::open(&self.root).map_err(|error| failed(pid, &error))?;
        let stat = proc.stat(pid).map_err(|error| failed(pid, &error))?;
        let uid = proc.owner(pid).map_err(|error| failed(pid, &error))?;
        let groups = self.root.read(&format!("proc/{pid}/cgroup")).map_err(|error| failed(pid, &error))?;
        let target = SignalTarget {
            pid,
            name: stat.comm,
            uid,
            start_ticks: stat.start_ticks,
            is_kernel: stat.is_kernel,
            groups,
        };
        Ok(Box::new(Real { target, fd }))
    }
}

impl ProcessHandle for Real {
    fn target(&self) -> &SignalTarget {
        &self.target
    }

    fn send(&self, signal: SignalName) -> Result<(), ToolError> {
        pidfd_send_signal(&self.fd, signal.into()).map_err(|error| failed(self.target.pid, &error.into()))
    }
}

fn failed(pid: u32, error: &io::Error) -> ToolError {
    if is_gone(error) {
        return gone(pid);
    }
    let message = format!("process {pid} cannot be reached: {error}");
    match error.kind() {
        io::ErrorKind::PermissionDenied => {
            ToolError::denied(message).hint("the agent needs CAP_KILL for processes of others; see its unit")
        }
        _ => ToolError::unavailable(message).hint("signals need Linux 5.3 or later"),
    }
    .with("pid", pid)
}

fn gone(pid: u32) -> ToolError {
    ToolError::not_found(format!("there is no process {pid}"))
        .with("pid", pid)
        .hint("process.list_processes has those that run")
}

/// A few simulated processes. TERM, INT and KILL end one; HUP does nothing.
pub struct SimulatedProcesses(Mutex<Vec<SignalTarget>>);

impl Default for SimulatedProcesses {
    fn default() -> Self {
        let target = |pid, name: &str, uid, is_kernel| SignalTarget {
            pid,
            name: name.into(),
            uid,
            start_ticks: 100 + u64::from(pid),
            is_kernel,
            groups: String::new(),
        };
        Self(Mutex::new(vec![
            target(1, "systemd", 0, true),
            target(2, "kthreadd", 0, true),
            target(101, "dbus-daemon", 100, false),
            target(4242, "simulated", 1000, false),
            target(4243, "simulated", 1000, false),
        ]))
    }
}

struct Simulated<'a> {
    all: &'a Mutex<Vec<SignalTarget>>,
    target: SignalTarget,
}

impl Processes for SimulatedProcesses {
    fn hold(&self, pid: u32) -> Result<Box<dyn ProcessHandle + '_>, ToolError> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let target = all.iter().find(|target| target.pid == pid).cloned();
        let target = target.ok_or_else(|| gone(pid).hint("the simulated machine has 4242 and 4243"))?;
        Ok(Box::new(Simulated { all: &self.0, target }))
    }
}

impl ProcessHandle for Simulated<'_> {
    fn target(&self) -> &SignalTarget {
        &self.target
    }

    fn send(&self, signal: SignalName) -> Result<(), ToolError> {
        if signal != SignalName::Hup {
            let mut all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
            all.retain(|target| target.pid != self.target.pid);
        }
        Ok(())
    }
}
