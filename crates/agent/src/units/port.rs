//! What the agent can be told about a unit, and can have done to one.

use base::{error::ToolError, os::systemd::list::Status};
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

/// One unit of any kind, as it is now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unit {
    /// Its name; the others are aliases of it.
    pub id: String,
    pub names: Vec<String>,
    /// loaded, not-found, masked, bad-setting, error.
    pub load_state: String,
    pub load_error: Option<String>,
    pub status: Status,
    pub sub_status: String,
    pub pid: Option<u64>,
    /// How its last run ended.
    pub result: Option<String>,
    pub exit_code: Option<i32>,
    pub exit_signal: Option<i32>,
    pub can_reload: bool,
    pub unit_file_state: Option<String>,
    pub fragment: Option<String>,
    pub drop_ins: Vec<String>,
    /// Settings by which its end, good or bad, restarts the machine or switches it off: `FailureAction=reboot`.
    pub end_actions: Vec<String>,
    /// It stops when nobody needs it any more.
    pub stops_when_unneeded: bool,
    pub links: Links,
}

/// Where a job for the unit leads (systemd.unit(5)).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Links {
    /// Stopped when it stops: RequiredBy=, RequisiteOf=, BoundBy=, ConsistsOf=, PropagatesStopTo=.
    pub stop_with_it: Vec<String>,
    /// Started when it starts: Requires=, BindsTo=, Wants=, Upholds=.
    pub start_with_it: Vec<String>,
    /// Stopped when it starts: Conflicts=, ConflictedBy=.
    pub conflicts: Vec<String>,
    /// Started when it ends, one way or the other: OnFailure=, OnSuccess=.
    pub start_after_it: Vec<String>,
    /// Reloaded when it is: PropagatesReloadTo=.
    pub reload_with_it: Vec<String>,
    /// Would rather have it, and run on without: WantedBy=.
    pub wanted_by: Vec<String>,
}

/// What enabling a unit does beside linking it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Install {
    /// Its file has an [Install] section with something in it.
    pub has_any: bool,
    /// Units that are enabled or disabled together with it.
    pub also: Vec<String>,
    /// Further names that it takes.
    pub alias: Vec<String>,
    /// Units that then cannot start without it.
    pub required_by: Vec<String>,
}

/// How a job went.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JobEnd {
    /// It is systemd's business now; nobody waited.
    Queued,
    /// systemd's word: done, failed, timeout, dependency, canceled, skipped, ...
    Ended(String),
    /// It did not end in the time it was waited for, and goes on.
    Unfinished,
}

/// The units of a machine.
pub trait Units: Send + Sync {
    /// What a unit is now. A name that has no file is a unit too: its load state says so.
    ///
    /// # Errors
    /// `unavailable` when systemd does not answer.
    fn look<'a>(&'a self, unit: &'a str) -> BoxFuture<'a, Result<Unit, ToolError>>;

    /// Does `action`, and waits for it at most so long; `None`: not at all.
    ///
    /// # Errors
    /// What systemd says to it.
    fn act<'a>(
        &'a self,
        unit: &'a str,
        action: Action,
        mode: JobMode,
        wait: Option<Duration>,
    ) -> BoxFuture<'a, Result<JobEnd, ToolError>>;

    /// What enabling the unit would do beside linking it.
    ///
    /// # Errors
    /// `unavailable` when its file cannot be read.
    fn install(&self, unit: &Unit) -> Result<Install, ToolError>;

    /// Enables or disables it.
    ///
    /// # Errors
    /// What systemd says to it.
    fn set_enabled<'a>(&'a self, unit: &'a str, enabled: bool) -> BoxFuture<'a, Result<(), ToolError>>;
}
