//! `service.control_service`, its short forms and `service.set_enabled`, through the whole server before a simulated
//! machine: what the agent does is in tests/it/agent/units.rs.

use crate::support::served::{Door, Pi};
use contract::{
    access::caller::{Caller, Transport},
    config::Settings,
    meta::{Mode, Role},
};
use serde_json::{Value, json};

fn enabled(settings: &mut Settings) {
    settings.tools.enable.insert("service".into());
}

fn act(service_name: &str, action: &str) -> Value {
    json!({ "service_name": service_name, "action": action })
}

fn with(mut args: Value, more: Value) -> Value {
    args.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    args
}

#[tokio::test]
async fn an_answer_says_what_it_was_and_what_it_is() {
    let pi = Pi::standard(enabled).await;
    let answer = pi.call("service.control_service", act("web.service", "stop")).await;
    let done = answer.ok();
    assert_eq!(
        (&done["service_name"], &done["action"], &done["job_result"]),
        (&json!("web.service"), &json!("stop"), &json!("done"))
    );
    assert_eq!((&done["previous"]["status"], &done["now"]["status"]), (&json!("active"), &json!("inactive")));
    assert_eq!((&done["changed"], &done["affected_units"]), (&json!(true), &json!([])));
    assert_eq!((&answer.meta()["simulated"], &answer.meta()["changed"]), (&json!(true), &json!(true)));

    let started = pi.call("service.start", json!({"service_name": "web"})).await;
    let short = started.ok();
    assert_eq!(
        (&short["service_name"], &short["action"], &short["status"], &short["previous_status"]),
        (&json!("web"), &json!("start"), &json!("active"), &json!("inactive"))
    );
    assert!(short["timestamp"].is_string() && short.as_object().unwrap().len() == 5, "{short}");
    pi.call("service.restart", json!({"service_name": "worker"})).await.ok();
    pi.call("service.stop", json!({"service_name": "worker"})).await.ok();

    let tried = pi.call("service.control_service", with(act("web", "restart"), json!({"dry_run": true}))).await;
    assert_eq!((&tried.ok()["dry_run"], tried.ok().get("job_result")), (&json!(true), None));
    assert_eq!(tried.meta()["changed"], false);
    let record = pi.audited(|record| record["tool"] == "service.stop").await;
    assert_eq!((&record["changed"], &record["simulated"]), (&json!(true), &json!(true)));
}

/// What is listed is what the other tools act on, also beside a bus with other services.
#[tokio::test]
async fn the_services_of_a_simulated_machine_are_listed_as_they_are() {
    let pi = Pi::standard(enabled).await;
    let listed = async |args: Value| {
        let answer = pi.call("service.list_services", args).await;
        assert_eq!(answer.meta()["simulated"], true);
        answer.ok()["services"].as_array().unwrap().clone()
    };
    let all = listed(json!({})).await;
    let names: Vec<&str> = all.iter().map(|one| one["name"].as_str().unwrap()).collect();
    assert!(names.is_sorted() && names.contains(&"web.service") && !names.contains(&"reboot.target"), "{names:?}");
    for name in &names {
        let status = pi.call("service.get_status", json!({"service_name": name})).await;
        let (one, status) = (all.iter().find(|one| one["name"] == **name).unwrap(), status.ok());
        for field in ["name", "description", "status", "sub_status", "enabled", "unit_file_state"] {
            assert_eq!(one[field], status[field], "{name} {field}");
        }
    }
    assert!(listed(json!({"status": ["failed"]})).await.is_empty());
    pi.call("service.start", json!({"service_name": "broken"})).await.failed("failed_precondition");
    let failed = listed(json!({"status": ["failed"]})).await;
    assert_eq!((failed.len(), &failed[0]["name"]), (1, &json!("broken.service")));
    let web = listed(json!({"name": "we*", "detail": true, "enabled": true})).await;
    assert!(web[0]["pid"].is_u64(), "{web:?}");
    pi.call("service.stop", json!({"service_name": "web"})).await.ok();
    let status = pi.call("service.get_status", json!({"service_name": "web"})).await;
    assert_eq!((&status.ok()["status"], status.ok().get("pid")), (&json!("inactive"), None));
    assert_eq!(status.ok()["dependencies"]["wants"], json!(["database.service"]));
    let unknown = pi.call("service.get_status", json!({"service_name": "nothing"})).await;
    assert!(unknown.failed("not_found")["hint"].as_str().unwrap().contains("service.list_services"));
}

#[tokio::test]
async fn a_failure_says_what_it_changed() {
    let pi = Pi::standard(enabled).await;
    let answer = pi.call("service.start", json!({"service_name": "broken"})).await;
    let failed = answer.failed("failed_precondition");
    assert_eq!((&failed["details"]["exit_code"], &failed["details"]["job_result"]), (&json!(1), &json!("failed")));
    assert_eq!(answer.meta()["changed"], true, "it is failed now, and was not before");
}

#[tokio::test]
async fn whether_it_starts_at_boot() {
    let pi = Pi::standard(enabled).await;
    let args = json!({"service_name": "broken", "enabled": true});
    let tried = pi.call("service.set_enabled", with(args.clone(), json!({"dry_run": true}))).await;
    assert_eq!((&tried.ok()["changed"], &tried.meta()["changed"]), (&json!(true), &json!(false)));
    let done = pi.call("service.set_enabled", args.clone()).await;
    assert_eq!(
        (&done.ok()["enabled"], &done.ok()["previous_enabled"], &done.meta()["changed"]),
        (&json!(true), &json!(false), &json!(true))
    );
    let again = pi.call("service.set_enabled", args).await;
    assert_eq!((&again.ok()["changed"], &again.meta()["changed"]), (&json!(false), &json!(false)));
}

#[tokio::test]
async fn the_override_takes_both_words_and_an_admin() {
    let pi = Pi::standard(enabled).await;
    let stop = || act("database", "stop");
    let both = json!({"force": true, "confirm_breaking_dependencies": true});
    for one in [json!({"force": true}), json!({"confirm_breaking_dependencies": true})] {
        let answer = pi.call("service.control_service", with(stop(), one)).await;
        answer.failed("invalid_argument");
    }
    let refused = pi.call("service.control_service", stop()).await;
    let details = &refused.failed("failed_precondition")["details"];
    assert_eq!(details["dependent_services"], json!(["web.service", "worker.service"]));
    let mut operator = pi.stdio(Caller::new("op", Role::OpsRw, Transport::Stdio));
    let denied = operator.call("service.control_service", with(stop(), both.clone())).await;
    assert_eq!(denied.failed("permission_denied")["details"]["required_role"], "admin");
    operator.call("service.control_service", act("web", "restart")).await.ok();
    pi.call("service.control_service", with(stop(), both)).await.ok();
}

#[tokio::test]
async fn who_only_reads_changes_nothing_and_sees_no_tool_for_it() {
    let pi = Pi::standard(|settings| {
        enabled(settings);
        settings.access.stdio_role = Role::ReadOnly;
    })
    .await;
    for (tool, args) in [
        ("service.control_service", act("web", "stop")),
        ("service.start", json!({"service_name": "web"})),
        ("service.stop", json!({"service_name": "web"})),
        ("service.restart", json!({"service_name": "web"})),
        ("service.set_enabled", json!({"service_name": "web", "enabled": false})),
    ] {
        pi.call(tool, args).await.failed("permission_denied");
    }
    let mut wire = pi.on(Door::Http).await;
    let listed = wire.request("tools/list", json!({"limit": 200})).await.result().to_string();
    assert!(listed.contains("service_list_services") && !listed.contains("service_restart"));
    // And nobody may while the namespace is off.
    let pi = Pi::standard(|_| {}).await;
    pi.call("service.restart", json!({"service_name": "web"})).await.failed("permission_denied");
}

#[tokio::test]
async fn bad_arguments_change_nothing_and_are_audited() {
    let pi = Pi::standard(enabled).await;
    let control = "service.control_service";
    let long = "x".repeat(256);
    for (tool, args, parameter) in [
        (control, act("web; reboot", "stop"), "service_name"),
        (control, act("../web", "stop"), "service_name"),
        (control, act("web\0", "stop"), "service_name"),
        (control, act("web\n", "stop"), "service_name"),
        (control, act("--no-block", "stop"), "service_name"),
        (control, act("*", "stop"), "service_name"),
        (control, act(&long, "stop"), "service_name"),
        (control, act("web.socket", "stop"), "service_name"),
        (control, act("getty@", "stop"), "service_name"),
        (control, act("web", "isolate"), "action"),
        (control, act("web", "STOP"), "action"),
        (control, json!({"service_name": "web"}), "action"),
        (control, json!({"service_name": "web", "action": ["stop"]}), "action"),
        (control, with(act("web", "stop"), json!({"mode": "isolate"})), "mode"),
        (control, with(act("web", "stop"), json!({"mode": "ignore-dependencies"})), "mode"),
        (control, with(act("web", "stop"), json!({"no_block": 1})), "no_block"),
        (control, with(act("web", "stop"), json!({"force": "yes"})), "force"),
        (
            control,
            with(act("web", "stop"), json!({"confirm_breaking_dependencies": 0})),
            "confirm_breaking_dependencies",
        ),
        (control, with(act("web", "stop"), json!({"dry_run": "true"})), "dry_run"),
        (control, with(act("web", "stop"), json!({"user": "root"})), "user"),
        ("service.stop", json!({"service_name": "web/../ssh"}), "service_name"),
        ("service.stop", json!({"service_name": "web", "force": true}), "force"),
        ("service.start", json!({}), "service_name"),
        ("service.restart", json!({"service_name": {"name": "web"}}), "service_name"),
        ("service.set_enabled", json!({"service_name": "web"}), "enabled"),
        ("service.set_enabled", json!({"service_name": "web", "enabled": "no"}), "enabled"),
        ("service.set_enabled", json!({"service_name": "web.timer", "enabled": false}), "service_name"),
    ] {
        let answer = pi.call(tool, args.clone()).await;
        assert_eq!(answer.failed("invalid_argument")["details"]["parameter"], parameter, "{tool} {args}");
    }
    pi.audit_of(27, "invalid_argument").await;
    let tried = pi.call(control, with(act("web", "stop"), json!({"dry_run": true}))).await;
    assert_eq!(tried.ok()["previous"]["status"], "active");
}

#[tokio::test]
async fn policy_that_denies_stopping_leaves_restarting() {
    let pi = Pi::standard(|settings| {
        enabled(settings);
        settings.policy.insert("service.stop".into(), Mode::Deny);
    })
    .await;
    pi.call("service.stop", json!({"service_name": "web"})).await.failed("permission_denied");
    pi.call("service.restart", json!({"service_name": "web"})).await.ok();
    pi.call("service.restart", json!({"service_name": "ssh"})).await.failed("permission_denied");
}

#[tokio::test]
async fn an_owner_names_what_a_simulated_machine_lends_too() {
    let pi = Pi::standard(|settings| {
        enabled(settings);
        settings.service.allow = vec!["web.service".into()];
    })
    .await;
    pi.call("service.restart", json!({"service_name": "web"})).await.ok();
    let refused = pi.call("service.restart", json!({"service_name": "worker"})).await;
    assert_eq!(refused.failed("permission_denied")["details"]["required_permission"], "service:restart:worker.service");
}
