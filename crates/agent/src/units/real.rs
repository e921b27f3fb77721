//! Units through systemd's D-Bus interface (org.freedesktop.systemd1(5)), as root.

use super::{Action, EnableEffects, JobEnd, JobMode, Links, Unit, Units};
use base::{
    error::{ErrorCode, ToolError},
    os::{
        Root,
        bus::{DBus, refusal},
        systemd::{MANAGER, SERVICE, UnitProperties, list::ActiveState, properties, unit_file::UnitFile, watch},
    },
};
use futures::{FutureExt, StreamExt, future::BoxFuture};
use std::time::Duration;
use zbus::{Message, ObjectPath, OwnedObjectPath};

/// This machine's units.
pub struct RealUnits {
    bus: DBus,
    root: Root,
}

impl RealUnits {
    /// The units behind `bus`, with their files below `root`. Connects on first use.
    pub fn new(bus: DBus, root: Root) -> Self {
        Self { bus, root }
    }

    async fn job(
        &self,
        unit: &str,
        action: Action,
        mode: JobMode,
        wait: Option<Duration>,
    ) -> Result<JobEnd, ToolError> {
        let method = match action {
            Action::Start => "StartUnit",
            Action::Stop => "StopUnit",
            Action::Restart => "RestartUnit",
            Action::Reload => "ReloadUnit",
        };
        let Some(wait) = wait else {
            self.call(unit, method, &(unit, mode.word())).await?;
            return Ok(JobEnd::Queued);
        };
        // Subscribed before the job is requested: it may end before its name is known here.
        let mut ends = watch::manager(&self.bus, "JobRemoved").await?;
        watch::subscribe(&self.bus).await?;
        let answer = self.call(unit, method, &(unit, mode.word())).await?;
        let job: OwnedObjectPath = answer.body().deserialize().map_err(|error| refusal(SERVICE, method, &error))?;
        let end = async {
            while let Some(Ok(signal)) = ends.next().await {
                let body = signal.body();
                let (_, path, _, result): (u32, ObjectPath<'_>, &str, &str) =
                    body.deserialize().map_err(|error| refusal(SERVICE, "JobRemoved", &error))?;
                if path.as_str() == job.as_str() {
                    return Ok(JobEnd::Ended(result.to_owned()));
                }
            }
            Err(ToolError::unavailable("the connection to systemd was lost; the job goes on")
                .with("service_name", unit)
                .hint("service.get_status says how it is now"))
        };
        tokio::time::timeout(wait, end).await.unwrap_or(Ok(JobEnd::Unfinished))
    }

    async fn call<B: serde::Serialize + zbus::DynamicType>(
        &self,
        unit: &str,
        method: &str,
        body: &B,
    ) -> Result<Message, ToolError> {
        self.bus.call(MANAGER, method, body).await.map_err(|error| said(unit, error))
    }

    async fn link(&self, unit: &str, enabled: bool) -> Result<(), ToolError> {
        let (units, for_this_boot_only) = ([unit], false);
        if enabled {
            self.call(unit, "EnableUnitFiles", &(&units[..], for_this_boot_only, false)).await?;
        } else {
            self.call(unit, "DisableUnitFiles", &(&units[..], for_this_boot_only)).await?;
        }
        // The links are made; systemd uses them only after a reload.
        self.call(unit, "Reload", &()).await.map(drop)
    }
}

/// systemd's error for a job or a link, with the fitting code.
fn said(unit: &str, mut error: ToolError) -> ToolError {
    let name = error.details.get("dbus_error").and_then(serde_json::Value::as_str).unwrap_or_default();
    let code = match name.rsplit('.').next().unwrap_or_default() {
        "NoSuchUnit" | "FileNotFound" | "LoadFailed" => ErrorCode::NotFound,
        "UnitMasked"
        | "BadUnitSetting"
        | "JobTypeNotApplicable"
        | "OnlyByDependency"
        | "TransactionIsDestructive"
        | "TransactionJobsConflicting"
        | "TransactionOrderIsCyclic"
        | "UnitExists"
        | "ShuttingDown"
        | "UnitLinked"
        | "UnitBadPath"
        | "UnitGenerated"
        | "UnitTransient" => ErrorCode::FailedPrecondition,
        // errno(3)'s names, by sd-bus-errors(3): enabling makes links in /etc, which is part of an appliance's image.
        "EROFS" => {
            error.code = ErrorCode::FailedPrecondition;
            return error
                .with("service_name", unit)
                .hint("/etc is read-only here: what starts with the machine is decided by its image, and comes with an update; it can be started and stopped until the next start");
        }
        _ => return error.with("service_name", unit),
    };
    error.code = code;
    error.with("service_name", unit)
}

impl Units for RealUnits {
    fn look<'a>(&'a self, unit: &'a str) -> BoxFuture<'a, Result<Unit, ToolError>> {
        async move {
            let answer = properties::of_unit(&self.bus, unit).await?;
            Ok(read(unit, &answer.read()?))
        }
        .boxed()
    }

    fn act<'a>(
        &'a self,
        unit: &'a str,
        action: Action,
        mode: JobMode,
        wait: Option<Duration>,
    ) -> BoxFuture<'a, Result<JobEnd, ToolError>> {
        self.job(unit, action, mode, wait).boxed()
    }

    fn install(&self, unit: &Unit) -> Result<EnableEffects, ToolError> {
        let mut file = UnitFile::default();
        for path in unit.fragment.iter().chain(&unit.drop_ins) {
            let text = self.root.read(path).map_err(|error| {
                ToolError::unavailable(format!("the file of {} cannot be read: {error}", unit.id))
                    .with("service_name", unit.id.clone())
                    .with("path", path.as_str())
                    .hint("what enabling it would do cannot be known")
            })?;
            file.add(path, &text);
        }
        let words = |key| file.words("Install", key).into_iter().map(str::to_owned).collect();
        let has_any = ["WantedBy", "RequiredBy", "UpheldBy", "Also", "Alias"]
            .iter()
            .any(|key| !file.words("Install", key).is_empty());
        Ok(EnableEffects { has_any, also: words("Also"), alias: words("Alias"), required_by: words("RequiredBy") })
    }

    fn set_enabled<'a>(&'a self, unit: &'a str, enabled: bool) -> BoxFuture<'a, Result<(), ToolError>> {
        self.link(unit, enabled).boxed()
    }
}

fn read(asked: &str, of: &UnitProperties<'_>) -> Unit {
    let lists = |names: &[&str]| -> Vec<String> { names.iter().flat_map(|name| of.list(name)).collect() };
    let id = of.text("Id").unwrap_or(asked).to_owned();
    let mut names = vec![id.clone()];
    names.extend(of.list("Names").into_iter().filter(|name| *name != id));
    if !names.iter().any(|name| name == asked) {
        names.push(asked.to_owned());
    }
    let end_actions = ["SuccessAction", "FailureAction", "StartLimitAction", "JobTimeoutAction"]
        .into_iter()
        .filter_map(|setting| Some(format!("{setting}={}", of.text(setting).filter(|action| *action != "none")?)));
    let (code, status) = (of.signed("ExecMainCode").unwrap_or(0), of.signed("ExecMainStatus"));
    Unit {
        end_actions: end_actions.collect(),
        stops_when_unneeded: of.flag("StopWhenUnneeded"),
        id,
        names,
        load_state: of.owned("LoadState").unwrap_or_default(),
        load_error: of.load_error(),
        status: ActiveState::of(of.text("ActiveState").unwrap_or_default()),
        sub_status: of.owned("SubState").unwrap_or_default(),
        pid: of.number("MainPID").filter(|pid| *pid > 0),
        result: of.owned("Result"),
        exit_code: status.filter(|_| code == 1),
        exit_signal: status.filter(|_| code == 2 || code == 3),
        can_reload: of.flag("CanReload"),
        unit_file_state: of.owned("UnitFileState"),
        fragment: of.owned("FragmentPath"),
        drop_ins: of.list("DropInPaths"),
        links: Links {
            stop_with_it: lists(&["RequiredBy", "RequisiteOf", "BoundBy", "ConsistsOf", "PropagatesStopTo"]),
            start_with_it: lists(&["Requires", "BindsTo", "Wants", "Upholds"]),
            conflicts: lists(&["Conflicts", "ConflictedBy"]),
            start_after_it: lists(&["OnFailure", "OnSuccess"]),
            reload_with_it: of.list("PropagatesReloadTo"),
            wanted_by: of.list("WantedBy"),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_read_only_etc_is_no_outage() {
        let of = |name: &str| said("web.service", ToolError::unavailable("refused").with("dbus_error", name));
        let refused = of("System.Error.EROFS");
        assert_eq!((refused.code, refused.hint.is_some()), (ErrorCode::FailedPrecondition, true));
        assert_eq!(of("org.freedesktop.systemd1.UnitMasked").code, ErrorCode::FailedPrecondition);
        assert_eq!(of("System.Error.ENOSPC").code, ErrorCode::Unavailable);
    }
}
