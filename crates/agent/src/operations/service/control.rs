//! Starts, stops, restarts or reloads a service.

use super::{refuse_to_break, same_service, service};
use crate::{
    authorization::Authorization,
    context::Context,
    operations::Operation,
    units::{Action, JobEnd, JobMode, Unit, reach},
};
use base::{
    error::{ErrorCode, ToolError},
    os::systemd::list::ActiveState,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::time::Duration;

/// How long a job is waited for. systemd's own limit for a start or a stop is 90 s unless the unit sets another
/// (systemd-system.conf(5), DefaultTimeoutStartSec=); its result still arrives in time.
pub const WAIT: Duration = Duration::from_secs(100);

/// The job to run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ControlRequest {
    /// Requested by a tool named after the action, such as `service.start`, and not by `service.control_service`.
    pub short: bool,
    /// Full name, or without ".service".
    pub service_name: String,
    pub action: Action,
    pub mode: JobMode,
    /// Whether to wait for the job's end.
    pub wait: bool,
    /// Continue even if active units depend on it.
    pub break_dependents: bool,
    /// Judge it and change nothing.
    pub dry_run: bool,
    #[serde(rename = "warrant")]
    pub authorization: Authorization,
}

impl ControlRequest {
    /// The one tool that may request it.
    pub fn tool(&self) -> &'static str {
        match (self.short, self.action) {
            (true, Action::Start) => "service.start",
            (true, Action::Stop) => "service.stop",
            (true, Action::Restart) => "service.restart",
            _ => "service.control_service",
        }
    }
}

/// How a service is, in short.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "struct State")]
#[schemars(inline)]
pub struct ServiceState {
    pub status: ActiveState,
    /// More exactly: running, exited, dead, failed, auto-restart, ...
    pub sub_status: String,
    /// Its main process, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u64", range(min = 1))]
    pub pid: Option<u64>,
}

impl ServiceState {
    fn of(unit: &Unit) -> Self {
        Self { status: unit.status, sub_status: unit.sub_status.clone(), pid: unit.pid }
    }
}

/// The outcome.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Controlled {
    /// Full name; of an alias, the name behind it.
    pub name: String,
    pub previous: ServiceState,
    pub now: ServiceState,
    /// systemd's result of the job; "queued" without waiting; `None` on a dry run.
    pub job: Option<String>,
    /// Other active units that stop (or restart) with it.
    pub affected: Vec<String>,
    pub simulated: bool,
}

/// Starts, stops, restarts or reloads a service, and waits for the end of the job unless told not to.
pub struct ControlUnit;

impl Operation for ControlUnit {
    const TAG: &'static str = "control_unit";
    const ANSWER: &'static str = "unit";
    const WAITS: bool = true;
    const CHANGES: bool = true;
    type Request = ControlRequest;
    type Answer = Controlled;

    fn patience(request: &ControlRequest) -> Duration {
        if request.wait { WAIT } else { Duration::ZERO }
    }

    fn was_shown(request: &ControlRequest, args: &Value) -> bool {
        let flag = |name: &str| args.get(name).and_then(Value::as_bool).unwrap_or(false);
        let mode = args.get("mode").filter(|mode| !mode.is_null()).cloned().unwrap_or(json!(JobMode::default()));
        same_service(args, &request.service_name)
            && (request.short || args.get("action") == Some(&json!(request.action)))
            && mode == json!(request.mode)
            && flag("no_block") != request.wait
            && (flag("force") && flag("confirm_breaking_dependencies")) == request.break_dependents
            && !flag("dry_run")
    }

    async fn run(cx: &Context<'_>, request: ControlRequest) -> Result<Controlled, ToolError> {
        let result = control(cx, &request).await;
        cx.noted(Self::TAG, json!(request), result)
    }
}

async fn control(cx: &Context<'_>, request: &ControlRequest) -> Result<Controlled, ToolError> {
    let tool = request.tool();
    let does = json!({ "action": request.action });
    cx.policy().check_call(tool, &does)?;
    let (action, verb) = (request.action, request.action.word());
    let unit = service(cx, tool, &request.authorization.principal, &request.service_name, verb).await?;
    let reach = reach::of(&*cx.units, &unit, action).await?;
    fit(&unit, action)?;
    if action == Action::Stop && !request.break_dependents {
        refuse_to_break(&unit, verb, &reach)?;
    }
    let (previous, affected) = (ServiceState::of(&unit), reach.stops);
    let done = |now: ServiceState, job| Controlled {
        name: unit.id.clone(),
        previous: previous.clone(),
        now,
        job,
        affected: affected.clone(),
        simulated: cx.simulated,
    };
    if request.dry_run {
        return Ok(done(previous.clone(), None));
    }
    cx.admit_call(tool, &does, &request.authorization, |args| ControlUnit::was_shown(request, args))?;
    // Logged before it is done: the caller may be gone when the job ends.
    cx.log.note("control_unit begins", cx.peer, json!(request), None)?;
    let end = cx.units.act(&unit.id, action, request.mode, request.wait.then_some(WAIT)).await;
    let end = end.map_err(ToolError::maybe_changed)?;
    let after = cx.units.look(&unit.id).await.map_err(ToolError::maybe_changed)?;
    let now = ServiceState::of(&after);
    match end {
        JobEnd::Queued => Ok(done(now, Some("queued".into()))),
        JobEnd::Ended(word) if word == "done" && after.status != ActiveState::Failed => Ok(done(now, Some(word))),
        // systemd found nothing to do: a condition of the unit is not met.
        JobEnd::Ended(word) if word == "skipped" => Ok(done(now, Some(word))),
        JobEnd::Ended(word) => Err(failed(&unit, action, &after, &word, &previous)),
        JobEnd::Unfinished => Err(unfinished(&unit, action, &previous, &now)),
    }
}

/// Checks that systemd could do it at all, before a person is asked.
fn fit(unit: &Unit, action: Action) -> Result<(), ToolError> {
    let starts = matches!(action, Action::Start | Action::Restart);
    let refuse = |why: String, hint: &str| {
        let error = ToolError::precondition(why).with("service_name", unit.id.clone());
        Err(error.with("load_state", unit.load_state.clone()).hint(hint))
    };
    match unit.load_state.as_str() {
        "masked" if starts => {
            refuse(format!("{} is masked: it cannot be started", unit.id), "systemctl unmask it at the device")
        }
        "bad-setting" | "error" if starts => {
            let fault = unit.load_error.as_deref().unwrap_or("its file has a fault");
            refuse(format!("{} cannot be started: {fault}", unit.id), "service.validate_unit_file says what is wrong")
        }
        _ if action == Action::Reload && !unit.can_reload => {
            refuse(format!("{} has nothing to reload its configuration with", unit.id), "restart it instead")
        }
        _ if action == Action::Reload && !unit.status.is_up() => {
            refuse(format!("{} is not active, so there is nothing to reload", unit.id), "start it instead")
        }
        _ => Ok(()),
    }
}

fn failed(unit: &Unit, action: Action, after: &Unit, job: &str, previous: &ServiceState) -> ToolError {
    let how = match (after.exit_code, after.exit_signal, after.result.as_deref()) {
        _ if job == "dependency" => ": a unit that it needs did not start".to_owned(),
        (_, _, Some("timeout")) => ": it took longer than its unit allows".to_owned(),
        (Some(code), _, Some("exit-code")) => format!(": its process ended with code {code}"),
        (_, Some(signal), Some("signal" | "core-dump")) => format!(": its process was ended by signal {signal}"),
        (_, _, Some(result)) if result != "success" => format!(": {result}"),
        _ => format!(": the job ended as \"{job}\""),
    };
    let now = ServiceState::of(after);
    let mut error = ToolError::precondition(format!("{} of {} failed{how}", action.word(), unit.id))
        .with("service_name", unit.id.clone())
        .with("job_result", job)
        .with("result", after.result.clone())
        .with("changed", now != *previous)
        .with("previous", json!(previous))
        .with("now", json!(now))
        .hint(format!("logs.query_journal with unit \"{}\" has what it said", unit.id));
    for (name, value) in [("exit_code", after.exit_code), ("exit_signal", after.exit_signal)] {
        error = error.with_some(name, value);
    }
    error
}

fn unfinished(unit: &Unit, action: Action, previous: &ServiceState, now: &ServiceState) -> ToolError {
    let seconds = WAIT.as_secs();
    ToolError::new(
        ErrorCode::Timeout,
        format!("{} of {} has not ended after {seconds} s, and goes on", action.word(), unit.id),
    )
    .with("service_name", unit.id.clone())
    .with("changed", true)
    .with("stopped", false)
    .with("previous", json!(previous))
    .with("now", json!(now))
    .hint("service.get_status says how it is later; with no_block nobody waits")
}
