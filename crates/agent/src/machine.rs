//! The machine that the agent's operations act on: this one, or a simulated one.

mod naming;
mod timezone;

use base::{
    error::ToolError,
    os::{Root, bus::DBus},
};
use futures::future::{BoxFuture, FutureExt, ready};
use serde::{Deserialize, Serialize};
use std::{
    process::{Command, Stdio},
    sync::{Mutex, PoisonError},
};

/// How the machine goes down.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PowerAction {
    /// It comes up again.
    #[default]
    Reboot,
    /// It stays down until somebody at the device gives it power.
    Shutdown,
}

impl PowerAction {
    pub const ALL: [Self; 2] = [Self::Reboot, Self::Shutdown];

    pub fn name(self) -> &'static str {
        match self {
            Self::Reboot => "reboot",
            Self::Shutdown => "shutdown",
        }
    }
    /// The one tool that may request it.
    pub fn tool(self) -> &'static str {
        match self {
            Self::Reboot => "system.reboot",
            Self::Shutdown => "system.shutdown",
        }
    }
}

/// A machine that can be restarted, switched off and renamed, and has a time zone.
pub trait MachineControl: Send + Sync {
    /// Begins to go down and returns; services stop in order after that.
    ///
    /// # Errors
    /// `unavailable` when the order cannot be given.
    fn schedule_power(&self, action: PowerAction) -> Result<(), ToolError>;
    /// The same for a restart that hands `argument` to the firmware (reboot(2), `LINUX_REBOOT_CMD_RESTART2`).
    ///
    /// # Errors
    /// As above.
    fn restart_with(&self, argument: &str) -> Result<(), ToolError>;
    /// The current host name.
    ///
    /// # Errors
    /// `unavailable` when it cannot be read.
    fn hostname(&self) -> Result<String, ToolError>;
    /// Sets the host name, now and for every later start. Does nothing when it is set already.
    ///
    /// # Errors
    /// `unavailable` when it cannot be stored, or did not take effect; those of [`DBus::call`].
    fn set_hostname<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<(), ToolError>>;
    /// The name of the time zone.
    ///
    /// # Errors
    /// `unavailable` when it cannot be read.
    fn timezone(&self) -> Result<String, ToolError>;
    /// Sets the time zone of a machine whose `/etc` can be written.
    ///
    /// # Errors
    /// Those of [`DBus::call`]; `unavailable` when it did not take effect.
    fn set_timezone<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<(), ToolError>>;
    /// Identifies this start of the machine; different after every restart.
    fn boot_id(&self) -> String;
    fn is_simulated(&self) -> bool;
}

/// The machine this process runs on.
pub struct RealMachine {
    pub root: Root,
    pub bus: DBus,
}

impl MachineControl for RealMachine {
    fn schedule_power(&self, action: PowerAction) -> Result<(), ToolError> {
        let verb = match action {
            PowerAction::Reboot => "reboot",
            PowerAction::Shutdown => "poweroff",
        };
        // Not over the bus, which a machine that needs a restart may have lost: systemctl, as root, also reaches the
        // first process directly. `--no-block` returns as soon as systemd has queued it; systemd then stops services in
        // order, this one too.
        self.run("systemctl", &["--no-block", verb])
    }

    fn restart_with(&self, argument: &str) -> Result<(), ToolError> {
        // systemd 257 and later refuse it as a separate argument; older ones know the option as well (systemctl(1),
        // since 246).
        self.run("systemctl", &["--no-block", "reboot", &format!("--reboot-argument={argument}")])
    }

    fn hostname(&self) -> Result<String, ToolError> {
        self.root
            .line("proc/sys/kernel/hostname")
            .map_err(|error| ToolError::unavailable(format!("the host name cannot be read: {error}")))
    }

    fn set_hostname<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<(), ToolError>> {
        Box::pin(naming::set(self, name))
    }

    fn timezone(&self) -> Result<String, ToolError> {
        timezone::of(&self.root)
    }

    fn set_timezone<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<(), ToolError>> {
        Box::pin(timezone::set(self, name))
    }

    fn boot_id(&self) -> String {
        boot_id(&self.root)
    }

    fn is_simulated(&self) -> bool {
        false
    }
}

impl RealMachine {
    /// Runs one of systemd's tools. By absolute path: the agent is root, so the search path must not matter.
    fn run(&self, name: &str, args: &[&str]) -> Result<(), ToolError> {
        let program =
            ["usr/bin", "bin"].into_iter().map(|folder| self.root.path(folder).join(name)).find(|path| path.exists());
        let Some(program) = program else {
            return Err(ToolError::unavailable(format!("there is no {name} on this machine"))
                .hint("images without systemd are not supported yet"));
        };
        let output = Command::new(&program)
            .args(args)
            .env_clear()
            .stdin(Stdio::null())
            .output()
            .map_err(|error| ToolError::unavailable(format!("cannot run {}: {error}", program.display())))?;
        if output.status.success() {
            return Ok(());
        }
        let said: String = String::from_utf8_lossy(&output.stderr).trim().chars().take(200).collect();
        Err(ToolError::unavailable(format!("{name} {} failed: {said}", args.join(" ")))
            .hint("look at `systemctl status` on the device"))
    }
}

/// A machine that only records what was requested.
#[derive(Default)]
pub struct SimulatedMachine {
    boot_id: String,
    reboots: Mutex<u32>,
    shutdowns: Mutex<u32>,
    name: Mutex<String>,
    zone: Mutex<String>,
    /// The argument of the last restart.
    argument: Mutex<Option<String>>,
    /// The error of the next reboot, for tests.
    fault: Mutex<Option<ToolError>>,
}

impl SimulatedMachine {
    /// A machine with the boot id `boot_id`.
    pub fn new(boot_id: impl Into<String>) -> Self {
        Self {
            boot_id: boot_id.into(),
            name: Mutex::new("simulated".into()),
            zone: Mutex::new("UTC".into()),
            ..Self::default()
        }
    }

    /// A simulated machine whose boot id is that of `root`.
    pub fn on(root: &Root) -> Self {
        Self::new(boot_id(root))
    }

    /// How often it was restarted.
    pub fn reboots(&self) -> u32 {
        *self.reboots.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How often it was switched off.
    pub fn shutdowns(&self) -> u32 {
        *self.shutdowns.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The argument that the last restart handed to the firmware, if any.
    pub fn argument(&self) -> Option<String> {
        self.argument.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Makes the next restart fail.
    pub fn fail_next(&self, error: ToolError) {
        *self.fault.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
    }
}

impl MachineControl for SimulatedMachine {
    fn schedule_power(&self, action: PowerAction) -> Result<(), ToolError> {
        if let Some(error) = self.fault.lock().unwrap_or_else(PoisonError::into_inner).take() {
            return Err(error);
        }
        let count = match action {
            PowerAction::Reboot => &self.reboots,
            PowerAction::Shutdown => &self.shutdowns,
        };
        *count.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        *self.argument.lock().unwrap_or_else(PoisonError::into_inner) = None;
        Ok(())
    }

    fn restart_with(&self, argument: &str) -> Result<(), ToolError> {
        self.schedule_power(PowerAction::Reboot)?;
        *self.argument.lock().unwrap_or_else(PoisonError::into_inner) = Some(argument.to_owned());
        Ok(())
    }

    fn hostname(&self) -> Result<String, ToolError> {
        Ok(self.name.lock().unwrap_or_else(PoisonError::into_inner).clone())
    }

    fn set_hostname<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<(), ToolError>> {
        name.clone_into(&mut self.name.lock().unwrap_or_else(PoisonError::into_inner));
        ready(Ok(())).boxed()
    }

    fn timezone(&self) -> Result<String, ToolError> {
        Ok(self.zone.lock().unwrap_or_else(PoisonError::into_inner).clone())
    }

    fn set_timezone<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<(), ToolError>> {
        name.clone_into(&mut self.zone.lock().unwrap_or_else(PoisonError::into_inner));
        ready(Ok(())).boxed()
    }

    fn boot_id(&self) -> String {
        self.boot_id.clone()
    }

    fn is_simulated(&self) -> bool {
        true
    }
}

/// The kernel's boot id and, since containers share their host's, the start time of the first process
/// (proc_pid_stat(5), field 22). Without procfs there is neither: then every start of the agent looks like the same
/// boot.
fn boot_id(root: &Root) -> String {
    let kernel = root.line("proc/sys/kernel/random/boot_id").unwrap_or_default();
    let stat = root.read("proc/1/stat").unwrap_or_default();
    // The process name is in brackets and may contain anything; field 3 follows it.
    let began = stat.rsplit_once(')').and_then(|(_, fields)| fields.split_whitespace().nth(22 - 3));
    format!("{kernel} {}", began.unwrap_or_default())
}
