//! Running allowed commands: the port, and its implementation for each kind of machine.
//!
//! Dropping the [`CommandProcess`] ends every process that the command has started, also those that left its session, were
//! reparented or ignore SIGTERM.

#[cfg(feature = "guard")]
pub mod guard;
#[cfg(feature = "guard")]
pub mod guard_process;
#[cfg(feature = "guard")]
mod guarded;
pub mod output;
mod running;
mod simulated;
mod transient;
#[cfg(any(not(feature = "guard"), test))]
mod unguarded;

#[cfg(feature = "guard")]
pub use guarded::Guarded;
pub(super) use running::{Commands, RunningCommand};
pub use simulated::SimulatedRunner;
pub use transient::Transient;

use base::{error::ToolError, os::Root};
use futures::future::BoxFuture;
use std::{os::fd::OwnedFd, path::PathBuf, sync::Arc, time::Duration};
use tokio::io::AsyncRead;

/// Time between SIGTERM and SIGKILL (docs/contract/exec.md).
pub const GRACE: Duration = Duration::from_secs(2);

/// A command that passed every check.
#[derive(Clone, Debug)]
pub struct CommandPlan {
    /// Identifies it on the machine: hexadecimal digits.
    pub id: String,
    /// A full path. Only root could change what it leads to when it was checked.
    pub program: PathBuf,
    /// Without `argv[0]`.
    pub args: Vec<String>,
    /// Resolved: no symbolic link was in it when it was checked.
    pub cwd: PathBuf,
    /// Whether it lies below a folder that commands may write, so that one of its parts may have been exchanged since the check.
    /// The runner then starts nothing in another folder.
    pub cwd_can_change: bool,
    /// The whole environment.
    pub env: Vec<(String, String)>,
    pub stdin: Vec<u8>,
    pub account: Account,
    /// Whether it has network access.
    pub network: bool,
    /// Folders that it may write.
    pub writable: Vec<PathBuf>,
    /// Paths hidden from it: our sockets, state and configuration.
    pub hidden: Vec<PathBuf>,
    /// How long it may run. The caller enforces it; the runner is the fallback.
    pub limit: Duration,
    /// A socket in place of standard input and output.
    pub stdio: Option<Arc<OwnedFd>>,
    pub unit: UnitClass,
}

/// The name, slice and limits of a unit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnitClass {
    /// The name before the id.
    pub prefix: String,
    pub slice: &'static str,
    /// In bytes; `None`: what the slice has.
    pub memory: Option<u64>,
    /// Processes and threads.
    pub tasks: u64,
    /// No program of this machine can be reached on a loopback address, also where it has the network. DNS can.
    pub no_loopback: bool,
}

impl UnitClass {
    /// Of a command of `exec.run`. The agent rejects peers whose control group has the slice in its path.
    pub fn exec() -> Self {
        let slice = "raspi-mcp-exec.slice";
        Self { prefix: transient::EXEC.into(), slice, memory: None, tasks: 256, no_loopback: false }
    }

    /// Of an agent of this type.
    pub fn of_agent(name: &str, memory: u64, tasks: u64) -> Self {
        Self {
            prefix: format!("{}{name}-", transient::AGENT),
            slice: "raspi-mcp-agents.slice",
            memory: Some(memory),
            tasks,
            no_loopback: true,
        }
    }
}

/// The account it runs under.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Account {
    pub name: String,
    pub uid: u32,
    pub gid: u32,
}

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    Exited(i32),
    /// By that signal.
    Killed(i32),
}

/// A started command. Dropping it ends all its processes.
pub trait CommandProcess: Send {
    /// Resolves once all processes of the command have ended. Cancel safe.
    ///
    /// # Errors
    /// `unavailable` when it could not be started after all, or its end cannot be observed.
    fn ended(&mut self) -> BoxFuture<'_, Result<Ending, ToolError>>;
    /// Ends all processes: SIGTERM, then SIGKILL after [`GRACE`].
    fn stop(&mut self) -> BoxFuture<'_, ()>;
}

pub type Pipe = Box<dyn AsyncRead + Send + Unpin>;

/// A running command.
pub struct Started {
    pub stdout: Pipe,
    pub stderr: Pipe,
    pub process: Box<dyn CommandProcess>,
}

/// Starts commands.
pub trait Runner: Send + Sync {
    /// # Errors
    /// `unavailable` when this machine cannot run it, `not_found` when there is no such program.
    fn start<'a>(&'a self, plan: &'a CommandPlan) -> BoxFuture<'a, Result<Started, ToolError>>;
    /// Ends what a previous agent may have left running.
    fn sweep(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {})
    }
    fn is_simulated(&self) -> bool {
        false
    }
}

/// The runner of this machine: systemd units where systemd runs, otherwise our guard, where this build has one.
pub fn of_machine(root: &Root) -> Arc<dyn Runner> {
    // sd_booted(3)
    if root.has("run/systemd/system") {
        return Arc::new(Transient::system());
    }
    #[cfg(feature = "guard")]
    return Arc::new(Guarded::default());
    #[cfg(not(feature = "guard"))]
    Arc::new(unguarded::Unguarded)
}
