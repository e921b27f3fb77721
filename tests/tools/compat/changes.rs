//! Services, connections and processes, before a simulated machine; and what the audit has.

use super::text;
use crate::support::served::{Door, Pi};
use contract::{config::Settings, meta::Role};
use serde_json::{Value, json};

fn enabled(settings: &mut Settings) {
    settings.tools.enable.extend(["service", "network", "process"].map(str::to_owned));
    settings.access.loopback_role = Role::Admin;
}

#[tokio::test]
async fn services_are_stopped_started_and_restarted() {
    let pi = Pi::standard(enabled).await;
    let stopped = pi.call("systemd_stop", json!({"service": "web"})).await;
    assert_eq!((&stopped.ok()["action"], &stopped.ok()["now"]["status"]), (&json!("stop"), &json!("inactive")));
    assert!(text(&stopped).starts_with("web.service: stop done; inactive"), "{}", text(&stopped));
    assert_eq!((&stopped.meta()["simulated"], &stopped.meta()["changed"]), (&json!(true), &json!(true)));
    let started = pi.call("systemd_start", json!({"service": "web.service"})).await;
    assert_eq!(started.ok()["now"]["status"], "active");
    let queued = pi.call("systemd_start", json!({"service": "worker", "no_block": true})).await;
    assert_eq!(queued.ok()["job_result"], "queued");
    let restarted = pi.call("systemd_restart", json!({"service": "web"})).await;
    assert_eq!(text(&restarted), "web: restart done; active");
    for mode in ["replace", "fail"] {
        pi.call("systemd_stop", json!({"service": "web", "mode": mode})).await.ok();
    }
    let refused = pi.call("systemd_stop", json!({"service": "web", "mode": "ignore-dependencies"})).await;
    let refused = refused.refused("/mode");
    assert!(refused["hint"].as_str().unwrap().contains("depend on it"), "{refused}");
    pi.call("systemd_stop", json!({"service": "web", "mode": "isolate"})).await.refused("/mode");
    pi.call("systemd_stop", json!({"service": "web", "force": true})).await.refused("/force");
    pi.call("systemd_start", json!({"service": "web", "action": "stop"})).await.refused("/action");
    let bad = pi.call("systemd_start", json!({"service": "a b"})).await;
    let bad = bad.refused("/service");
    assert_eq!(bad["details"]["parameter"], "service");
    assert!(!bad["message"].as_str().unwrap().contains("service_name"), "{bad}");
    let failed = pi.call("systemd_start", json!({"service": "broken"})).await;
    assert_eq!(failed.failed("failed_precondition")["details"]["dbus_mcp_code"], -32005);
}

#[tokio::test]
async fn the_audit_has_the_call_of_our_tool() {
    let pi = Pi::standard(enabled).await;
    for mut wire in pi.every_door().await {
        wire.call("systemd_stop", json!({"service": "web"})).await.ok();
        // The bare method and a call through tools.run too.
        let bare = wire.request("systemd_start", json!({"service": "web"})).await;
        assert_eq!(bare.result()["now"]["status"], "active");
        let run = json!({"name": "systemd_restart", "arguments": {"service": "web"}});
        assert_eq!(wire.call("tools.run", run).await.ok()["status"], "active", "{:?}", wire.door);
        let refused = wire.call("tools.run_read", json!({"name": "systemd_stop", "arguments": {}})).await;
        refused.failed("invalid_argument");
    }
    let records = pi.audit().await;
    let with = |tool: &str| records.iter().filter(|record| record["tool"] == tool).collect::<Vec<&Value>>();
    for record in with("service.control_service") {
        assert_eq!(record["args"]["service_name"], "web", "{record}");
        assert!(record["args"].get("service").is_none(), "{record}");
    }
    assert!(
        with("service.control_service").len() >= 2 * Door::ALL.len()
            && with("service.restart").len() >= Door::ALL.len()
    );
    assert!(!records.iter().any(|record| record["tool"].as_str().unwrap().starts_with("systemd")));
}

#[tokio::test]
async fn what_arguments_do_not_fit_is_refused_as_the_tools_own_are() {
    let pi = Pi::standard(enabled).await;
    pi.call("systemd_stop", json!({"service": 7})).await.refused("/service");
    let record = pi.audited(|record| record["outcome"] == "invalid_argument").await;
    assert_eq!((&record["tool"], &record["args"]), (&json!("service.control_service"), &json!({"service": 7})));
    // Where the namespace is off, the way to open it is that of our tool.
    let pi = Pi::standard(|_| {}).await;
    let refused = pi.call("systemd_restart", json!({"service": "web"})).await;
    let refused = refused.failed("permission_denied");
    assert_eq!(
        (&refused["details"]["service_name"], &refused["details"]["tool"]),
        (&json!("web"), &json!("service.restart"))
    );
    assert_eq!(refused["details"]["required_permission"], "service:restart:web.service");
}

#[tokio::test]
async fn a_connection_is_taken_back_unless_it_is_confirmed() {
    let pi = Pi::standard(enabled).await;
    let missing = pi.call("network_connect", json!({"connection": "nowhere"})).await;
    assert_eq!(missing.failed("not_found")["details"]["dbus_mcp_code"], -32005);
    pi.call("network_connect", json!({"connection": "simulated-static", "device": "a/b"})).await.refused("/device");
    pi.call("network_connect", json!({})).await.refused("/connection");
    let answer = pi.call("network_connect", json!({"connection": "simulated-static", "device": "eth0"})).await;
    let done = answer.ok();
    assert_eq!((&done["activated"], &done["connection"]["name"]), (&json!(true), &json!("simulated-static")));
    let confirm_by = done["confirm_by"].as_str().unwrap();
    assert!(
        text(&answer).contains("network.confirm_connection") && text(&answer).contains(confirm_by),
        "{}",
        text(&answer)
    );
}

#[tokio::test]
async fn a_process_is_sent_term_unless_it_is_told_otherwise() {
    let pi = Pi::standard(enabled).await;
    let answer = pi.call("process_kill", json!({"pid": 4242})).await;
    assert_eq!((&answer.ok()["signal"], text(&answer)), (&json!("TERM"), "sent TERM to 4242 (simulated)"));
    for signal in ["HUP", "INT"] {
        pi.call("process_kill", json!({"pid": 4243, "signal": signal})).await.ok();
    }
    let gone = pi.call("process_kill", json!({"pid": 4242, "signal": "KILL"})).await;
    assert_eq!(gone.failed("not_found")["details"]["dbus_mcp_code"], -32005);
    pi.call("process_kill", json!({"pid": 4243, "signal": "STOP"})).await.refused("/signal");
    pi.call("process_kill", json!({"pid": 0})).await.refused("/pid");
    let denied = pi.call("process_kill", json!({"pid": 1})).await;
    assert_eq!(denied.failed("permission_denied")["details"]["dbus_mcp_code"], -32203);
}

#[tokio::test]
async fn processes_are_filtered_sorted_and_counted() {
    let pi = Pi::standard(enabled).await;
    let mut child = std::process::Command::new("/bin/sleep").arg("600").spawn().unwrap();
    let pids = |data: &Value| -> Vec<u64> {
        data["processes"].as_array().unwrap().iter().map(|process| process["pid"].as_u64().unwrap()).collect()
    };
    let all = pi.call("process_list", json!({})).await;
    assert!(all.ok()["processes"].as_array().unwrap().len() <= 50 && !all.ok()["cpu_interval_seconds"].is_null());
    assert_eq!(all.ok()["pagination"]["limit"], 50);
    let named = pi.call("process_list", json!({"name": "sleep", "limit": 1000, "sort_by": "pid"})).await;
    assert!(pids(named.ok()).contains(&child.id().into()));
    assert!(pids(named.ok()).is_sorted());
    assert_eq!(pi.call("process_list", json!({"limit": 3})).await.ok()["processes"].as_array().unwrap().len(), 3);
    let of = |data: &Value, field: &str| -> Vec<f64> {
        data["processes"].as_array().unwrap().iter().map(|process| process[field].as_f64().unwrap_or(0.0)).collect()
    };
    let by_memory = pi.call("process_list", json!({"sort_by": "memory"})).await;
    assert!(of(by_memory.ok(), "memory_rss").is_sorted_by(|a, b| a >= b), "{}", by_memory.ok());
    let by_cpu = pi.call("process_list", json!({"sort_by": "cpu"})).await;
    assert!(of(by_cpu.ok(), "cpu_percent").is_sorted_by(|a, b| a >= b));
    let by_name = pi.call("process_list", json!({"sort_by": "name", "limit": 1000})).await;
    let names: Vec<&str> =
        by_name.ok()["processes"].as_array().unwrap().iter().map(|process| process["name"].as_str().unwrap()).collect();
    assert!(names.is_sorted_by_key(|name| name.to_lowercase()) || names.is_sorted(), "{names:?}");
    let none = pi.call("process_list", json!({"user": "nobody-knows"})).await;
    assert_eq!(none.ok()["processes"], json!([]));
    pi.call("process_list", json!({"user": ""})).await.refused("/user");
    pi.call("process_list", json!({"name": "x".repeat(200)})).await.refused("/name");
    pi.call("process_list", json!({"sort_by": "threads"})).await.refused("/sort_by");
    pi.call("process_list", json!({"limit": 0})).await.refused("/limit");
    child.kill().unwrap();
    child.wait().unwrap();
}
