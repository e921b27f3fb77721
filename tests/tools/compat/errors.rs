//! Errors: our code, and dbus-mcp's number beside it.

use super::alias;
use crate::support::served::{Door, Pi};
use base::error::{ErrorCode, ToolError};
use raspi_mcp::registry::compat;
use serde_json::{Map, json};

#[test]
fn every_code_has_a_number_of_the_other_server() {
    const NUMBERS: [i64; 6] = [-32602, -32603, -32005, -32200, -32201, -32203];
    for alias in compat::all() {
        for code in ErrorCode::ALL {
            let error = alias.answer(&Map::new(), Err(ToolError::new(*code, "no"))).unwrap_err();
            assert_eq!(error.code, *code);
            assert!(NUMBERS.contains(&error.details["dbus_mcp_code"].as_i64().unwrap()), "{} {code:?}", alias.name);
        }
    }
    let number = |name: &str, code| {
        alias(name).answer(&Map::new(), Err(ToolError::new(code, "no"))).unwrap_err().details["dbus_mcp_code"].clone()
    };
    assert_eq!(number("systemd_status", ErrorCode::NotFound), -32201);
    assert_eq!(number("systemd_stop", ErrorCode::NotFound), -32201);
    assert_eq!(number("file_read", ErrorCode::NotFound), -32005);
    assert_eq!(number("systemd_status", ErrorCode::Unavailable), -32200);
    assert_eq!(number("network_connections", ErrorCode::CapabilityMissing), -32200);
    assert_eq!(number("exec_command", ErrorCode::Unavailable), -32005);
}

#[tokio::test]
async fn our_own_names_have_no_such_number() {
    let pi = Pi::standard(|settings| {
        settings.compat.insert("dbus-mcp".into());
    })
    .await;
    let answer = pi.call("files.read", json!({"path": "/etc/hostname"})).await;
    assert_eq!(answer.failed("permission_denied")["details"].get("dbus_mcp_code"), None);
    let answer = pi.call("file_read", json!({"path": "/etc/hostname"})).await;
    assert_eq!(answer.failed("permission_denied")["details"]["dbus_mcp_code"], -32203);
    let mut wire = pi.on(Door::Api).await;
    // A bare method has our code, and the number beside it.
    let bare = wire.request("file_read", json!({"path": 1})).await;
    assert_eq!(bare.fault(-32602)["data"]["details"]["dbus_mcp_code"], -32602);
    let unknown = wire.request("tools/call", json!({"name": "systemd_reload", "arguments": {}})).await;
    assert_eq!(unknown.fault(-32602)["data"]["details"]["dbus_mcp_code"], -32004);
    let pi = Pi::standard(|_| {}).await;
    let unknown = pi.on(Door::Api).await.request("tools/call", json!({"name": "systemd_reload"})).await;
    assert_eq!(unknown.fault(-32602)["data"]["details"].get("dbus_mcp_code"), None);
}
