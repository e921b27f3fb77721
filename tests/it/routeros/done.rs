//! Whether a menu has what a change was to make of it.

use raspi_mcp::routeros::plan::{Change, Fields, fields, is_done};
use serde_json::{Value, json};

/// A change that adds one row to each of these menus, and the row as the router shows it.
fn additions() -> [(Change, Value); 4] {
    let add =
        |menu: &str, select: &[(&str, &str)], more: &[(&str, &str)]| Change::add(menu, fields(select), fields(more));
    [
        (
            add("ip/address", &[("address", "192.0.2.1/24"), ("interface", "bridge")], &[("comment", "second")]),
            json!({ "address": "192.0.2.1/24", "network": "192.0.2.0", "interface": "bridge", "comment": "second" }),
        ),
        (
            add("ip/route", &[("dst-address", "10.9.0.0/16"), ("gateway", "192.168.88.254")], &[("distance", "2")]),
            json!({ "dst-address": "10.9.0.0/16", "gateway": "192.168.88.254", "distance": "2", "active": "true" }),
        ),
        (
            add("ip/dhcp-server/lease", &[("address", "192.168.88.9"), ("mac-address", "5C:AA:FD:00:00:09")], &[]),
            json!({ "address": "192.168.88.9", "mac-address": "5C:AA:FD:00:00:09", "status": "waiting" }),
        ),
        (
            add("ip/firewall/filter", &[("chain", "forward"), ("action", "drop")], &[("protocol", "6")]),
            json!({ "chain": "forward", "action": "drop", "protocol": "tcp", "disabled": "false" }),
        ),
    ]
}

#[test]
fn a_row_that_was_added_is_there_exactly_once() {
    for (change, row) in additions() {
        let with_id = |id: &str| {
            let mut row = row.clone();
            row[".id"] = id.into();
            row
        };
        let other = json!({ ".id": "*9", "comment": "another row" });
        assert!(!is_done(&json!([other]), &change), "{change:?}: not there");
        assert!(is_done(&json!([other, with_id("*1")]), &change), "{change:?}: there once");
        assert!(!is_done(&json!([with_id("*1"), other, with_id("*2")]), &change), "{change:?}: there twice");
    }
}

#[test]
fn a_row_that_was_changed_may_look_like_another_one() {
    let change = Change::set("ip/route", fields(&[("comment", "first")]), fields(&[("distance", "2")]));
    let row = json!({ "dst-address": "10.9.0.0/16", "comment": "first", "distance": "2" });
    assert!(is_done(&json!([row, row]), &change));
    assert!(!is_done(&json!([{ "comment": "first", "distance": "1" }]), &change));
    let singleton = Change::set("ip/dns", Fields::new(), fields(&[("servers", "1.1.1.1")]));
    assert!(is_done(&json!({ "servers": "1.1.1.1" }), &singleton) && !is_done(&json!({ "servers": "" }), &singleton));
}
