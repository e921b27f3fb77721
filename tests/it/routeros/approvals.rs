//! A plan through the server: a person is shown what the plan does, and their yes is used by who does it.

use super::house::House;
use crate::support::served::{Answer, Door, Pi, soon};
use ::agent::{AgentLink, Ask, Client, operations::asks};
use serde_json::{Value, json};

/// Calls a tool that asks, and answers for the person; with what they were shown.
async fn asked(house: &House, server: &Pi, tool: &'static str, args: Value, yes: bool) -> (Answer, Ask) {
    let person = AgentLink::Socket(Client::new(&house.sources.places.agent_socket));
    let mut wire = server.on(Door::Stdio).await;
    let calling = tokio::spawn(async move { wire.call(tool, args).await });
    let waiting = asks::FollowRequest { known: Some(Vec::new()) };
    let shown = soon(person.call::<asks::FollowAsks>(waiting)).await.unwrap().remove(0);
    let answer = asks::AnswerRequest { id: shown.id.clone(), approve: yes };
    person.call::<asks::AnswerAsk>(answer).await.unwrap();
    (soon(calling).await.unwrap(), shown)
}

async fn plan(server: &Pi) -> String {
    let rule = json!({
        "device_ids": ["edge"], "chain": "forward", "action": "drop", "src_address": "198.51.100.0/24", "place": "first", "comment": "x",
    });
    let made = server.call("routeros.plan_add_firewall_rule", rule).await;
    made.ok()["plan_id"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_person_sees_the_changes_and_their_yes_applies_them() {
    let house = House::with("allow_professional = true\n[access]\nstdio_role = \"admin\"\n").await;
    house.was_tested().await;
    let apart = house.server().await;
    let _process = house.process(&apart).await;
    for server in [&apart, &house.pi] {
        let id = plan(server).await;
        let before = house.router.writes();
        let apply = json!({ "plan_id": id });
        let (refused, shown) = asked(&house, server, "routeros.apply_firewall_plan", apply, false).await;
        refused.failed("permission_denied");
        assert_eq!(house.router.writes(), before);
        let args = &shown.request.args;
        assert_eq!(args["plan_id"], id.as_str(), "{args}");
        assert!(args["plan_hash"].is_string(), "{args}");
        let changes = args["devices"][0]["changes"].to_string();
        assert!(changes.contains("198.51.100.0/24") && args["devices"][0]["device_id"] == "edge", "{args}");
        // A person knows a rule by what it does, not by its id.
        assert!(changes.contains("before the one with action ") && !changes.contains(".id"), "{args}");
        // A no stands, so another plan is made.
        let id = plan(server).await;
        let (done, _) = asked(&house, server, "routeros.apply_firewall_plan", json!({ "plan_id": id }), true).await;
        assert_eq!(done.ok()["status"], "done");
        assert!(house.router.export().contains("198.51.100.0/24"));
        let id = id.as_str();
        let again = server.call("routeros.apply_firewall_plan", json!({ "plan_id": id })).await;
        again.failed("failed_precondition");
        let row = house.router.export().lines().filter(|line| line.contains("198.51.100.0/24")).count();
        assert_eq!(row, 1);
        // For the next server, as it was.
        let audit = server.call("logs.get_recent_audit_logs", json!({ "limit": 5 })).await.message.to_string();
        assert!(audit.contains("routeros.apply_firewall_plan"), "{audit}");
        let remove =
            json!({ "device_ids": ["edge"], "rule": { "chain": "forward", "src_address": "198.51.100.0/24" } });
        let made = server.call("routeros.plan_remove_firewall_rule", remove).await;
        let id = made.ok()["plan_id"].as_str().unwrap().to_owned();
        let (done, _) = asked(&house, server, "routeros.apply_firewall_plan", json!({ "plan_id": id }), true).await;
        assert_eq!(done.ok()["status"], "done");
    }
    let log = std::fs::read_to_string(house.sources.places.agent_state_dir.join("operations.ndjson")).unwrap();
    assert_eq!(log.matches("authorize_router_write").count(), 4, "{log}");
}
