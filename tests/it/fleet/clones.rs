//! Two live machines of one identity: the console tells.

use super::{Fleet, device};
use serde_json::json;

#[tokio::test]
async fn an_older_card_that_still_reports_is_found_out_by_a_new_console() {
    let mut fleet = Fleet::of(&["attic", "shed"]).await;
    fleet.report().await;
    let old = fleet.clients[0].device.signs(&json!({}));
    let sequence = (1_u64 << 40) + 1_800_000_000;
    fleet.clients[0].device.differs =
        json!({ "generation": 1, "boot": "the new card", "sequence": sequence, "time_ms": 1_800_000_000_000_i64 });
    fleet.clients[0].reports().await;
    let (_, answer) = fleet.json(&["status"]).await;
    assert_eq!((device(&answer, "attic")["generation"].as_u64(), &answer["refused"]), (Some(1), &json!([])));
    // What the broker kept from before the restore is a replay.
    fleet.clients[0].sends(old).await;
    let (code, answer) = fleet.json(&["status"]).await;
    assert!(code == 5 && answer["refused"][0]["reason"].as_str().unwrap().contains("not newer"), "{answer:#}");
    // What the old card says now is none.
    let now = json!({ "boot": "the old card", "time_ms": 1_800_000_900_000_i64, "sequence": 1_800_000_900 });
    let still = fleet.clients[0].device.signs(&now);
    fleet.clients[0].sends(still).await;
    let (code, answer) = fleet.json(&["status"]).await;
    let why = answer["refused"][0]["reason"].as_str().unwrap();
    assert!(code == 5 && why.contains("another machine runs with its identity, of generation 0"), "{answer:#}");
    assert_eq!(device(&answer, "shed")["health"], "good");
}
