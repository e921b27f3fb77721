//! One caller on a bus at a time, and an adapter that hangs takes nobody else with it.

use super::Scene;
use crate::support::served::Door;
use contract::values::I2cAddress;
use futures::future::join_all;
use hw::i2c::simulated::I2cTrouble;
use hw::i2c::{Allow, I2c, PATIENCE, simulated};
use serde_json::json;
use std::sync::Arc;

#[tokio::test]
async fn callers_of_a_bus_come_one_after_the_other() {
    let scene = Scene::new().await;
    let callers = (0..8u8).map(|n| {
        let pi = &scene.pi;
        async move {
            let mut wire = pi.on(Door::Stdio).await;
            let write = json!({"bus": 1, "address": 80, "register": n * 16, "data": [n, n, n]});
            wire.call("i2c.write", write).await.ok();
            let read = json!({"bus": 1, "address": 80, "register": n * 16, "length": 3});
            assert_eq!(wire.call("i2c.read", read).await.ok()["data"], json!([n, n, n]));
        }
    });
    join_all(callers).await;
    assert_eq!(scene.buses.most_at_once(1), 1);
}

#[tokio::test]
async fn a_bus_that_hangs_holds_up_nobody_else() {
    let mut scene = Scene::new().await;
    scene.buses.fail(1, I2cTrouble::Hangs);
    let read = json!({"name": "i2c.read", "arguments": {"bus": 1, "address": 80, "length": 1}});
    for _ in 0..6 {
        let id = scene.wire.ask("tools/call", read.clone());
        while scene.buses.inside(1) == 0 {
            tokio::task::yield_now().await;
        }
        // Everything else is answered.
        scene.pi.call("system.get_clock", json!({})).await.ok();
        scene.pi.call("i2c.list_buses", json!({})).await.ok();
        scene.wire.notify("notifications/cancelled", json!({"requestId": id}));
        scene.wire.answer_to(id).await.failed("cancelled");
    }
    assert_eq!((scene.buses.inside(1), scene.buses.most_at_once(1)), (1, 1), "one thread hangs, however many asked");
    scene.buses.heal(1);
    scene.ok("i2c.read", json!({"bus": 1, "address": 80, "length": 1})).await;
}

/// Its clock stands still unless the test moves it.
#[tokio::test(start_paused = true)]
async fn whoever_waits_longer_than_any_transfer_takes_is_told() {
    let buses = simulated::Buses::default();
    let i2c = Arc::new(I2c::on(Arc::new(buses.clone()), Allow::Everything));
    let read = |address| {
        let (i2c, address) = (Arc::clone(&i2c), I2cAddress::new(address).unwrap());
        tokio::spawn(async move { i2c.transfer("i2c.read", 1, address, vec![], 1).await })
    };
    buses.fail(1, I2cTrouble::Hangs);
    let first = read(0x48);
    while buses.inside(1) == 0 {
        tokio::task::yield_now().await;
    }
    let second = read(0x50);
    tokio::task::yield_now().await;
    tokio::time::advance(PATIENCE).await;
    let refused = second.await.unwrap().unwrap_err();
    assert_eq!((refused.code.symbol(), &refused.details["fault"]), ("unavailable", &json!("queue")));
    assert!(refused.message.contains("10000 ms"), "{}", refused.message);
    buses.heal(1);
    assert_eq!(first.await.unwrap().unwrap_err().details["fault"], "timeout");
    assert_eq!(read(0x50).await.unwrap().unwrap(), [0xff], "and it goes on");
}
