//! The agent's part of the verdict: what it can check without a network, by its own configuration.

use super::Missing;
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

/// What the configured checks found: nothing if all succeeded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OwnVerdict {
    /// The problems, for people.
    pub problems: Vec<String>,
    /// What the problems are about, for a comparison with another system.
    pub missing: Missing,
}

impl OwnVerdict {
    pub fn is_healthy(&self) -> bool {
        self.problems.is_empty()
    }
}

/// Runs all checks.
pub async fn verdict(eyes: &dyn Eyes, wants: &ConfiguredChecks) -> OwnVerdict {
    let units = join_all(wants.units.iter().map(|name| async move { Some((name, eyes.unit(name).await.err()?)) }));
    // One at a time: a small machine is busy just after it started.
    let commands = async {
        let mut found = Vec::new();
        for program in &wants.commands {
            found.extend(eyes.command(program).await.err().map(|why| (program, why)));
        }
        found
    };
    let server = async {
        let socket = wants.server.as_ref()?;
        Some((socket, eyes.server(socket).await.err()?))
    };
    let (units, commands, server) = futures::join!(units, commands, server);
    let mut found = OwnVerdict::default();
    for (name, why) in units.into_iter().flatten() {
        found.problems.push(format!("service {name}: {why}"));
        found.missing.services.insert(name.clone());
    }
    for (program, why) in commands {
        found.problems.push(format!("command {}: {why}", program.display()));
        found.missing.commands.insert(program.clone());
    }
    if let Some((socket, why)) = server {
        found.problems.push(format!("the server on {}: {why}", socket.display()));
        found.missing.server = true;
    }
    found
}
