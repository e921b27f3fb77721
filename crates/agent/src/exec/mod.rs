//! Running allowed commands: the port, and what stands behind it on each kind of machine.
//!
//! Whoever starts a command has all of it: dropping the [`Process`] ends every process the command has made, also those
//! that left its session, changed their parent or ignore SIGTERM.

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
pub(super) use running::{Commands, Running};
pub use simulated::SimulatedRunner;
pub use transient::Transient;

use base::{error::ToolError, os::Root};
use futures::future::BoxFuture;
use std::{path::PathBuf, sync::Arc, time::Duration};
use tokio::io::AsyncRead;

/// How long a command has between SIGTERM and SIGKILL (docs/contract/exec.md).
pub const GRACE: Duration = Duration::from_secs(2);

/// A command that passed every check.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Names it on the machine: hexadecimal digits.
    pub id: String,
    /// A full path, resolved.
    pub program: PathBuf,
    /// Without the program's own name.
    pub args: Vec<String>,
    /// Resolved.
    pub cwd: PathBuf,
    /// The whole environment.
    pub env: Vec<(String, String)>,
    pub stdin: Vec<u8>,
    pub account: Account,
    /// Whether it sees the network.
    pub network: bool,
    /// Where it may write.
    pub writable: Vec<PathBuf>,
    /// What it must not see: our sockets, state and configuration.
    pub hidden: Vec<PathBuf>,
    /// How long it may run; the caller counts, the runner only sees to it should the caller not.
    pub limit: Duration,
}

/// Who runs it.
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

/// A started command. Dropping it ends all of it.
pub trait Process: Send {
    /// Resolves once nothing of the command is alive. Cancel safe.
    ///
    /// # Errors
    /// `unavailable` when it could not be started after all, or was lost from sight.
    fn ended(&mut self) -> BoxFuture<'_, Result<Ending, ToolError>>;
    /// Asks all of it to end: SIGTERM, and SIGKILL after [`GRACE`].
    fn stop(&mut self) -> BoxFuture<'_, ()>;
}

pub type Pipe = Box<dyn AsyncRead + Send + Unpin>;

/// A command under way.
pub struct Started {
    pub stdout: Pipe,
    pub stderr: Pipe,
    pub process: Box<dyn Process>,
}

/// Starts commands.
pub trait Runner: Send + Sync {
    /// # Errors
    /// `unavailable` when this machine cannot run it, `not_found` when there is no such program.
    fn start<'a>(&'a self, plan: &'a Plan) -> BoxFuture<'a, Result<Started, ToolError>>;
    /// Ends what an agent before this one may have left.
    fn sweep(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {})
    }
    fn is_simulated(&self) -> bool {
        false
    }
}

/// The runner of this machine: systemd's units where systemd runs, else a guard of our own, where this program has one.
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
