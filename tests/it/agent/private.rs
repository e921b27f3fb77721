//! What others may read of an operation: that it was done, and not with what.

use crate::support::served::Pi;
use contract::{
    access::caller::{Caller, Transport},
    meta::Role,
};
use serde_json::json;

#[tokio::test]
async fn arguments_and_environment_of_an_operation_are_in_the_agents_own_record_only() {
    let pi = Pi::with(crate::support::settings::allow_everything).await;
    let _logs = pi.logs();
    let mut admin = pi.stdio(Caller::new("token:desk", Role::Admin, Transport::Http));
    admin.call("system.set_hostname", json!({ "hostname": "bassoon" })).await.ok();
    let run = json!({ "command": "echo", "args": ["contrabassoon"] });
    // Whether it is allowed or refused: it was an attempt.
    admin.call("exec.run", run).await;
    admin.call("service.restart", json!({ "service_name": "no-such-oboe" })).await;
    let mut reader = pi.stdio(Caller::new("loopback", Role::ReadOnly, Transport::Http));
    let told = reader.call("logs.get_recent_app_logs", json!({ "limit": 100 })).await.ok().clone();
    // The server keeps its audit out of its log; here it is beside it.
    let lines = told["entries"].as_array().unwrap().iter().filter(|line| line["source"] == "agent");
    let told = lines.map(|line| line.to_string()).collect::<Vec<_>>().join("\n");
    for word in ["bassoon", "oboe", "args_sha256", "token:desk"] {
        assert!(!told.contains(word), "{word} is told: {told}");
    }
    assert!(told.contains("set_hostname: outcome ok"), "that it was done is told: {told}");
    // The record itself has it all.
    let folder = pi.server().pipeline.services.settings.places.agent_state_dir.clone();
    let record = std::fs::read_to_string(folder.join("operations.ndjson")).unwrap();
    assert!(record.contains("bassoon") && record.contains("token:desk"), "{record}");
    pi.stop().await.unwrap();
}
