//! Starts programs as children of this process, each in a group of its own that ends as a whole.

use ::agent::exec::{CommandPlan, CommandProcess, Ending, Runner, Started};
use base::error::ToolError;
use futures::future::BoxFuture;
use rustix::process::{Pid, Signal, kill_process_group};
use std::{
    io::Write,
    os::unix::process::{CommandExt, ExitStatusExt},
    process::Stdio,
    sync::Mutex,
};

#[derive(Default)]
pub struct Direct {
    /// What was started, in order.
    pub plans: Mutex<Vec<CommandPlan>>,
    pids: Mutex<Vec<i32>>,
    /// The address of a bus. Then programs run as their accounts.
    bus: Option<String>,
}

impl Direct {
    pub fn on(bus: Option<String>) -> Self {
        Self { bus, ..Self::default() }
    }

    /// Processes that were started and are there still.
    pub fn alive(&self) -> usize {
        let there =
            |pid: &&i32| std::fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z "));
        self.pids.lock().unwrap().iter().filter(there).count()
    }

    /// Kills the newest process, and nothing else of its group.
    pub fn kill_newest(&self) {
        kill(*self.pids.lock().unwrap().last().unwrap());
    }

    /// The same, among those of one type.
    pub fn kill_newest_of(&self, agent: &str) {
        let of_agent = ("RASPI_MCP_AGENT".to_owned(), agent.to_owned());
        let newest = self.plans.lock().unwrap().iter().rposition(|plan| plan.env.contains(&of_agent)).unwrap();
        kill(self.pids.lock().unwrap()[newest]);
    }
}

fn kill(pid: i32) {
    rustix::process::kill_process(Pid::from_raw(pid).unwrap(), Signal::KILL).unwrap();
}

impl Runner for Direct {
    fn start<'a>(&'a self, plan: &'a CommandPlan) -> BoxFuture<'a, Result<Started, ToolError>> {
        Box::pin(async move {
            let failed = |error: std::io::Error| ToolError::unavailable(error.to_string());
            let mut command = std::process::Command::new(&plan.program);
            command.args(&plan.args).env_clear().envs(plan.env.iter().cloned()).current_dir(&plan.cwd).process_group(0);
            command.stderr(Stdio::piped()).stdout(Stdio::piped());
            if let Some(bus) = &self.bus {
                command.env("DBUS_SYSTEM_BUS_ADDRESS", bus).uid(plan.account.uid).gid(plan.account.gid);
            }
            match &plan.stdio {
                Some(socket) => {
                    command.stdin(socket.try_clone().map_err(failed)?).stdout(socket.try_clone().map_err(failed)?);
                }
                None => {
                    let mut file = tempfile::tempfile().map_err(failed)?;
                    file.write_all(&plan.stdin).and_then(|()| std::io::Seek::rewind(&mut file)).map_err(failed)?;
                    command.stdin(file);
                }
            }
            let mut child = tokio::process::Command::from(command).spawn().map_err(failed)?;
            self.plans.lock().unwrap().push(plan.clone());
            let pid = i32::try_from(child.id().unwrap()).unwrap();
            self.pids.lock().unwrap().push(pid);
            let stderr = Box::new(child.stderr.take().unwrap());
            let stdout: ::agent::exec::Pipe = match child.stdout.take() {
                Some(stdout) => Box::new(stdout),
                None => Box::new(tokio::io::empty()),
            };
            Ok(Started { stdout, stderr, process: Box::new(Process { child, pid }) })
        })
    }
}

struct Process {
    child: tokio::process::Child,
    pid: i32,
}

impl Process {
    fn signal(&self, signal: Signal) {
        // It may have ended.
        let _ = kill_process_group(Pid::from_raw(self.pid).unwrap(), signal);
    }
}

impl CommandProcess for Process {
    fn ended(&mut self) -> BoxFuture<'_, Result<Ending, ToolError>> {
        Box::pin(async {
            let status = self.child.wait().await.map_err(|error| ToolError::unavailable(error.to_string()))?;
            self.signal(Signal::KILL);
            Ok(status.code().map_or_else(|| Ending::Killed(status.signal().unwrap()), Ending::Exited))
        })
    }

    fn stop(&mut self) -> BoxFuture<'_, ()> {
        self.signal(Signal::KILL);
        Box::pin(async {})
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.signal(Signal::KILL);
    }
}
