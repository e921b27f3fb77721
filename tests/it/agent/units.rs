//! Services: what the agent does, what it refuses, and how far it looks before it does either.

use super::*;
use crate::support::private_bus::{FakeSystemd, FakeUnit, PrivateBus};
use ::agent::{
    operations::service::{ControlRequest, Controlled, EnableRequest, Enabled},
    units::{Action, JobEnd, JobMode, RealUnits},
};
use base::{error::ErrorCode, os::systemd::list::ActiveState};
use contract::meta::Mode;

fn control(service_name: &str, action: Action) -> ControlRequest {
    ControlRequest {
        short: false,
        service_name: service_name.into(),
        action,
        mode: JobMode::Replace,
        wait: true,
        break_dependents: false,
        dry_run: false,
        authorization: authorization(&json!({"service_name": service_name, "action": action}), None),
    }
}

fn enable(service_name: &str, enabled: bool) -> EnableRequest {
    EnableRequest {
        service_name: service_name.into(),
        enabled,
        break_dependents: false,
        dry_run: false,
        authorization: authorization(&json!({"service_name": service_name, "enabled": enabled}), None),
    }
}

impl Pi {
    async fn told(&self, service_name: &str, action: Action) -> Result<Controlled, ToolError> {
        self.server().call::<op::service::ControlUnit>(control(service_name, action)).await
    }

    async fn enabled(&self, service_name: &str, on: bool) -> Result<Enabled, ToolError> {
        self.server().call::<op::service::EnableUnit>(enable(service_name, on)).await
    }

    async fn status(&self, unit: &str) -> ActiveState {
        self.units.look(unit).await.unwrap().status
    }
}

#[tokio::test]
async fn a_service_is_restarted_stopped_and_started_and_says_what_it_was() {
    let pi = Pi::new();
    let done = pi.told("web", Action::Restart).await.unwrap();
    assert_eq!((done.name.as_str(), done.job.as_deref(), done.simulated), ("web.service", Some("done"), true));
    assert_eq!((done.previous.status, done.now.status), (ActiveState::Active, ActiveState::Active));
    assert!(done.previous.pid.is_some() && done.now.pid.is_some() && done.previous.pid != done.now.pid);
    let done = pi.told("web.service", Action::Stop).await.unwrap();
    assert_eq!((done.now.status, done.now.pid), (ActiveState::Inactive, None));
    assert_eq!(pi.told("web", Action::Start).await.unwrap().previous.status, ActiveState::Inactive);
    assert_eq!(pi.told("web", Action::Reload).await.unwrap().job.as_deref(), Some("done"));
    let log = pi.log();
    assert!(log.contains("control_unit begins") && log.contains("\"outcome\":\"ok\""), "{log}");
}

#[tokio::test]
async fn a_dry_run_says_what_would_happen_and_does_nothing() {
    let pi = Pi::new();
    let request = ControlRequest { dry_run: true, ..control("database", Action::Restart) };
    let done = pi.server().call::<op::service::ControlUnit>(request).await.unwrap();
    assert_eq!((done.job, done.now == done.previous), (None, true));
    assert_eq!(done.affected, ["web.service", "worker.service"]);
    let request = ControlRequest { dry_run: true, ..control("ssh", Action::Stop) };
    assert_eq!(
        pi.server().call::<op::service::ControlUnit>(request).await.unwrap_err().code,
        ErrorCode::PermissionDenied
    );
}

#[tokio::test]
async fn nothing_is_stopped_that_others_need_unless_somebody_insists() {
    let pi = Pi::new();
    let refused = pi.told("database", Action::Stop).await.unwrap_err();
    assert_eq!(refused.code, ErrorCode::FailedPrecondition);
    assert_eq!(refused.message, "Cannot stop service 'database.service' because 2 active units depend on it");
    assert_eq!(refused.details["dependent_services"], json!(["web.service", "worker.service"]));
    assert_eq!(pi.status("database.service").await, ActiveState::Active);
    let insisted = ControlRequest { break_dependents: true, ..control("database", Action::Stop) };
    assert_eq!(
        pi.server().call::<op::service::ControlUnit>(insisted).await.unwrap().affected,
        ["web.service", "worker.service"]
    );
    assert_eq!(pi.status("web.service").await, ActiveState::Inactive);
    // Nobody up depends on it any more.
    pi.told("database", Action::Stop).await.unwrap();
}

#[tokio::test]
async fn protected_units_are_left_alone_also_through_others() {
    let pi = Pi::new();
    for (service, action, through) in [
        ("ssh", Action::Stop, &["ssh.service"][..]),
        ("ssh", Action::Start, &["ssh.service"]),
        ("ssh", Action::Restart, &["ssh.service"]),
        ("ssh", Action::Reload, &["ssh.service"]),
        ("raspi-mcp", Action::Restart, &["raspi-mcp.service"]),
        ("raspi-mcp-agent", Action::Stop, &["raspi-mcp-agent.service"]),
        ("dbus", Action::Restart, &["dbus.service"]),
        ("host-keys", Action::Stop, &["host-keys.service", "ssh.service"]),
        ("host-keys", Action::Restart, &["host-keys.service", "ssh.service"]),
        ("lockdown", Action::Start, &["lockdown.service", "ssh.service"]),
        ("maintenance", Action::Start, &["maintenance.service", "reboot.target"]),
    ] {
        let mut request = control(service, action);
        request.break_dependents = true;
        let refused = pi.server().call::<op::service::ControlUnit>(request).await.unwrap_err();
        assert_eq!(refused.code, ErrorCode::PermissionDenied, "{service}: {refused}");
        assert_eq!(refused.details["path"], json!(through), "{service} {}", action.word());
    }
    for (service, on, protected) in [
        ("ssh", false, "ssh.service"),
        ("remote", true, "ssh.service"),
        ("raspi-mcp", false, "raspi-mcp.service"),
        // What may not be started now may not at every boot.
        ("lockdown", true, "ssh.service"),
        ("maintenance", true, "reboot.target"),
    ] {
        let refused = pi.enabled(service, on).await.unwrap_err();
        assert_eq!(refused.code, ErrorCode::PermissionDenied, "{service}: {refused}");
        assert_eq!(refused.details["protected_unit"], protected);
    }
    for unit in ["ssh.service", "raspi-mcp.service", "raspi-mcp-agent.service", "dbus.service", "host-keys.service"] {
        assert_eq!(pi.status(unit).await, ActiveState::Active, "{unit}");
    }
}

#[tokio::test]
async fn a_job_that_fails_is_an_error_that_says_how() {
    let units = Arc::new(SimulatedUnits::default());
    let pi = Pi::with_units(Arc::clone(&units) as _, |_| {});
    let failed = pi.told("broken", Action::Start).await.unwrap_err();
    assert_eq!(failed.code, ErrorCode::FailedPrecondition);
    assert_eq!(failed.message, "start of broken.service failed: its process ended with code 1");
    let details = &failed.details;
    assert_eq!((&details["job_result"], &details["exit_code"]), (&json!("failed"), &json!(1)));
    assert_eq!((&details["previous"]["status"], &details["now"]["status"]), (&json!("inactive"), &json!("failed")));
    assert_eq!(details["changed"], true);
    let failed_job = r#""outcome":"failed_precondition""#;
    assert!(pi.log_of("operations").contains(failed_job), "a job that failed has changed something");
    assert!(!pi.log_of("attempts").contains(failed_job));
    assert!(failed.hint.as_ref().unwrap().contains("logs.query_journal"));
    units.end_next(JobEnd::Unfinished);
    let unfinished = pi.told("web", Action::Restart).await.unwrap_err();
    assert_eq!(unfinished.code, ErrorCode::Timeout);
    units.end_next(JobEnd::Ended("dependency".into()));
    let failed = pi.told("web", Action::Restart).await.unwrap_err();
    assert!(failed.message.contains("a unit that it needs did not start"), "{failed}");
    let queued = pi
        .server()
        .call::<op::service::ControlUnit>(ControlRequest { wait: false, ..control("worker", Action::Restart) })
        .await;
    assert_eq!(queued.unwrap().job.as_deref(), Some("queued"));
}

#[tokio::test]
async fn what_cannot_be_done_is_said_before_it_is_tried() {
    let pi = Pi::new();
    let refused = pi.told("worker", Action::Reload).await.unwrap_err();
    assert_eq!((refused.code, refused.hint.as_deref()), (ErrorCode::FailedPrecondition, Some("restart it instead")));
    let refused = pi.told("none", Action::Start).await.unwrap_err();
    assert_eq!(
        (refused.code, refused.message.as_str()),
        (ErrorCode::NotFound, "Service 'none' not found on this system")
    );
    for bad in ["", "ssh.socket", "reboot.target", "a b", "--now", "web\0", "../web", "getty@.service", "web*"] {
        assert_eq!(pi.told(bad, Action::Stop).await.unwrap_err().code, ErrorCode::InvalidArgument, "{bad:?}");
        assert_eq!(pi.enabled(bad, false).await.unwrap_err().code, ErrorCode::InvalidArgument, "{bad:?}");
    }
    let refused = pi.enabled("backup", true).await.unwrap_err();
    assert_eq!((refused.code, &refused.details["unit_file_state"]), (ErrorCode::FailedPrecondition, &json!("static")));
}

#[tokio::test]
async fn enabling_is_for_the_next_boot_and_says_what_it_was() {
    let pi = Pi::new();
    let done = pi.enabled("broken", true).await.unwrap();
    assert_eq!((done.previous.as_deref(), done.now.as_deref()), (Some("disabled"), Some("enabled")));
    assert_eq!(pi.status("broken.service").await, ActiveState::Inactive);
    let again = pi.enabled("broken.service", true).await.unwrap();
    assert_eq!(again.previous, again.now);
    let refused = pi.enabled("database", false).await.unwrap_err();
    assert!(refused.message.starts_with("Cannot disable service 'database.service'"), "{refused}");
    let request = EnableRequest { break_dependents: true, dry_run: true, ..enable("database", false) };
    assert_eq!(
        pi.server().call::<op::service::EnableUnit>(request).await.unwrap().now.as_deref(),
        Some("enabled"),
        "dry run"
    );
    let request = EnableRequest { break_dependents: true, ..enable("database", false) };
    assert_eq!(pi.server().call::<op::service::EnableUnit>(request).await.unwrap().now.as_deref(), Some("disabled"));
}

#[tokio::test]
async fn the_agent_has_a_list_of_its_own() {
    let pi = Pi::with(|settings| settings.policy.services = vec!["web.service".into(), "work*.service".into()]);
    pi.told("web", Action::Restart).await.unwrap();
    pi.told("worker", Action::Restart).await.unwrap();
    for service in ["database", "none"] {
        let refused = pi.told(service, Action::Restart).await.unwrap_err();
        assert_eq!(refused.details["required_permission"], format!("service:restart:{service}.service"));
        assert_eq!(refused.code, ErrorCode::PermissionDenied);
    }
    let pi = Pi::with(|settings| settings.policy.namespaces.retain(|name| name != "service"));
    assert_eq!(pi.told("web", Action::Start).await.unwrap_err().details["namespace"], "service");
    assert_eq!(pi.enabled("web", true).await.unwrap_err().details["namespace"], "service");
}

#[tokio::test]
async fn a_person_approves_this_very_job() {
    let pi = Pi::with(|settings| {
        settings.policy.modes.insert("service.control_service".into(), Mode::Ask);
        settings.policy.modes.insert("service.stop".into(), Mode::Deny);
    });
    assert_eq!(pi.told("web", Action::Stop).await.unwrap_err().code, ErrorCode::PermissionDenied);
    let args = json!({"service_name": "web", "action": "restart"});
    let opened = pi.server().call::<op::asks::OpenAsk>(ask("service.control_service", args.clone())).await.unwrap();
    pi.says(&opened, true).await.unwrap();
    let approved = ControlRequest {
        authorization: authorization(&args, Some(&opened.id)),
        ..control("web.service", Action::Restart)
    };
    for lie in [
        ControlRequest { action: Action::Reload, ..approved.clone() },
        ControlRequest { service_name: "worker".into(), ..approved.clone() },
        ControlRequest { break_dependents: true, ..approved.clone() },
        ControlRequest { mode: JobMode::Fail, ..approved.clone() },
        ControlRequest { wait: false, ..approved.clone() },
    ] {
        assert_eq!(
            pi.server().call::<op::service::ControlUnit>(lie).await.unwrap_err().details["differs"],
            "arguments"
        );
    }
    // Denied by what it does, whatever tool it says it came through.
    let stop = ControlRequest { action: Action::Stop, ..approved.clone() };
    assert_eq!(
        pi.server().call::<op::service::ControlUnit>(stop).await.unwrap_err().details["decided_by"],
        "policy.\"service.stop\""
    );
    let short = ControlRequest { short: true, action: Action::Stop, ..approved.clone() };
    assert_eq!(pi.server().call::<op::service::ControlUnit>(short).await.unwrap_err().details["tool"], "service.stop");
    pi.server().call::<op::service::ControlUnit>(approved.clone()).await.unwrap();
    pi.server().call::<op::service::ControlUnit>(approved).await.expect_err("an approval is used once");
}

/// The agent's real port, before a systemd that the test has written.
async fn real() -> (Pi, FakeSystemd, PrivateBus) {
    let bus = PrivateBus::start();
    let systemd = FakeSystemd::on(&bus).await;
    let home = tempdir().unwrap();
    std::fs::write(home.path().join("app.service"), "[Install]\nWantedBy=multi-user.target\n").unwrap();
    let root = Root::at(home.keep());
    let pi = Pi::with_units(Arc::new(RealUnits::new(bus.bus(), root)), |_| {});
    systemd.put("app.service", FakeUnit::active("App").text("FragmentPath", "/app.service"));
    systemd.put("ssh.service", FakeUnit::active("ssh"));
    (pi, systemd, bus)
}

#[tokio::test]
async fn jobs_are_awaited_by_their_signal_and_end_as_systemd_says() {
    let (pi, systemd, _bus) = real().await;
    // Odd jobs end after they are named, even ones before.
    for _ in 0..4 {
        let done = pi.told("app", Action::Restart).await.unwrap();
        assert_eq!(done.job.as_deref(), Some("done"));
        assert_ne!(done.previous.pid, done.now.pid);
    }
    let calls = systemd.calls();
    assert!(calls.contains(&"RestartUnit app.service replace".to_owned()), "{calls:?}");
    systemd.put("app.service", FakeUnit { job: "failed", ..FakeUnit::inactive("App") });
    let failed = pi.told("app", Action::Start).await.unwrap_err();
    assert_eq!((&failed.details["job_result"], &failed.details["exit_code"]), (&json!("failed"), &json!(7)));
    let mut request = control("app", Action::Start);
    (request.wait, request.mode) = (false, JobMode::Fail);
    systemd.put("app.service", FakeUnit { job: "", ..FakeUnit::inactive("App") });
    assert_eq!(pi.server().call::<op::service::ControlUnit>(request).await.unwrap().job.as_deref(), Some("queued"));
    assert!(systemd.calls().contains(&"StartUnit app.service fail".to_owned()));
}

#[tokio::test]
async fn dependencies_are_followed_as_systemd_has_them() {
    let (pi, systemd, _bus) = real().await;
    let app = || FakeUnit::active("App");
    let trap = |list: &'static str, through: &str| app().list(list, &[through]);
    systemd.put("middle.target", FakeUnit::active("").list("BoundBy", &["ssh.service"]));
    systemd.put("helper.service", FakeUnit::inactive("").list("Conflicts", &["ssh.service"]));
    systemd.put("reboot.target", FakeUnit::inactive(""));
    for (action, unit) in [
        (Action::Stop, trap("RequiredBy", "middle.target")),
        (Action::Stop, trap("RequisiteOf", "ssh.service")),
        (Action::Stop, trap("BoundBy", "ssh.service")),
        (Action::Stop, trap("ConsistsOf", "ssh.service")),
        (Action::Stop, trap("PropagatesStopTo", "ssh.service")),
        (Action::Stop, trap("OnSuccess", "reboot.target")),
        (Action::Start, trap("Conflicts", "ssh.service")),
        (Action::Start, trap("ConflictedBy", "ssh.service")),
        (Action::Start, trap("Wants", "helper.service")),
        (Action::Start, trap("Requires", "helper.service")),
        (Action::Start, trap("BindsTo", "reboot.target")),
        (Action::Start, trap("Upholds", "reboot.target")),
        (Action::Start, trap("OnFailure", "reboot.target")),
        (Action::Restart, trap("RequiredBy", "ssh.service")),
        (Action::Restart, trap("Conflicts", "ssh.service")),
        (Action::Reload, trap("PropagatesReloadTo", "ssh.service").text("reloads", "yes")),
        (Action::Start, app().text("FailureAction", "reboot")),
        (Action::Stop, app().text("SuccessAction", "poweroff")),
        (Action::Restart, app().text("StartLimitAction", "reboot-force")),
    ] {
        systemd.put("app.service", unit.clone());
        let mut request = control("app", action);
        request.break_dependents = true;
        let refused = pi
            .server()
            .call::<op::service::ControlUnit>(request)
            .await
            .expect_err(&format!("{} {unit:?}", action.word()));
        assert_eq!(refused.code, ErrorCode::PermissionDenied, "{refused}");
        assert_eq!(refused.details["path"][0], "app.service");
    }
    let calls = systemd.calls();
    assert!(calls.iter().all(|call| call == "GetAll"), "nothing was done: {calls:?}");
    // The same with nothing in the way.
    systemd.put("app.service", app().text("FailureAction", "none").list("Conflicts", &["shutdown.target"]));
    systemd.put("shutdown.target", FakeUnit::inactive("").list("RequiredBy", &["reboot.target"]));
    pi.told("app", Action::Restart).await.unwrap();
}

#[tokio::test]
async fn circles_end_and_what_reaches_too_far_is_refused() {
    let (pi, systemd, _bus) = real().await;
    systemd.put("app.service", FakeUnit::active("").list("Wants", &["b.service"]).list("ConsistsOf", &["b.service"]));
    systemd.put("b.service", FakeUnit::active("").list("Wants", &["app.service"]).list("BoundBy", &["app.service"]));
    assert_eq!(pi.told("app", Action::Restart).await.unwrap().affected, ["b.service"]);
    let many: Vec<String> = (0..600).map(|n| format!("n{n}.service")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    systemd.put("app.service", FakeUnit::active("").list("RequiredBy", &many));
    assert_eq!(pi.told("app", Action::Restart).await.unwrap_err().code, ErrorCode::FailedPrecondition);
}

#[tokio::test]
async fn an_alias_neither_hides_a_protected_unit_nor_opens_another() {
    let (pi, systemd, _bus) = real().await;
    systemd.put("sshd-real.service", FakeUnit::active(""));
    systemd.alias("app.service", "innocent.service");
    systemd.put("innocent.service", FakeUnit::active(""));
    systemd.alias("harmless.service", "ssh.service");
    let refused = pi.told("harmless", Action::Restart).await.unwrap_err();
    assert_eq!(refused.details["protected_unit"], "ssh.service");
    let narrow =
        Pi::with_units(Arc::clone(&pi.units), |settings| settings.policy.services = vec!["alias.service".into()]);
    systemd.alias("alias.service", "innocent.service");
    let refused = narrow.told("alias", Action::Restart).await.unwrap_err();
    assert_eq!(refused.details["required_permission"], "service:restart:innocent.service");
}

#[tokio::test]
async fn links_are_made_by_systemd_which_then_reads_them() {
    let (pi, systemd, _bus) = real().await;
    let done = pi.enabled("app", false).await.unwrap();
    assert_eq!((done.previous.as_deref(), done.now.as_deref()), (Some("enabled"), Some("disabled")));
    pi.enabled("app", true).await.unwrap();
    let calls: Vec<String> = systemd.calls().into_iter().filter(|call| call != "GetAll").collect();
    assert_eq!(calls, ["DisableUnitFiles app.service", "Reload", "EnableUnitFiles app.service", "Reload"]);
}

#[tokio::test]
async fn a_file_that_would_bind_a_protected_unit_is_not_enabled() {
    let (pi, systemd, bus) = real().await;
    let file = |lines: &str| {
        let home = tempdir().unwrap();
        std::fs::write(home.path().join("app.service"), format!("[Install]\nWantedBy=multi-user.target\n{lines}\n"))
            .unwrap();
        Pi::with_units(Arc::new(RealUnits::new(bus.bus(), Root::at(home.keep()))), |_| {})
    };
    systemd.put("app.service", FakeUnit::inactive("App").text("FragmentPath", "/app.service"));
    for lines in ["Also=ssh.service", "Also=other.socket dbus.socket", "Alias=sshd.service", "RequiredBy=dbus.service"]
    {
        let refused = file(lines).enabled("app", true).await.unwrap_err();
        assert_eq!(refused.code, ErrorCode::PermissionDenied, "{lines}");
    }
    let unreadable = Pi::with_units(Arc::new(RealUnits::new(bus.bus(), Root::at("/nowhere"))), |_| {});
    assert_eq!(unreadable.enabled("app", true).await.unwrap_err().code, ErrorCode::Unavailable);
    assert!(systemd.calls().iter().all(|call| call == "GetAll"));
    assert_eq!(pi.enabled("app", true).await.unwrap().now.as_deref(), Some("enabled"));
}
