//! The patterns of `exec.commands` say what an attacker may try: they are for those who may run commands, and known.

use crate::support::served::Pi;
use contract::{
    access::caller::{Caller, Transport},
    meta::Role,
};
use serde_json::json;

#[tokio::test]
async fn patterns_of_commands_are_for_admins_with_a_credential() {
    let command = json!({ "name": "greet", "program": "/bin/echo", "args": ["hello-[a-z]+"] });
    let pi = Pi::standard(|settings| settings.exec.commands.push(serde_json::from_value(command).unwrap())).await;
    for (caller, sees) in [
        (Caller::new("token:desk", Role::Admin, Transport::Http), true),
        (Caller::new("stdio", Role::Admin, Transport::Stdio), true),
        (Caller::new("token:ops", Role::OpsRw, Transport::Http), false),
        (Caller::new("token:reader", Role::ReadOnly, Transport::Http), false),
        (Caller::anonymous(Role::Admin), false),
        (Caller::anonymous(Role::ReadOnly), false),
    ] {
        let (who, mut wire) = (format!("{caller:?}"), pi.stdio(caller));
        let export = wire.call("manage.export_settings", json!({})).await.ok().clone();
        assert_eq!(export["toml"].as_str().unwrap().contains("hello-"), sees, "{who}: {export:#}");
        let left_out = export["left_out"].as_array().unwrap().contains(&json!("exec.commands"));
        assert_eq!(left_out, !sees, "{who}: {export:#}");
        let status = wire.call("manage.get_server_status", json!({})).await.ok().clone();
        assert_eq!(status.to_string().contains("hello-"), sees, "{who}");
        assert!(status["config_summary"]["exec"]["commands"].to_string().contains("greet"), "{who}: its name is told");
    }
    pi.stop().await.unwrap();
}
