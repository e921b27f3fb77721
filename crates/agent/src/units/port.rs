//! The port to units: their state, and what can be done to them.

use base::{error::ToolError, os::systemd::list::ActiveState};
use futures::future::BoxFuture;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// What is done to a service.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum Action {
    Start,
    Stop,
    Restart,
    Reload,
}

impl Action {
    pub const ALL: [Self; 4] = [Self::Start, Self::Stop, Self::Restart, Self::Reload];

    pub fn word(self) -> &'static str {
        match self {
            Self::Start => "start",
            Self::Stop => "stop",
            Self::Restart => "restart",
            Self::Reload => "reload",
        }
    }
}

/// What happens to a job for the same unit that waits already (systemctl(1), --job-mode): it is replaced, or stays and this
/// one fails. The modes that would stop or
/// cancel what has nothing to do with the unit (isolate, flush, replace-irreversibly) or pass over dependencies are left out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum JobMode {
    #[default]
    Replace,
    Fail,
}

impl JobMode {
    pub fn word(self) -> &'static str {
        match self {
            Self::Replace => "replace",
            Self::Fail => "fail",
        }
    }
}

/// The current state of a unit of any kind.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Unit {
    /// Its own name; the others are aliases.
    pub id: String,
    pub names: Vec<String>,
    /// loaded, not-found, masked, bad-setting, error.
    pub load_state: String,
    pub load_error: Option<String>,
    pub status: ActiveState,
    pub sub_status: String,
    pub pid: Option<u64>,
    /// The result of its last run.
    pub result: Option<String>,
    pub exit_code: Option<i32>,
    pub exit_signal: Option<i32>,
    pub can_reload: bool,
    pub unit_file_state: Option<String>,
    pub fragment: Option<String>,
    pub drop_ins: Vec<String>,
    /// Settings by which its end, good or bad, restarts the machine or switches it off: `FailureAction=reboot`.
    pub end_actions: Vec<String>,
    /// It stops when no other unit needs it.
    pub stops_when_unneeded: bool,
    pub links: Links,
}

/// The units that a job for the unit affects (systemd.unit(5)).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Links {
    /// Stopped when it stops: RequiredBy=, RequisiteOf=, BoundBy=, ConsistsOf=, PropagatesStopTo=.
    pub stop_with_it: Vec<String>,
    /// Started when it starts: Requires=, BindsTo=, Wants=, Upholds=.
    pub start_with_it: Vec<String>,
    /// Stopped when it starts: Conflicts=, ConflictedBy=.
    pub conflicts: Vec<String>,
    /// Started when it ends: OnFailure=, OnSuccess=.
    pub start_after_it: Vec<String>,
    /// Reloaded when it is: PropagatesReloadTo=.
    pub reload_with_it: Vec<String>,
    /// Want it, but run without it: WantedBy=.
    pub wanted_by: Vec<String>,
}

/// What enabling a unit does besides linking it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EnableEffects {
    /// Its file has a non-empty [EnableEffects] section.
    pub has_any: bool,
    /// Units that are enabled or disabled with it.
    pub also: Vec<String>,
    /// Further names that it gets.
    pub alias: Vec<String>,
    /// Units that then cannot start without it.
    pub required_by: Vec<String>,
}

/// How a job ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JobEnd {
    /// Queued in systemd; not waited for.
    Queued,
    /// systemd's result: done, failed, timeout, dependency, canceled, skipped, ...
    Ended(String),
    /// It did not end within the wait, and continues.
    Unfinished,
}

/// The units of a machine.
pub trait Units: Send + Sync {
    /// The current state of a unit. A name without a file is a unit too; its load state says so.
    ///
    /// # Errors
    /// `unavailable` when systemd does not answer.
    fn look<'a>(&'a self, unit: &'a str) -> BoxFuture<'a, Result<Unit, ToolError>>;

    /// All units of a simulated machine, by name. None of a real one, where the server asks systemd itself.
    fn simulated(&self) -> Vec<Unit> {
        Vec::new()
    }

    /// Runs `action`, and waits for it at most this long; `None`: does not wait.
    ///
    /// # Errors
    /// systemd's error.
    fn act<'a>(
        &'a self,
        unit: &'a str,
        action: Action,
        mode: JobMode,
        wait: Option<Duration>,
    ) -> BoxFuture<'a, Result<JobEnd, ToolError>>;

    /// What enabling the unit would do besides linking it.
    ///
    /// # Errors
    /// `unavailable` when its file cannot be read.
    fn install(&self, unit: &Unit) -> Result<EnableEffects, ToolError>;

    /// Enables or disables it.
    ///
    /// # Errors
    /// systemd's error.
    fn set_enabled<'a>(&'a self, unit: &'a str, enabled: bool) -> BoxFuture<'a, Result<(), ToolError>>;
}
