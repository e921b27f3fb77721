//! `fleet halt`: signed by the fleet's key, confirmed by the devices' statuses.

use super::Fleet;
use base::signing::SigningKey;
use serde_json::json;

#[tokio::test]
async fn devices_that_hear_it_confirm_it_and_others_are_named() {
    let mut fleet = Fleet::of(&["attic", "kitchen", "shed"]).await;
    fleet.report().await;
    let away = fleet.clients.pop().unwrap();
    drop(away);
    let mut clients: Vec<_> = fleet.clients.drain(..).collect();
    let following = tokio::spawn(async move {
        let mut reasons = Vec::new();
        for client in &mut clients {
            reasons.push(client.follows().await.unwrap());
        }
        (reasons, clients)
    });
    let (code, answer) = fleet.json(&["halt", "--all", "--reason", "smoke in the attic", "--wait", "3"]).await;
    assert_eq!((code, answer), (4, json!({ "confirmed": ["attic", "kitchen"], "open": ["shed"], "clones": {} })));
    let (reasons, clients) = following.await.unwrap();
    assert_eq!(reasons, ["smoke in the attic"; 2]);
    fleet.clients = clients;
    let (_, text, _) = fleet.runs(&["status"]).await;
    assert_eq!(text.matches("it is halted").count(), 2, "{text}");
    // The broker has its last status, which says that it is halted: that is no answer to this order.
    let (code, answer) = fleet.json(&["halt", "attic", "--reason", "again", "--wait", "1"]).await;
    assert_eq!((code, answer["open"].clone()), (4, json!(["attic"])), "nobody heard it");
    let mut attic = fleet.clients.remove(0);
    assert_eq!(attic.follows().await.unwrap(), "again");
    let (order, (code, answer)) =
        tokio::join!(attic.follows(), fleet.json(&["halt", "attic", "--reason", "once more"]));
    assert_eq!((order.unwrap().as_str(), code, answer["confirmed"].clone()), ("once more", 0, json!(["attic"])));
}

/// Both were halted before, and report by themselves while the order is under way. Neither hears it.
#[tokio::test]
async fn a_halted_device_that_reports_without_having_heard_the_order_does_not_confirm_it() {
    let mut fleet = Fleet::of(&["attic", "kitchen"]).await;
    for (client, order) in fleet.clients.iter_mut().zip([0, 1_700_000_000_000_u64]) {
        client.device.differs = json!({ "halted": true, "halt_order": order });
    }
    fleet.report().await;
    let mut clients: Vec<_> = fleet.clients.drain(..).collect();
    let reporting = async {
        for client in &mut clients {
            // The order has been sent.
            client.hears_order().await;
            client.reports().await;
        }
        std::future::pending::<()>().await;
    };
    let (code, answer) = tokio::select! {
        () = reporting => unreachable!(),
        told = fleet.json(&["halt", "--all", "--reason", "again", "--wait", "2"]) => told,
    };
    assert_eq!((code, answer["open"].clone()), (4, json!(["attic", "kitchen"])), "{answer}");
}

#[tokio::test]
async fn a_device_of_a_version_that_names_no_order_confirms_by_its_next_status() {
    let mut fleet = Fleet::of(&["attic"]).await;
    fleet.report().await;
    let mut attic = fleet.clients.pop().unwrap();
    let following = async {
        attic.hears_order().await;
        attic.device.differs = json!({ "halted": true, "halt_order": null });
        attic.reports().await;
    };
    let ((), (code, answer)) = tokio::join!(following, fleet.json(&["halt", "attic", "--reason", "smoke"]));
    assert_eq!((code, answer["confirmed"].clone()), (0, json!(["attic"])), "{answer}");
}

#[tokio::test]
async fn another_key_halts_nobody() {
    let mut fleet = Fleet::of(&["attic"]).await;
    fleet.report().await;
    std::fs::write(fleet.desk.file("fleet.key"), SigningKey::generate().unwrap()).unwrap();
    let mut attic = fleet.clients.pop().unwrap();
    let (code, answer) = tokio::select! {
        order = attic.follows() => panic!("{order:?}"),
        told = fleet.json(&["halt", "attic", "--reason", "a forgery", "--wait", "1"]) => told,
    };
    assert_eq!((code, answer["open"].clone()), (4, json!(["attic"])));
    std::fs::write(fleet.desk.file("fleet.key"), "no key").unwrap();
    let (code, _, why) = fleet.runs(&["halt", "attic", "--reason", "x"]).await;
    assert!(code == 2 && why.contains("fleet.key"), "{code} {why}");
}
