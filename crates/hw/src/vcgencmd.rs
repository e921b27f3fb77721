//! `vcgencmd`: the program that queries the Raspberry Pi firmware, where the kernel does not.
//!
//! It needs `/dev/vcio`, which the group `video` may open. It answers in milliseconds, or never when the firmware
//! hangs: hence the limits.

use base::os::Root;
use std::{io, path::PathBuf, process::Stdio, time::Duration};
use tokio::{
    io::AsyncReadExt,
    process::{Child, Command},
    time::timeout,
};

/// Raspberry Pi OS has it in `/usr/bin`; releases before 2022 and LibreELEC in `/opt/vc/bin`.
const PLACES: [&str; 2] = ["usr/bin/vcgencmd", "opt/vc/bin/vcgencmd"];
/// Time limit: a hundred times what it takes on a Zero 2 W.
const PATIENCE: Duration = Duration::from_secs(2);
/// Limit of its answer in bytes; answers have one line.
const LONGEST_ANSWER: u64 = 4096;

/// The program, by its absolute path, so that `PATH` does not matter.
#[derive(Clone, Debug)]
pub(super) struct Vcgencmd {
    program: PathBuf,
}

impl Vcgencmd {
    pub(super) fn find(root: &Root) -> Option<Self> {
        PLACES.iter().find(|place| root.has(place)).map(|place| Self { program: root.path(place) })
    }

    /// The answer to one command, without the name before its `=`.
    ///
    /// # Errors
    /// Those of starting it; `TimedOut` after two seconds; `Other` when it fails or gives another answer. Its process
    /// group has ended by then.
    pub(super) async fn ask(&self, command: &str, name: &str) -> io::Result<String> {
        let mut running = Running(
            Command::new(&self.program)
                .arg(command)
                .env_clear()
                .stdin(Stdio::null())
                .stdout(Stdio::piped())
                .stderr(Stdio::null())
                .process_group(0)
                .kill_on_drop(true)
                .spawn()
                .map_err(|fault| self.fault(command, fault.kind(), &fault.to_string()))?,
        );
        let answer = timeout(PATIENCE, running.finish())
            .await
            .map_err(|_| self.fault(command, io::ErrorKind::TimedOut, "it did not answer within 2 seconds"))??;
        match value(&answer, name) {
            Some(value) => Ok(value.to_owned()),
            None => {
                let said: String = answer.trim().chars().take(80).collect();
                Err(self.fault(command, io::ErrorKind::Other, &format!("it answered '{said}'")))
            }
        }
    }

    fn fault(&self, command: &str, kind: io::ErrorKind, why: &str) -> io::Error {
        io::Error::new(kind, format!("{} {command}: {why}", self.program.display()))
    }
}

/// What an answer of the firmware, `NAME=VALUE`, has behind that name.
pub(super) fn value<'a>(answer: &'a str, name: &str) -> Option<&'a str> {
    answer.trim().strip_prefix(name)?.strip_prefix('=')
}

/// A started program. Dropping it early (timeout, caller gone) kills its process group.
struct Running(Child);

impl Running {
    async fn finish(&mut self) -> io::Result<String> {
        let mut answer = Vec::new();
        if let Some(output) = self.0.stdout.take() {
            output.take(LONGEST_ANSWER).read_to_end(&mut answer).await?;
        }
        // The exit status is ignored: a failure shows in the answer, with more detail.
        self.0.wait().await?;
        Ok(String::from_utf8_lossy(&answer).into_owned())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // The id exists only until the child is reaped, so it cannot be reused yet.
        if let Some(group) = self.0.id().and_then(|id| rustix::process::Pid::from_raw(id.cast_signed())) {
            // On failure the group has ended already.
            let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
        }
    }
}
