//! What reads say: types, pages, filters, and what needs more than one menu.

use super::Bench;
use crate::support::served::soon;
use base::error::ErrorCode;
use raspi_mcp::routeros::reads::path_segment;
use routeros_simulator::Profile;
use serde_json::{Value, json};
use std::time::Duration;

#[tokio::test]
async fn values_have_types_and_pages_are_pages() {
    let bench = Bench::new(Profile::V7_21).await;
    let service = bench.service();
    let page = json!({ "device_id": "attic", "limit": 2, "offset": 1 });
    let interfaces = soon(service.call("list_interfaces", page)).await.unwrap();
    let rows = interfaces["interfaces"].as_array().unwrap();
    assert_eq!((rows.len(), &interfaces["total_count"], &rows[0]["name"]), (2, &json!(7), &json!("ether2")));
    assert_eq!(
        interfaces["pagination"],
        json!({ "limit": 2, "offset": 1, "returned_count": 2, "total_count": 7, "has_more": true, "next_offset": 3 })
    );
    assert_eq!(
        (&rows[0]["mtu"], &rows[0]["running"], &rows[0]["disabled"]),
        (&json!(1500), &json!(true), &json!(false))
    );
    for (tool, argument, name, field, value) in [
        ("get_interface", "interface_id", "bridge", "interface", "bridge"),
        ("get_ip_address", "address_id", "192.168.88.1/24", "address", "192.168.88.1/24"),
        ("get_route", "route_id", "0.0.0.0/0", "route", "0.0.0.0/0"),
    ] {
        let named = soon(service.call(tool, json!({ "device_id": "attic", argument: name }))).await.unwrap();
        assert!(named[field].as_object().unwrap().values().any(|found| found == value), "{named}");
    }
    let listed = json!({ "device_id": "attic", "list_name": "admins" });
    let lists = soon(service.call("list_firewall_address_lists", listed)).await.unwrap();
    assert_eq!((&lists["total_count"], &lists["address_lists"][0]["address"]), (&json!(1), &json!("192.168.88.10")));
    assert_eq!(path_segment("a/b c").unwrap(), "a%2Fb%20c");
    for bad in ["", ".", "..", "a\nb"] {
        assert_eq!(path_segment(bad).unwrap_err().code, ErrorCode::InvalidArgument, "{bad:?}");
    }
}

#[tokio::test]
async fn what_needs_more_than_a_menu() {
    for profile in Profile::ALL {
        let bench = Bench::new(profile).await;
        let service = bench.service();
        let read = async |tool: &str| soon(service.call(tool, json!({ "device_id": "attic" }))).await.unwrap();
        let overview = read("get_system_overview").await;
        assert_eq!(
            (&overview["identity"], &overview["cpu"], &overview["memory"]["used_bytes"]),
            (&json!("MikroTik"), &json!({ "usage_percent": 3.0, "count": 4 }), &json!(318_767_104))
        );
        assert_eq!(
            (&overview["health"], &overview["routeros_version"]),
            (&json!({ "temperature_celsius": 41.0, "voltage": 24.1 }), &json!(profile.version()))
        );
        assert_eq!(read("get_system_clock").await["time"], "2026-11-26T08:00:00+02:00");
        assert_eq!(read("get_dns_status").await["dynamic_servers"], json!(["192.0.2.53"]));
        let ntp = read("get_ntp_status").await;
        assert_eq!((&ntp["stratum"], &ntp["offset_ms"], &ntp["enabled"]), (&json!(2), &json!(0.412), &json!(true)));
        let routes = read("get_routing_summary").await;
        assert_eq!(
            ["total_routes", "static_routes", "connected_routes", "dynamic_routes"]
                .map(|name| routes[name].as_u64().unwrap()),
            [3, 0, 2, 1]
        );
        let dhcp = read("get_dhcp_server_status").await;
        assert_eq!(
            (&dhcp["servers"][0]["lease_time_seconds"], &dhcp["pools"][0]["ranges"][0]),
            (&json!(1800), &json!("192.168.88.10-192.168.88.254"))
        );
        let stats = read("get_interface_stats").await;
        assert_eq!(
            (stats["stats"].as_array().unwrap().len(), &stats["stats"][0]["rx_bits_per_second"]),
            (7, &json!(24_000))
        );
        let connectivity = read("check_connectivity").await;
        assert_eq!((&connectivity["reachable"], &connectivity["failure_reason"]), (&json!(true), &Value::Null));
        let health = &read("get_health_data").await["current_health"];
        assert_eq!(
            [&health["status"], &health["memory_usage_percent"], &health["temperature_celsius"]],
            [&json!("healthy"), &json!(29.7), &json!(41.0)]
        );
    }
}

#[tokio::test]
async fn measurements_have_ends() {
    let bench = Bench::new(Profile::V7_16).await;
    let service = bench.service();
    let ping = json!({ "device_id": "attic", "address": "198.51.100.1", "count": 3, "interval_ms": 10 });
    let answer = soon(service.call("ping", ping)).await.unwrap();
    assert_eq!(
        [&answer["packets_received"], &answer["packet_loss_percent"], &answer["avg_rtt_ms"]],
        [&json!(3), &json!(0.0), &json!(12.345)]
    );
    let lost = json!({ "device_id": "attic", "address": "192.0.2.1", "count": 2, "interval_ms": 10 });
    let answer = soon(service.call("ping", lost)).await.unwrap();
    assert_eq!((&answer["packets_received"], &answer["packet_loss_percent"]), (&json!(0), &json!(100.0)));
    assert!(answer.get("avg_rtt_ms").is_none());
    let trace = json!({ "device_id": "attic", "address": "192.0.2.1" });
    let answer = soon(service.call("traceroute", trace)).await.unwrap();
    assert_eq!((&answer["total_hops"], &answer["hops"][0]["rtt_ms"]), (&json!(2), &json!(1.4)));
    assert!(answer["hops"][1].get("rtt_ms").is_none(), "{answer}");
    let measure = |address: &str| json!({ "device_id": "attic", "address": address, "duration_seconds": 1 });
    let answer = soon(service.call("bandwidth_test", measure("198.51.100.1"))).await.unwrap();
    assert_eq!(answer["rx_bits_per_second"], 92_100_000);
    let refused = soon(service.call("bandwidth_test", measure("192.0.2.1"))).await.unwrap_err();
    assert_eq!(refused.code, ErrorCode::FailedPrecondition, "{refused:?}");
    let asked = service.judge.asked.lock().unwrap();
    assert_eq!(asked.len(), 2, "it loads a link, so the authority is asked each time");
    assert_eq!(asked[0].1["duration_seconds"], 1);
}

#[tokio::test]
async fn each_packet_is_told_to_whoever_wants_it() {
    let bench = Bench::new(Profile::V7_21).await;
    let service = bench.service();
    let said = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    for wanted in [false, true] {
        let args = json!({
            "device_id": "attic", "address": "198.51.100.1", "count": 2, "interval_ms": 10, "stream_progress": wanted,
        });
        let mut call = super::call("ping", args);
        let kept = std::sync::Arc::clone(&said);
        call.progress = std::sync::Arc::new(move |done, total, message| {
            kept.lock().unwrap().push(format!("{done}/{total} {message}"));
        });
        soon(service.service.call(call)).await.unwrap();
    }
    assert_eq!(*said.lock().unwrap(), ["1/2 packet 1: 12.345 ms", "2/2 packet 2: 12.345 ms"]);
}

#[tokio::test]
async fn the_log_is_read_for_a_day_the_newest_line_first() {
    let bench = Bench::new(Profile::V7_21).await;
    let service = bench.service();
    let log = async |more: Value| {
        let mut args = json!({ "device_id": "attic" });
        args.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        soon(service.call("get_recent_logs", args)).await
    };
    let all = log(json!({})).await.unwrap();
    let first = &all["log_entries"][0];
    assert_eq!((&all["total_count"], &first["topics"]), (&json!(3), &json!(["dhcp", "info"])));
    // The router's clock says 08:00 two hours east.
    assert_eq!(first["time"], "2026-11-26T06:00:00.000Z");
    for (filter, count) in [
        (json!({ "topics": ["system", "info"] }), 1),
        (json!({ "topics": ["system", "error"] }), 0),
        (json!({ "message": "porch" }), 1),
        (json!({ "end_time": "2026-11-26T05:59:59Z" }), 0),
        (json!({ "start_time": "2026-11-26T06:00:00Z", "end_time": "2026-11-26T08:00:00+02:00" }), 3),
        (json!({ "limit": 1, "offset": 2 }), 3),
    ] {
        assert_eq!(log(filter.clone()).await.unwrap()["total_count"], count, "{filter}");
    }
    for bad in [
        json!({ "start_time": "2026-11-24T00:00:00Z", "end_time": "2026-11-26T00:00:00Z" }),
        json!({ "start_time": "2026-11-26T06:00:00Z", "end_time": "2026-11-26T05:00:00Z" }),
    ] {
        let error = log(bad).await.unwrap_err();
        assert_eq!((error.code, &error.details["parameter"]), (ErrorCode::InvalidArgument, &json!("start_time")));
    }
    bench.router.advance(Duration::from_secs(25 * 3600));
    assert_eq!(log(json!({})).await.unwrap()["total_count"], 0, "they are older than a day");
    let of_that_day = json!({ "start_time": "2026-11-26T06:00:00Z" });
    assert_eq!(log(of_that_day).await.unwrap()["total_count"], 3);
}

#[tokio::test]
async fn the_configuration_is_exported_whole_or_by_topic() {
    let bench = Bench::new(Profile::V7_21).await;
    let service = bench.service();
    let export = async |args: Value| soon(service.call("get_config_snapshot", args)).await.unwrap();
    let whole = export(json!({ "device_id": "attic" })).await;
    let text = whole["config_text"].as_str().unwrap();
    assert_eq!(whole["size_bytes"], text.len());
    assert!(text.contains("/ip address") && text.contains("/ip firewall filter"), "{text}");
    let part = export(json!({ "device_id": "attic", "topic": "firewall" })).await;
    let text = part["config_text"].as_str().unwrap();
    assert!(text.contains("/ip firewall filter") && !text.contains("/ip address\n"), "{text}");
}
