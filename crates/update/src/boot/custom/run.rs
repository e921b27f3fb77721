//! Runs one command with a time limit: no shell, no inherited environment, bounded output.

use base::error::ToolError;
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    io::Errno,
    process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open},
};
use std::{
    fs::File,
    io::{self, Read},
    os::{fd::OwnedFd, unix::process::CommandExt},
    process::{Child, Command, ExitStatus, Stdio},
    time::{Duration, Instant},
};

/// Limit of a command's output, in bytes.
const LONGEST: usize = 4096;
const PATH: &str = "/usr/sbin:/usr/bin:/sbin:/bin";

/// Runs the command and returns its output. Blocks until it has ended.
///
/// # Errors
/// `unavailable` when it cannot be started, fails, prints more than 4 KiB or takes longer than `limit`: then its whole
/// process group is killed.
pub(super) fn run(program: &str, words: &[&str], limit: Duration) -> Result<Vec<u8>, ToolError> {
    let command = words.join(" ");
    let failed = |why: String| {
        ToolError::unavailable(format!("{program} {command} {why}"))
            .with("command", command.clone())
            .hint("run it by hand, as root: docs/boot.md says what it has to do")
    };
    let (ours, theirs) = io::pipe().map_err(|fault| failed(fault.to_string()))?;
    let mut child = Command::new(program)
        .args(words)
        .env_clear()
        .env("PATH", PATH)
        .current_dir("/")
        .process_group(0)
        .stdin(Stdio::null())
        .stdout(theirs)
        .stderr(Stdio::null())
        .spawn()
        .map_err(|fault| failed(format!("cannot be started: {fault}")))?;
    // The builder's copy of the pipe is closed with it, so only the command's processes hold the write end.
    let ended = watch(&mut child, File::from(OwnedFd::from(ours)), Instant::now() + limit);
    match ended {
        Ok(Some((status, said))) if status.success() => Ok(said),
        Ok(Some((status, _))) => Err(failed(format!("failed ({status})"))),
        Ok(None) => {
            end(&mut child);
            Err(failed(format!("did not end within {} s, and was killed", limit.as_secs_f32())))
        }
        Err(fault) => {
            end(&mut child);
            Err(failed(format!("was killed: {fault}")))
        }
    }
}

/// Waits until the process has ended; `None` at the time limit. Reads its output meanwhile, and does not wait for
/// processes that it left behind.
fn watch(child: &mut Child, mut pipe: File, until: Instant) -> io::Result<Option<(ExitStatus, Vec<u8>)>> {
    rustix::io::ioctl_fionbio(&pipe, true)?;
    let process = pidfd_open(Pid::from_child(child), PidfdFlags::empty())?;
    let (mut said, mut open) = (Vec::new(), true);
    loop {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(None);
        }
        let mut sources = vec![PollFd::new(&process, PollFlags::IN)];
        if open {
            sources.push(PollFd::new(&pipe, PollFlags::IN));
        }
        let left = Timespec::try_from(left).map_err(|_| io::ErrorKind::InvalidInput)?;
        match poll(&mut sources, Some(&left)) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(errno) => return Err(errno.into()),
        }
        let ended = !sources[0].revents().is_empty();
        open = open && read(&mut pipe, &mut said)?;
        if ended {
            return Ok(Some((child.wait()?, said)));
        }
    }
}

/// Reads what is available now; `false` at the end of the output.
fn read(pipe: &mut File, said: &mut Vec<u8>) -> io::Result<bool> {
    let mut piece = [0; 512];
    loop {
        match pipe.read(&mut piece) {
            Ok(0) => return Ok(false),
            Ok(length) if said.len() + length > LONGEST => {
                return Err(io::Error::new(io::ErrorKind::FileTooLarge, format!("it said more than {LONGEST} bytes")));
            }
            Ok(length) => said.extend_from_slice(&piece[..length]),
            Err(fault) if fault.kind() == io::ErrorKind::WouldBlock => return Ok(true),
            Err(fault) if fault.kind() == io::ErrorKind::Interrupted => {}
            Err(fault) => return Err(fault),
        }
    }
}

fn end(child: &mut Child) {
    // It may have ended meanwhile. Its id cannot be reused yet, because it has not been waited for.
    let _ = kill_process_group(Pid::from_child(child), Signal::KILL);
    let _ = child.wait();
}
