//! The agent's part of the verdict: what it can check without a network, by its own configuration.

use futures::future::{BoxFuture, join_all};
use std::{
    path::{Path, PathBuf},
    time::Duration,
};

/// Time limit of a configured command; beyond it the check fails.
pub const COMMAND: Duration = Duration::from_secs(20);
/// Time limit of the server's answer on its socket.
pub const SERVER: Duration = Duration::from_secs(5);

/// The configured checks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConfiguredChecks {
    /// `update.health_units`.
    pub units: Vec<String>,
    /// `update.health_commands`.
    pub commands: Vec<PathBuf>,
    /// The server's socket; `None` when it is off.
    pub server: Option<PathBuf>,
}

impl ConfiguredChecks {
    /// Only whether the server answers on `socket`.
    pub fn of_server(socket: Option<PathBuf>) -> Self {
        Self { server: socket, ..Self::default() }
    }
}

/// The port for the agent's checks; each returns `Err` with the reason, for people.
pub trait Eyes: Send + Sync {
    /// Whether the unit is active.
    fn unit<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<(), String>>;
    /// Whether the command exits with 0 within [`COMMAND`].
    fn command<'a>(&'a self, program: &'a Path) -> BoxFuture<'a, Result<(), String>>;
    /// Whether the server answers there within [`SERVER`].
    fn server<'a>(&'a self, socket: &'a Path) -> BoxFuture<'a, Result<(), String>>;
}

/// Runs all checks and returns the problems.
pub async fn problems(eyes: &dyn Eyes, wants: &ConfiguredChecks) -> Vec<String> {
    let units = join_all(
        wants
            .units
            .iter()
            .map(|name| async move { eyes.unit(name).await.err().map(|why| format!("service {name}: {why}")) }),
    );
    // One at a time: a small machine is busy just after it started.
    let commands = async {
        let mut found = Vec::new();
        for program in &wants.commands {
            let why = eyes.command(program).await.err();
            found.push(why.map(|why| format!("command {}: {why}", program.display())));
        }
        found
    };
    let server = async {
        let socket = wants.server.as_ref()?;
        let why = eyes.server(socket).await.err()?;
        Some(format!("the server on {}: {why}", socket.display()))
    };
    let (units, commands, server) = futures::join!(units, commands, server);
    units.into_iter().chain(commands).chain([server]).flatten().collect()
}
