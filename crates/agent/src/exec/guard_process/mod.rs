//! `raspi-mcp guard`: supervises a command on behalf of the agent where there is no systemd.
//!
//! It receives the command over a socket on its standard input and runs until every process of the command has ended.
//! As subreaper (prctl(2)) it inherits every orphaned process, so a scan of `/proc` finds them all. Where it may create
//! a control group, that group finds them too. When the socket closes, the agent is gone, and all processes are ended.

mod group;
mod tree;

use crate::exec::GRACE;
use base::{base64url, os::beneath::directory_without_links};
use rustix::process::{Pid, Signal, WaitOptions};
use serde::{Deserialize, Serialize};
use std::{
    io::{self, Write},
    os::{
        fd::{AsFd, OwnedFd},
        unix::process::{CommandExt, ExitStatusExt},
    },
    path::PathBuf,
    process::{Command, ExitStatus, Stdio},
    time::Duration,
};
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader},
    net::UnixStream,
    signal::unix::{Signal as Told, SignalKind, signal},
    time::Instant,
};

/// What the guard is to run: one line of JSON.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "struct Order")]
pub struct GuardOrder {
    pub id: String,
    pub program: PathBuf,
    pub args: Vec<String>,
    pub cwd: PathBuf,
    pub env: Vec<(String, String)>,
    /// base64url; fits into a pipe's buffer.
    pub stdin: String,
    /// User and group id; `None`: those of the guard.
    pub account: Option<(u32, u32)>,
}

/// The guard's messages, one line each.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Word {
    /// It could not be started; no process runs.
    Failed(String),
    /// The wait status of the command; all its processes have ended.
    Ended(i32),
}

/// The agent's only message: end the command.
pub const STOP: &[u8] = b"stop\n";

/// Interval between rounds of SIGKILL, in which the kernel ends the processes.
const ROUND: Duration = Duration::from_millis(20);

/// Guards one command. Returns when all its processes have ended.
///
/// # Errors
/// When this process was not started by the agent.
pub fn run() -> io::Result<()> {
    rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
    rustix::thread::set_no_new_privs(true)?;
    let socket = std::os::unix::net::UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?);
    // Detached from the terminal, so that it neither reads from it nor gets its signals.
    let _ = rustix::process::setsid();
    socket.set_nonblocking(true)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async { guard(UnixStream::from_std(socket)?).await })
}

async fn guard(socket: UnixStream) -> io::Result<()> {
    let mut children = signal(SignalKind::child())?;
    // Only the agent ends it: signals from a terminal or a stopping service are ignored.
    let mut terminated = signal(SignalKind::terminate())?;
    let (reader, mut writer) = socket.into_split();
    let mut reader = BufReader::new(reader);
    let mut line = String::new();
    reader.read_line(&mut line).await?;
    let order: GuardOrder = serde_json::from_str(&line)?;
    let group = group::Group::make(&order.id);
    let main = match start(&order, group.as_ref()) {
        Ok(pid) => pid,
        Err(error) => return say(&mut writer, &Word::Failed(error.to_string())).await,
    };
    let mut tree = Tree { main, ended: None, group };
    let mut said = Vec::new();
    loop {
        tokio::select! {
            _ = children.recv() => {
                tree.reap();
                if tree.ended.is_some() {
                    break;
                }
            }
            read = reader.read_until(b'\n', &mut said) => match read {
                Ok(1..) => {
                    tree.ask(&mut children).await;
                    break;
                }
                // The agent is gone.
                _ => break,
            },
            _ = terminated.recv() => break,
        }
    }
    tree.kill(&mut children).await;
    let status = tree.ended.unwrap_or_else(|| ExitStatus::from_raw(Signal::KILL.as_raw()));
    say(&mut writer, &Word::Ended(status.into_raw())).await
}

async fn say(writer: &mut tokio::net::unix::OwnedWriteHalf, word: &Word) -> io::Result<()> {
    let mut line = serde_json::to_vec(word)?;
    line.push(b'\n');
    // The agent may be gone.
    let _ = writer.write_all(&line).await;
    Ok(())
}

fn start(order: &GuardOrder, group: Option<&group::Group>) -> io::Result<Pid> {
    let input = base64url::decode(&order.stdin).ok_or_else(|| io::Error::other("stdin is no base64url"))?;
    let mut command = Command::new(&order.program);
    command.args(&order.args).env_clear().envs(order.env.iter().map(|(name, value)| (name, value)));
    // By descriptor, and the child stays there: a part of the path may have been exchanged for a link since it was checked. "."
    // is entered once more as the account, which needs the right to.
    rustix::process::fchdir(directory_without_links(&order.cwd)?)?;
    command.current_dir(".").process_group(0);
    command.stdin(if input.is_empty() { Stdio::null() } else { given(&input)? });
    if let Some((uid, gid)) = order.account {
        // As root this drops the supplementary groups as well.
        command.uid(uid).gid(gid);
    }
    rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o077));
    // A child starts in its parent's group.
    let _inside = group.map(group::Group::enter);
    let child = command.spawn()?;
    Pid::from_raw(i32::try_from(child.id()).unwrap_or_default()).ok_or_else(|| io::Error::other("no process id"))
}

/// A pipe that holds all of `input`, which is smaller than a pipe's 64 KiB.
fn given(input: &[u8]) -> io::Result<Stdio> {
    let (reader, writer) = io::pipe()?;
    (&writer).write_all(input)?;
    Ok(Stdio::from(OwnedFd::from(reader)))
}

struct Tree {
    main: Pid,
    ended: Option<ExitStatus>,
    group: Option<group::Group>,
}

impl Tree {
    /// Reaps every child that has ended. Returns whether any is left.
    fn reap(&mut self) -> bool {
        loop {
            match rustix::process::wait(WaitOptions::NOHANG) {
                Ok(Some((pid, status))) if pid == self.main => {
                    self.ended = Some(ExitStatus::from_raw(status.as_raw()));
                }
                Ok(Some(_)) => {}
                Ok(None) => return true,
                // ECHILD: every descendant would become a child eventually.
                Err(_) => return false,
            }
        }
    }

    /// SIGTERM to all processes, then a grace period.
    async fn ask(&mut self, children: &mut Told) {
        tree::signal_all(Signal::TERM);
        let until = Instant::now() + GRACE;
        while self.reap() {
            if tokio::time::timeout_at(until, children.recv()).await.is_err() {
                return;
            }
        }
    }

    /// SIGKILL until none is left.
    async fn kill(&mut self, children: &mut Told) {
        while self.reap() {
            if let Some(group) = &self.group {
                group.kill();
            }
            // A privileged process may have moved one to another group.
            tree::kill_all();
            // SIGCHLD announces their end, but a process in uninterruptible sleep does not end yet: hence the timeout.
            let _ = tokio::time::timeout(ROUND, children.recv()).await;
        }
        if let Some(group) = self.group.take() {
            group.remove();
        }
    }
}
