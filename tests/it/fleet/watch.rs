//! `fleet watch`: changes as they come, and after the broker was away.

use super::Fleet;
use crate::support::served::soon;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt, BufReader, Lines},
    process::ChildStdout,
};

async fn next(lines: &mut Lines<BufReader<ChildStdout>>) -> Value {
    let line = soon(lines.next_line()).await.unwrap().expect("it goes on");
    serde_json::from_str(&line).unwrap()
}

#[tokio::test]
async fn a_change_is_told_once_and_also_after_a_restart_of_the_broker() {
    let mut fleet = Fleet::of(&["attic", "shed"]).await;
    fleet.clients[0].reports().await;
    let mut watch = fleet.command(&["watch", "--json"]).spawn().unwrap();
    let mut lines = BufReader::new(watch.stdout.take().unwrap()).lines();
    // It may have begun before or after this; it is told either way, since the shed was never heard.
    fleet.clients[1].device.differs = json!({ "version": "1.0.0" });
    let mut version = 1;
    let mut said = loop {
        fleet.clients[1].device.differs["version"] = format!("1.0.{version}").into();
        fleet.clients[1].reports().await;
        version += 1;
        tokio::select! {
            said = next(&mut lines) => break said,
            () = tokio::time::sleep(std::time::Duration::from_millis(100)) => {}
        }
    };
    while said["device"]["version"] != format!("1.0.{}", version - 1) {
        said = next(&mut lines).await;
    }
    // The same again is no change; what is refused is one.
    fleet.clients[1].reports().await;
    let lie = fleet.clients[0].device.signs(&json!({ "name": "shed" }));
    fleet.clients[0].sends(lie).await;
    let said = next(&mut lines).await;
    assert_eq!((&said["name"], &said["refused"]), (&json!("attic"), &json!(true)), "{said:#}");

    fleet.server.restart(&fleet.desk, &fleet.names).await;
    let mut state = fleet.clients[1].broker.state();
    state.wait_for(|state| state.connected && state.connections > 1).await.unwrap();
    fleet.clients[1].device.differs["version"] = "2.0.0".into();
    fleet.clients[1].reports().await;
    loop {
        let said = next(&mut lines).await;
        if said["name"] == "shed" {
            assert!(said["change"].as_str().unwrap().contains("version 2.0.0"), "{said:#}");
            break;
        }
    }
}
