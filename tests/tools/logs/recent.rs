//! `logs.get_recent_app_logs` and `logs.get_recent_audit_logs` where there is nothing to show.

use crate::support::pi::Pi;
use contract::{access::caller::Transport, meta::Role};
use serde_json::json;

#[tokio::test]
async fn an_empty_list_says_why() {
    let pi = Pi::like("pi-5");
    let admin = pi.caller("admin", Role::Admin, Transport::Http);
    for (pi, tool, args, note) in [
        (&pi, "logs.get_recent_app_logs", json!({}), "there are no lines yet"),
        (&pi, "logs.get_recent_app_logs", json!({"level": "error"}), "no lines match level: leave some of that out"),
        (&pi, "logs.get_recent_audit_logs", json!({}), "there are no records yet (those of others are for admins)"),
        (
            &admin,
            "logs.get_recent_audit_logs",
            json!({"tool": "x", "principal": "y"}),
            "no records match tool, principal: leave some of that out",
        ),
    ] {
        assert_eq!(pi.call(tool, args.clone()).await.ok()["note"], note, "{tool} {args}");
    }
}
