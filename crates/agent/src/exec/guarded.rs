//! The runner of a machine without systemd: a guard for each command.

use super::{CommandPlan, Runner, Started, guard::Guard};
use crate::exec::guard_process::GuardOrder;
use base::{base64url, error::ToolError};
use futures::future::BoxFuture;
use std::{io, os::fd::OwnedFd, path::PathBuf, process::Stdio};
use tokio::net::{UnixStream, unix::pipe};

/// Starts `raspi-mcp guard` for each command.
pub struct Guarded {
    guard: PathBuf,
}

impl Default for Guarded {
    /// The running executable, even if an update replaced its file.
    fn default() -> Self {
        Self { guard: "/proc/self/exe".into() }
    }
}

impl Guarded {
    /// Uses another program as guard, for tests.
    pub fn with(guard: PathBuf) -> Self {
        Self { guard }
    }

    async fn begin(&self, plan: &CommandPlan) -> io::Result<Started> {
        let (ours, theirs) = std::os::unix::net::UnixStream::pair()?;
        ours.set_nonblocking(true)?;
        let (stdout, out) = io::pipe()?;
        let (stderr, err) = io::pipe()?;
        let child = tokio::process::Command::new(&self.guard)
            .arg("guard")
            .env_clear()
            .stdin(Stdio::from(OwnedFd::from(theirs)))
            .stdout(Stdio::from(OwnedFd::from(out)))
            .stderr(Stdio::from(OwnedFd::from(err)))
            .spawn()?;
        let mut guard = Guard::new(child, UnixStream::from_std(ours)?);
        let account =
            (plan.account.uid != rustix::process::geteuid().as_raw()).then_some((plan.account.uid, plan.account.gid));
        let mut order = serde_json::to_vec(&GuardOrder {
            id: plan.id.clone(),
            program: plan.program.clone(),
            args: plan.args.clone(),
            cwd: plan.cwd.clone(),
            env: plan.env.clone(),
            stdin: base64url::encode(&plan.stdin),
            account,
        })?;
        order.push(b'\n');
        guard.order(&order).await?;
        Ok(Started {
            stdout: Box::new(pipe::Receiver::from_owned_fd(stdout.into())?),
            stderr: Box::new(pipe::Receiver::from_owned_fd(stderr.into())?),
            process: Box::new(guard),
        })
    }
}

impl Runner for Guarded {
    fn start<'a>(&'a self, plan: &'a CommandPlan) -> BoxFuture<'a, Result<Started, ToolError>> {
        Box::pin(async move {
            if !plan.network {
                return Err(ToolError::missing("a command without the network needs systemd on this machine")
                    .hint("set network = true for it in [[exec.commands]]"));
            }
            if plan.stdio.is_some() {
                return Err(ToolError::missing("an agent that stays needs systemd on this machine"));
            }
            self.begin(plan).await.map_err(|error| {
                ToolError::unavailable(format!("a guard for the command could not be started: {error}"))
                    .hint("the machine may be out of processes, memory or descriptors")
            })
        })
    }
}
