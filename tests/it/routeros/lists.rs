//! Long lists: read row by row as they arrive, whatever they hold, and said as they are.

use super::{Bench, call};
use crate::support::served::soon;
use base::error::ErrorCode;
use raspi_mcp::routeros::{
    reads::{MenuRead, Shape},
    value::Kind,
};
use routeros_simulator::{Fault, Profile, Router};
use serde_json::json;

/// More than the longest answer that is kept whole (8 MiB): rows of `bytes` bytes and some more.
fn many_leases(router: &Router, count: u32, bytes: usize) {
    let lease = |at: u32| {
        vec![
            ("address", format!("10.1.{}.{}", at / 256, at % 256)),
            ("mac-address", format!("5C:AA:FD:01:{:02X}:{:02X}", at / 256, at % 256)),
            ("host-name", "n".repeat(bytes)),
            ("status", "bound".to_owned()),
        ]
    };
    router.add_dynamic_rows("ip/dhcp-server/lease", (0..count).map(lease));
}

#[tokio::test]
async fn a_list_that_is_longer_than_8_mib_has_pages() {
    let bench = Bench::new(Profile::V7_21).await;
    let service = bench.service();
    let leases = async |args| soon(service.call("get_dhcp_leases", args)).await;
    let before = leases(json!({ "device_id": "attic" })).await.unwrap()["total_count"].as_u64().unwrap();
    many_leases(&bench.router, 900, 10_000);
    let all = leases(json!({ "device_id": "attic" })).await.unwrap();
    assert_eq!((&all["total_count"], &all["pagination"]["returned_count"]), (&json!(before + 900), &json!(100)));
    let last = leases(json!({ "device_id": "attic", "offset": before + 899 })).await.unwrap();
    assert_eq!(last["leases"][0]["address"], "10.1.3.131");
    assert_eq!(last["pagination"]["has_more"], false);
    // What is shown of it is bounded: the caller asks for less.
    let error = leases(json!({ "device_id": "attic", "limit": 1000 })).await.unwrap_err();
    assert_eq!(error.code, ErrorCode::ContentTooLarge, "{error:?}");
    assert!(error.hint.as_ref().is_some_and(|hint| hint.contains("limit")), "{error:?}");
    let filtered = json!({ "device_id": "attic", "list_name": "admins" });
    assert_eq!(soon(service.call("list_firewall_address_lists", filtered)).await.unwrap()["total_count"], 1);
}

#[tokio::test]
async fn the_newest_lines_of_a_long_log() {
    let bench = Bench::new(Profile::V7_21).await;
    let line = |at: u32| {
        vec![
            ("time", "2026-11-26 08:00:00".to_owned()),
            ("topics", "system,info".to_owned()),
            ("message", format!("{at} {}", "m".repeat(10_000))),
        ]
    };
    bench.router.add_dynamic_rows("log", (0..900).map(line));
    let service = bench.service();
    let logs = json!({ "device_id": "attic", "topics": ["system"], "limit": 2, "offset": 1 });
    let answer = soon(service.call("get_recent_logs", logs)).await.unwrap();
    let number = |at: usize| answer["log_entries"][at]["message"].as_str().unwrap().split(' ').next().unwrap();
    assert_eq!((&answer["total_count"], number(0), number(1)), (&json!(901), "898", "897"));
}

#[tokio::test]
async fn only_the_fields_that_are_shown_are_asked_for() {
    let bench = Bench::new(Profile::V7_21).await;
    many_leases(&bench.router, 200, 10);
    let rows = bench.router.rows("ip/dhcp-server/lease");
    let (rows, first) = (rows.len(), rows[0].get("address").to_owned());
    let mut read = bench.router.sent_bytes();
    bench.client.get("ip/dhcp-server/lease").await.unwrap();
    let whole = bench.router.sent_bytes() - read;
    read = bench.router.sent_bytes();
    let shown = MenuRead {
        menus: &["ip/dhcp-server/lease"],
        shape: Shape::List { name: "leases", usual: "100", most: 1000 },
        fields: &[("id", ".id", Kind::Text), ("address", "address", Kind::Text)],
    };
    let mut list = call("get_dhcp_leases", json!({ "device_id": "attic", "limit": 1 }));
    let answer = shown.run(&bench.client, &list).await.unwrap();
    assert_eq!((&answer["total_count"], &answer["leases"][0]["address"]), (&json!(rows), &json!(first)));
    let sent = bench.router.sent_bytes() - read;
    assert!(sent * 2 < whole, "{sent} of {whole} bytes");
    // A version of RouterOS that does not know one of the names is read without them.
    let other = MenuRead { fields: &[("address", "address", Kind::Text), ("x", "no-such-field", Kind::Text)], ..shown };
    list.args["limit"] = json!(2);
    let answer = other.run(&bench.client, &list).await.unwrap();
    assert_eq!((&answer["total_count"], &answer["leases"][0]), (&json!(rows), &json!({ "address": first })));
}

#[tokio::test]
async fn a_list_that_ends_early_is_not_taken_for_a_whole_one() {
    let bench = Bench::new(Profile::V7_21).await;
    let service = bench.service();
    let whole = soon(service.call("list_interfaces", json!({ "device_id": "attic" }))).await.unwrap();
    bench.router.fault(Fault::HalfAnswer("interface".into()));
    let error = soon(service.call("list_interfaces", json!({ "device_id": "attic" }))).await.unwrap_err();
    assert_eq!((error.code, &error.details["reason"]), (ErrorCode::Unavailable, &json!("device_error")), "{error:?}");
    bench.router.mend();
    // The connection breaks before an answer: it is asked again, and no row counts twice.
    bench.router.fault(Fault::CutBefore(1));
    let again = soon(service.call("list_interfaces", json!({ "device_id": "attic" }))).await.unwrap();
    assert_eq!(again, whole);
}
