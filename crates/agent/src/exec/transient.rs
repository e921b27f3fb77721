//! The runner of a machine with systemd: a transient unit for each command, in a slice of its own.
//!
//! systemd starts it, so it inherits neither the agent's sandbox nor its lack of network. Its control group contains
//! every process it starts, whatever they do about sessions and parents, and is ended as a whole: when the first
//! process ends, when it is stopped, when its time limit is reached, and when the agent's own unit ends (`BindsTo=`).
//! Properties: org.freedesktop.systemd1(5), systemd.exec(5), systemd.kill(5).

mod properties;
mod watch;

use super::{CommandPlan, CommandProcess, Ending, Runner, Started};
use base::{
    error::ToolError,
    os::bus::{DBus, DBusObject},
};
use futures::future::BoxFuture;
use std::{
    io::{self, Seek, Write},
    os::fd::OwnedFd,
    sync::Arc,
    time::Duration,
};
use tokio::net::unix::pipe;
use watch::UnitWatch;

const MANAGER: DBusObject<'static> = DBusObject {
    service: "org.freedesktop.systemd1",
    path: "/org/freedesktop/systemd1",
    interface: "org.freedesktop.systemd1.Manager",
};
/// Prefixes of all our units.
pub(super) const EXEC: &str = "raspi-mcp-exec-";
pub(super) const AGENT: &str = "raspi-mcp-agent-";
/// Longest wait for a stop: two seconds of grace, and ten for systemd.
const END: Duration = Duration::from_secs(12);

/// Starts commands as units.
pub struct Transient {
    bus: Arc<DBus>,
    /// The agent's own unit, which those of commands are bound to.
    agent: Option<String>,
}

impl Transient {
    /// Uses this machine's systemd.
    pub fn system() -> Self {
        Self { bus: Arc::new(DBus::system()), agent: own_unit() }
    }

    async fn begin(&self, plan: &CommandPlan) -> Result<Started, ToolError> {
        let failed = |error: io::Error| ToolError::unavailable(format!("no pipes for the command: {error}"));
        let (stdout, out) = io::pipe().map_err(failed)?;
        let (stderr, err) = io::pipe().map_err(failed)?;
        let input = given(&plan.stdin).map_err(failed)?;
        let name = format!("{}{}.service", plan.unit.prefix, plan.id);
        let watch = UnitWatch::start(&self.bus, &name).await?;
        let (input, out) = match &plan.stdio {
            None => (input, out.into()),
            Some(socket) => {
                let end = || socket.try_clone().map_err(failed);
                (Some(end()?), end()?)
            }
        };
        let properties = properties::of(plan, self.agent.as_deref(), input, out, err.into())?;
        let none: Vec<(&str, Vec<(&str, zbus::Variant<'_>)>)> = Vec::new();
        self.bus.call(MANAGER, "StartTransientUnit", &(&name, "fail", properties, none)).await?;
        // From here on it runs, and must be ended when it is dropped.
        let process = Box::new(Unit { bus: Arc::clone(&self.bus), name, watch, ending: None });
        Ok(Started {
            stdout: Box::new(pipe::Receiver::from_owned_fd(stdout.into()).map_err(failed)?),
            stderr: Box::new(pipe::Receiver::from_owned_fd(stderr.into()).map_err(failed)?),
            process,
        })
    }
}

impl Runner for Transient {
    fn start<'a>(&'a self, plan: &'a CommandPlan) -> BoxFuture<'a, Result<Started, ToolError>> {
        Box::pin(self.begin(plan))
    }

    fn sweep(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {
            if let Err(error) = self.swept().await {
                tracing::warn!(target: "agent", %error, "could not look for commands of an agent before");
            }
        })
    }
}

impl Transient {
    async fn swept(&self) -> Result<(), ToolError> {
        // Our units in any state. `Vec`, not an array: zbus encodes arrays as structures.
        let (states, names) = (Vec::<&str>::new(), [EXEC, AGENT].map(|prefix| format!("{prefix}*.service")).to_vec());
        let answer = self.bus.call(MANAGER, "ListUnitsByPatterns", &(states, names)).await?;
        type Row<'a> = (
            &'a str,
            &'a str,
            &'a str,
            &'a str,
            &'a str,
            &'a str,
            zbus::ObjectPath<'a>,
            u32,
            &'a str,
            zbus::ObjectPath<'a>,
        );
        let body = answer.body();
        let rows: Vec<Row<'_>> = body
            .deserialize()
            .map_err(|error| ToolError::unavailable(format!("systemd's list of units cannot be read: {error}")))?;
        for (name, ..) in rows {
            tracing::warn!(target: "agent", unit = name, "a command of an agent before this one is ended");
            stop(&self.bus, name).await;
        }
        Ok(())
    }
}

struct Unit {
    bus: Arc<DBus>,
    name: String,
    watch: UnitWatch,
    ending: Option<Result<Ending, ToolError>>,
}

impl CommandProcess for Unit {
    fn ended(&mut self) -> BoxFuture<'_, Result<Ending, ToolError>> {
        Box::pin(async {
            if self.ending.is_none() {
                self.ending = Some(self.watch.ended().await);
            }
            self.ending.clone().unwrap_or_else(|| Err(ToolError::internal("no ending")))
        })
    }

    fn stop(&mut self) -> BoxFuture<'_, ()> {
        Box::pin(stop(&self.bus, &self.name))
    }
}

impl Drop for Unit {
    fn drop(&mut self) {
        if self.ending.is_none() {
            let (bus, name) = (Arc::clone(&self.bus), std::mem::take(&mut self.name));
            base::task::spawn(async move { stop(&bus, &name).await });
        }
    }
}

async fn stop(bus: &DBus, name: &str) {
    if let Err(error) = bus.call(MANAGER, "StopUnit", &(name, "replace")).await {
        // It has ended already, or systemd does not answer: then its own time limit ends it.
        tracing::debug!(target: "agent", %error, unit = name, "not stopped");
    }
}

/// The command's standard input: a file in memory, so that nothing has to write to a pipe. `None` when it is empty.
fn given(input: &[u8]) -> io::Result<Option<OwnedFd>> {
    if input.is_empty() {
        return Ok(None);
    }
    let memory = rustix::fs::memfd_create("stdin", rustix::fs::MemfdFlags::CLOEXEC)?;
    let mut file = std::fs::File::from(memory);
    file.write_all(input)?;
    file.rewind()?;
    Ok(Some(file.into()))
}

/// The service this process is: the last part of its control group's path.
fn own_unit() -> Option<String> {
    let groups = std::fs::read_to_string("/proc/self/cgroup").ok()?;
    let unit = groups.lines().filter_map(|line| line.rsplit('/').next()).find(|name| name.ends_with(".service"))?;
    Some(unit.to_owned())
}
