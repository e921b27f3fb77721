//! `service.get_status`: all details of one service (docs/contract/service.md).

use super::{
    recent_logs::{self, LogLine},
    running::ServiceUsage,
    service_name, simulated,
};
use crate::registry::{context::Context, tool::Tool};
use agent::units::Unit;
use base::{
    error::{ErrorCode, ToolError},
    os::systemd::{
        ServiceName, UnitProperties,
        enabled::is_enabled,
        list::ActiveState,
        name::{LONGEST, PATTERN},
        properties::{self, GetAllReply},
    },
    redact::{MASK, is_secret_name, redact_command, redact_text},
};
use contract::meta::Meta;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {
    /// With or without ".service".
    #[schemars(length(min = 1, max = LONGEST), regex(pattern = PATTERN))]
    #[serde(deserialize_with = "service_name")]
    service_name: String,
    /// Also its newest log lines.
    #[serde(default = "yes")]
    with_logs: bool,
}

fn yes() -> bool {
    true
}

#[derive(Serialize, JsonSchema)]
pub struct Out {
    /// Full name; of an alias, the name behind it.
    name: String,
    display_name: String,
    description: String,
    status: ActiveState,
    /// More exactly: running, exited, dead, failed, auto-restart, ...
    sub_status: String,
    /// Whether it starts at boot.
    enabled: bool,
    /// enabled, disabled, static, masked, ... (systemctl is-enabled); absent without a file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    unit_file_state: Option<String>,
    /// What the distribution would have it be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    preset: Option<String>,
    /// loaded, masked, bad-setting, error.
    load_state: String,
    /// What is wrong with its file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    load_error: Option<String>,
    #[serde(flatten)]
    running: ServiceUsage,
    can_start: bool,
    can_stop: bool,
    can_reload: bool,
    /// How its last run ended: success, exit-code, signal, timeout, ...
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    result: Option<String>,
    /// Exit code of the main process that ended last; absent when a signal ended it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "i32")]
    exit_code: Option<i32>,
    /// Number of the signal that ended it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "i32")]
    exit_signal: Option<i32>,
    /// What the service says about itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    status_text: Option<String>,
    /// The file it is made of: the source of a generated one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    unit_file_path: Option<String>,
    /// The file that systemd reads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    fragment_path: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    drop_in_paths: Vec<String>,
    /// Command lines, without secrets.
    exec_start: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    exec_stop: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    working_directory: Option<String>,
    /// Absent: root.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    user: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    group: Option<String>,
    /// As the unit sets it; secrets masked.
    environment: BTreeMap<String, String>,
    /// Restart=: no, always, on-failure, ...
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    restart_policy: Option<String>,
    dependencies: Dependencies,
    /// Up to 10 lines, newest first, without secrets; absent where this caller or the server may not read the journal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Vec<LogLine>")]
    recent_logs: Option<Vec<LogLine>>,
    /// Why recent_logs is absent or empty, or not all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    recent_logs_note: Option<String>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(inline)]
struct Dependencies {
    requires: Vec<String>,
    wants: Vec<String>,
    required_by: Vec<String>,
    wanted_by: Vec<String>,
    after: Vec<String>,
    before: Vec<String>,
}

/// `KEY=value` lines as a map; secrets are masked, by their name or their form.
fn environment(lines: Vec<String>) -> BTreeMap<String, String> {
    let pair = |line: String| {
        let (key, value) = line.split_once('=')?;
        let value = if is_secret_name(key) { MASK.to_owned() } else { redact_text(value) };
        Some((key.to_owned(), value))
    };
    base::sort::map(lines.into_iter().filter_map(pair))
}

fn commands(properties: &UnitProperties<'_>, name: &str) -> Vec<String> {
    properties.commands(name).into_iter().map(|words| redact_command(words).join(" ")).collect()
}

fn out(cx: &Context, name: &ServiceName, of: &UnitProperties<'_>) -> Out {
    let full = of.text("Id").unwrap_or(name.as_str()).to_owned();
    // CLD_EXITED is 1; CLD_KILLED and CLD_DUMPED are 2 and 3 (waitid(2)). 0: nothing has ended yet.
    let (code, status) = (of.signed("ExecMainCode").unwrap_or(0), of.signed("ExecMainStatus"));
    let fragment = of.owned("FragmentPath");
    Out {
        display_name: full.strip_suffix(".service").unwrap_or(&full).to_owned(),
        description: of.owned("Description").unwrap_or_default(),
        status: ActiveState::of(of.text("ActiveState").unwrap_or_default()),
        sub_status: of.owned("SubState").unwrap_or_default(),
        enabled: of.text("UnitFileState").is_some_and(is_enabled),
        unit_file_state: of.owned("UnitFileState"),
        preset: of.owned("UnitFilePreset"),
        load_state: of.owned("LoadState").unwrap_or_default(),
        load_error: of.load_error(),
        running: ServiceUsage::of(cx, &full, of),
        can_start: of.flag("CanStart"),
        can_stop: of.flag("CanStop"),
        can_reload: of.flag("CanReload"),
        result: of.owned("Result"),
        exit_code: status.filter(|_| code == 1),
        exit_signal: status.filter(|_| code == 2 || code == 3),
        status_text: of.text("StatusText").map(redact_text),
        unit_file_path: of.owned("SourcePath").or_else(|| fragment.clone()),
        fragment_path: fragment,
        drop_in_paths: of.list("DropInPaths"),
        exec_start: commands(of, "ExecStart"),
        exec_stop: commands(of, "ExecStop"),
        // In systemd, a leading "-" or "!" means "may be missing".
        working_directory: of.text("WorkingDirectory").map(|path| path.trim_start_matches(['-', '!']).to_owned()),
        user: of.owned("User"),
        group: of.owned("Group"),
        environment: environment(of.list("Environment")),
        restart_policy: of.owned("Restart"),
        dependencies: Dependencies {
            requires: of.list("Requires"),
            wants: of.list("Wants"),
            required_by: of.list("RequiredBy"),
            wanted_by: of.list("WantedBy"),
            after: of.list("After"),
            before: of.list("Before"),
        },
        recent_logs: None,
        recent_logs_note: None,
        name: full,
    }
}

/// A simulated service: what its simulation has, and nothing of systemd.
fn simulated_out(unit: Unit, with_logs: bool) -> Out {
    Out {
        display_name: unit.id.strip_suffix(".service").unwrap_or(&unit.id).to_owned(),
        description: simulated::description(&unit),
        running: ServiceUsage::of_process(unit.pid),
        name: unit.id,
        status: unit.status,
        sub_status: unit.sub_status,
        enabled: unit.unit_file_state.as_deref().is_some_and(is_enabled),
        unit_file_state: unit.unit_file_state,
        preset: None,
        load_state: unit.load_state,
        load_error: unit.load_error,
        can_start: true,
        can_stop: true,
        can_reload: unit.can_reload,
        result: unit.result,
        exit_code: unit.exit_code,
        exit_signal: unit.exit_signal,
        status_text: None,
        unit_file_path: unit.fragment.clone(),
        fragment_path: unit.fragment,
        drop_in_paths: unit.drop_ins,
        exec_start: Vec::new(),
        exec_stop: Vec::new(),
        working_directory: None,
        user: None,
        group: None,
        environment: BTreeMap::new(),
        restart_policy: None,
        dependencies: Dependencies {
            requires: Vec::new(),
            wants: unit.links.start_with_it,
            required_by: unit.links.stop_with_it,
            wanted_by: unit.links.wanted_by,
            after: Vec::new(),
            before: Vec::new(),
        },
        recent_logs: with_logs.then(Vec::new),
        recent_logs_note: with_logs.then(|| "a simulated service writes no log".to_owned()),
    }
}

/// The error for a service that has no file and is not loaded.
pub(super) fn unknown(given: &str) -> ToolError {
    ToolError::not_found(format!("Service '{given}' not found on this system"))
        .with("service_name", given)
        .hint("service.list_services names them all")
}

/// Reads all properties from systemd.
///
/// # Errors
/// `not_found` for a name that is no unit's, otherwise as [`base::os::bus::DBus::call`].
pub(super) async fn look(cx: &Context, name: &ServiceName, given: &str) -> Result<GetAllReply, ToolError> {
    properties::of_unit(&cx.services.machine.bus, name.as_str()).await.map_err(|error| {
        let is_no_unit = matches!(error.code, ErrorCode::NotFound | ErrorCode::InvalidArgument);
        if is_no_unit { unknown(given) } else { error }
    })
}

pub struct GetStatus;

impl Tool for GetStatus {
    type Args = Args;
    type Out = Out;
    const META: Meta = Meta {
        name: "service.get_status",
        title: "One service",
        description: "All about one service.\n\nUse when: it misbehaves, or before you change it.\n\nReturns: state, pid, memory, CPU, last end, files, commands, dependencies, newest log lines.",
        estimated_tokens: 700,
        tags: &["service", "systemd", "status"],
        resource_uri: Some("raspi://service/{name}"),
        ..Meta::READ
    };

    async fn call(cx: &Context, args: Args) -> Result<Out, ToolError> {
        let name = ServiceName::parse(&args.service_name)?;
        if let Some(units) = simulated::services(&cx.services).await? {
            let unit =
                units.into_iter().find(|unit| unit.id == name.as_str()).ok_or_else(|| unknown(&args.service_name))?;
            cx.notes.simulated();
            cx.notes.resource(format!("raspi://service/{name}"));
            return Ok(simulated_out(unit, args.with_logs));
        }
        let answer = look(cx, &name, &args.service_name).await?;
        let properties = answer.read()?;
        if properties.text("LoadState") == Some("not-found") && properties.text("ActiveState") == Some("inactive") {
            return Err(unknown(&args.service_name));
        }
        cx.notes.resource(format!("raspi://service/{name}"));
        let mut out = out(cx, &name, &properties);
        if args.with_logs {
            // Of an alias, those of the unit behind it.
            let unit = ServiceName::parse(&out.name)?;
            (out.recent_logs, out.recent_logs_note) = recent_logs::read(cx, &unit).await;
        }
        Ok(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_of_an_environment_are_masked() {
        let lines = ["PATH=/bin", "DB_PASSWORD=hunter2", "OPTS=a=b", "broken"].map(str::to_owned);
        let shown = environment(lines.into());
        let shown: Vec<(&str, &str)> = shown.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
        assert_eq!(shown, [("DB_PASSWORD", MASK), ("OPTS", "a=b"), ("PATH", "/bin")]);
    }
}
