//! The agent's health checks for a trial: units over D-Bus, configured commands, the server's socket.

use super::Installer;
use crate::exec::{Account, CommandPlan, Ending, UnitClass};
use base::os::local;
use futures::future::{BoxFuture, FutureExt};
use serde_json::json;
use std::{path::Path, process::Stdio};
use update::health::own::{COMMAND, Eyes, SERVER};

impl Eyes for Installer {
    fn unit<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<(), String>> {
        async move {
            let unit = self.means.units.look(name).await.map_err(|error| error.into_message())?;
            let state = unit.status.word();
            if state == "active" { Ok(()) } else { Err(format!("it is {state} ({})", unit.sub_status)) }
        }
        .boxed()
    }

    fn command<'a>(&'a self, program: &'a Path) -> BoxFuture<'a, Result<(), String>> {
        async move {
            let ended = tokio::time::timeout(COMMAND, self.check_with(program)).await;
            match ended.map_err(|_| format!("it did not end within {} s", COMMAND.as_secs()))?? {
                Ending::Exited(0) => Ok(()),
                Ending::Exited(code) => Err(format!("it ended with {code}")),
                Ending::Killed(signal) => Err(format!("signal {signal} killed it")),
            }
        }
        .boxed()
    }

    fn server<'a>(&'a self, socket: &'a Path) -> BoxFuture<'a, Result<(), String>> {
        async move {
            // A simulated machine's server is this very process; the image's own statement stands in for its health.
            if self.means.simulated {
                return self.system().map_or(Ok(()), |system| system.simulated_health());
            }
            // Expects an answer, not only a listening socket: a server that hangs has one as well.
            let request = json!({"jsonrpc": "2.0", "id": 1, "method": "manage.get_capabilities", "params": {}});
            let asked = tokio::time::timeout(SERVER, local::request(socket, &request)).await;
            let answer = asked.map_err(|_| format!("it does not answer within {} s", SERVER.as_secs()))?;
            let answer = answer.map_err(|error| error.into_message())?;
            if answer["result"]["server_version"].is_string() {
                return Ok(());
            }
            Err(answer["error"]["message"].as_str().unwrap_or("it answers something else").to_owned())
        }
        .boxed()
    }
}

impl Installer {
    /// Runs a program of the agent's own configuration as the agent: only root can have written it there.
    async fn check_with(&self, program: &Path) -> Result<Ending, String> {
        if self.means.runner.is_simulated() {
            let plan = CommandPlan {
                id: "health".into(),
                program: program.to_owned(),
                args: Vec::new(),
                cwd: "/".into(),
                cwd_can_change: false,
                env: Vec::new(),
                stdin: Vec::new(),
                account: Account { name: "root".into(), uid: 0, gid: 0 },
                network: false,
                writable: Vec::new(),
                hidden: Vec::new(),
                limit: COMMAND,
                stdio: None,
                unit: UnitClass::exec(),
            };
            let mut started = self.means.runner.start(&plan).await.map_err(|error| error.into_message())?;
            return started.process.ended().await.map_err(|error| error.into_message());
        }
        let mut command = tokio::process::Command::new(program);
        command.env_clear().env("PATH", "/usr/local/bin:/usr/bin:/bin").kill_on_drop(true);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let status = command.status().await.map_err(|error| format!("it cannot be run: {error}"))?;
        Ok(match status.code() {
            Some(code) => Ending::Exited(code),
            None => Ending::Killed(std::os::unix::process::ExitStatusExt::signal(&status).unwrap_or(0)),
        })
    }
}
