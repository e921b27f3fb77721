//! What every answer says about itself.

use crate::support::served::Pi;
use serde_json::json;

#[tokio::test]
async fn answers_say_how_long_they_took_and_echo_the_correlation_id() {
    let pi = Pi::start().await;
    for mut wire in pi.every_door().await {
        let params = json!({"name": "test.echo", "arguments": {}, "_meta": {"correlation_id": "ticket 17"}});
        let answer = wire.request("tools/call", params).await;
        assert_eq!(answer.meta()["correlation_id"], "ticket 17");
        assert!(answer.meta()["execution_time_ms"].as_f64().unwrap() >= 0.0);
        assert!(answer.meta().get("simulated").is_none() && answer.meta().get("changed").is_none());
        // A failure has it as well.
        let params = json!({"name": "test.echo", "arguments": {"text": 7}, "_meta": {"correlation_id": "ticket 18"}});
        assert_eq!(wire.request("tools/call", params).await.meta()["correlation_id"], "ticket 18");
        // Nobody asked: nothing is made up.
        assert!(wire.call("test.echo", json!({})).await.meta().get("correlation_id").is_none());
    }
    for ticket in ["ticket 17", "ticket 18"] {
        pi.audited(|record| record["correlation_id"] == ticket).await;
    }
}

#[tokio::test]
async fn a_write_says_whether_it_changed_anything_and_whether_it_was_simulated() {
    let pi = Pi::with(|settings| {
        settings.tools.enable.insert("test".into());
        settings.access.loopback_role = contract::meta::Role::Admin;
    })
    .await;
    for mut wire in pi
        .on_all(&[
            crate::support::served::Door::Stdio,
            crate::support::served::Door::Http,
            crate::support::served::Door::Ws,
        ])
        .await
    {
        for (dry_run, changed) in [(false, true), (true, false)] {
            let answer = wire.call("test.write", json!({"dry_run": dry_run})).await;
            answer.ok();
            assert_eq!(answer.meta()["changed"], changed);
            assert_eq!(answer.meta()["simulated"], true);
            // It was recorded before it was answered.
            let newest = &pi.audit().await[0];
            assert_eq!(
                (&newest["tool"], &newest["changed"], &newest["simulated"]),
                (&json!("test.write"), &json!(changed), &json!(true))
            );
        }
    }
}

#[tokio::test]
async fn text_and_structure_are_the_same_json() {
    let pi = Pi::start().await;
    for mut wire in pi.every_door().await {
        let answer = wire.call("test.echo", json!({"text": "\"quoted\" \u{2028} ünï"})).await;
        let text = answer.result()["content"][0]["text"].as_str().unwrap();
        assert_eq!(serde_json::from_str::<serde_json::Value>(text).unwrap(), *answer.ok());
    }
}
