//! What the agent's operations act on: this machine, or a simulated one.

use crate::{error::ToolError, os::Root};
use std::{
    process::{Command, Stdio},
    sync::{Mutex, PoisonError},
};

/// A machine that can be restarted.
pub trait Machine: Send + Sync {
    /// Starts the restart and returns; services stop in order after that.
    ///
    /// # Errors
    /// `unavailable` when the machine cannot be told.
    fn reboot(&self) -> Result<(), ToolError>;
    /// Names this start of the machine: another one after every restart.
    fn boot_id(&self) -> String;
    fn is_simulated(&self) -> bool;
}

/// The machine this process runs on.
pub struct RealMachine {
    pub root: Root,
}

impl Machine for RealMachine {
    fn reboot(&self) -> Result<(), ToolError> {
        // By absolute path: the agent is root, a search path is somebody's choice.
        let program = ["usr/bin/systemctl", "bin/systemctl"]
            .into_iter()
            .map(|path| self.root.path(path))
            .find(|path| path.exists());
        let Some(program) = program else {
            return Err(ToolError::unavailable("there is no systemctl on this machine to restart it with")
                .hint("images without systemd are not supported yet"));
        };
        // `--no-block` answers as soon as systemd has queued it; systemd then stops services in order, this one too.
        let output = Command::new(&program)
            .args(["--no-block", "reboot"])
            .env_clear()
            .stdin(Stdio::null())
            .output()
            .map_err(|error| ToolError::unavailable(format!("cannot run {}: {error}", program.display())))?;
        if output.status.success() {
            return Ok(());
        }
        let said: String = String::from_utf8_lossy(&output.stderr).trim().chars().take(200).collect();
        Err(ToolError::unavailable(format!("systemd refused the restart: {said}")).hint("look at `systemctl status`"))
    }

    fn boot_id(&self) -> String {
        boot_id(&self.root)
    }

    fn is_simulated(&self) -> bool {
        false
    }
}

/// A machine that only notes what was asked of it.
#[derive(Default)]
pub struct SimulatedMachine {
    boot_id: String,
    reboots: Mutex<u32>,
    /// What the next reboot says instead, for tests.
    fault: Mutex<Option<ToolError>>,
}

impl SimulatedMachine {
    /// A machine in its start number `boot_id`.
    pub fn new(boot_id: impl Into<String>) -> Self {
        Self { boot_id: boot_id.into(), ..Self::default() }
    }

    /// A simulated machine that starts anew when this one does.
    pub fn on(root: &Root) -> Self {
        Self::new(boot_id(root))
    }

    /// How often it was restarted.
    pub fn reboots(&self) -> u32 {
        *self.reboots.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes the next restart fail.
    pub fn fail_next(&self, error: ToolError) {
        *self.fault.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
    }
}

impl Machine for SimulatedMachine {
    fn reboot(&self) -> Result<(), ToolError> {
        if let Some(error) = self.fault.lock().unwrap_or_else(PoisonError::into_inner).take() {
            return Err(error);
        }
        *self.reboots.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        Ok(())
    }

    fn boot_id(&self) -> String {
        self.boot_id.clone()
    }

    fn is_simulated(&self) -> bool {
        true
    }
}

/// The kernel's boot id and, since containers have that of their host, when the first process began (proc_pid_stat(5),
/// field 22). Without procfs there is neither: then every start of the agent looks like the same boot.
fn boot_id(root: &Root) -> String {
    let kernel = root.line("proc/sys/kernel/random/boot_id").unwrap_or_default();
    let stat = root.read("proc/1/stat").unwrap_or_default();
    // The name of the process is in brackets and may hold anything; field 3 comes after it.
    let began = stat.rsplit_once(')').and_then(|(_, fields)| fields.split_whitespace().nth(22 - 3));
    format!("{kernel} {}", began.unwrap_or_default())
}
