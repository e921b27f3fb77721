//! Every read on every version.

use super::Bench;
use crate::support::served::soon;
use base::error::ErrorCode;
use raspi_mcp::routeros::reads::{
    Page, Shape, path_segment,
    rows::{READS, find},
    special,
};
use routeros_simulator::Profile;
use serde_json::{Value, json};

const PAGE: Page = Page { limit: 100, offset: 0 };

#[tokio::test]
async fn every_menu_is_read_on_every_version() {
    for profile in Profile::ALL {
        let bench = Bench::new(profile).await;
        for read in &READS {
            let chosen = match read.shape {
                Shape::One { .. } => bench.router.rows(read.menus[0])[0].id.to_string(),
                _ => String::new(),
            };
            let answer = soon(read.run(&bench.client, PAGE, &chosen))
                .await
                .unwrap_or_else(|error| panic!("{}: {error:?}", read.tool));
            assert_eq!(answer["device_id"], "attic");
            let shown = match read.shape {
                Shape::List { name, .. } => {
                    let rows = answer[name].as_array().unwrap();
                    assert_eq!(answer["total_count"], rows.len());
                    rows.first().unwrap_or_else(|| panic!("{} {profile:?}: no row", read.tool)).clone()
                }
                Shape::One { name, .. } => answer[name].clone(),
                Shape::Whole => Value::Object(answer),
            };
            assert!(shown.as_object().unwrap().len() > 2, "{}: {shown}", read.tool);
            assert!(!shown.to_string().contains("secret"), "{}: {shown}", read.tool);
        }
    }
}

#[tokio::test]
async fn values_have_types_and_pages_are_pages() {
    let bench = Bench::new(Profile::V7_21).await;
    let page = Page { limit: 2, offset: 1 };
    let interfaces = soon(find("list_interfaces").unwrap().run(&bench.client, page, "")).await.unwrap();
    let rows = interfaces["interfaces"].as_array().unwrap();
    assert_eq!((rows.len(), &interfaces["total_count"], &rows[0]["name"]), (2, &json!(7), &json!("ether2")));
    assert_eq!(
        (&rows[0]["mtu"], &rows[0]["running"], &rows[0]["disabled"]),
        (&json!(1500), &json!(true), &json!(false))
    );
    let by_name = soon(find("get_interface").unwrap().run(&bench.client, PAGE, "bridge")).await.unwrap();
    assert_eq!(by_name["interface"]["type"], "bridge");
    let error = soon(find("get_interface").unwrap().run(&bench.client, PAGE, "../ip/address")).await.unwrap_err();
    assert_eq!(error.code, ErrorCode::NotFound, "{error:?}");
    assert_eq!(path_segment("a/b c").unwrap(), "a%2Fb%20c");
    let list = find("get_arp_table").unwrap();
    assert_eq!((list.page(None, 3).unwrap().limit, list.page(Some(1000), 0).unwrap().limit), (100, 1000));
    for bad in [0, 1001] {
        assert_eq!(list.page(Some(bad), 0).unwrap_err().code, ErrorCode::InvalidArgument, "{bad}");
    }
    for bad in ["", ".", "..", "a\nb"] {
        assert_eq!(path_segment(bad).unwrap_err().code, ErrorCode::InvalidArgument, "{bad:?}");
    }
}

#[tokio::test]
async fn what_needs_more_than_a_menu() {
    for profile in Profile::ALL {
        let bench = Bench::new(profile).await;
        let client = &bench.client;
        let overview = soon(special::overview(client)).await.unwrap();
        assert_eq!(
            (&overview["identity"], &overview["cpu"]),
            (&json!("MikroTik"), &json!({ "usage_percent": 3.0, "count": 4 }))
        );
        assert_eq!(
            (&overview["health"], &overview["routeros_version"]),
            (&json!({ "temperature_celsius": 41.0, "voltage": 24.1 }), &json!(profile.version()))
        );
        assert_eq!(overview["memory"]["used_bytes"], 318_767_104);
        let clock = soon(special::clock(client)).await.unwrap();
        assert_eq!(clock["time"], "2026-11-26T08:00:00+02:00");
        assert_eq!(
            soon(find("get_dns_status").unwrap().run(client, PAGE, "")).await.unwrap()["dynamic_servers"],
            json!(["192.0.2.53"])
        );
        let ntp = soon(find("get_ntp_status").unwrap().run(client, PAGE, "")).await.unwrap();
        assert_eq!((&ntp["stratum"], &ntp["offset_ms"], &ntp["enabled"]), (&json!(2), &json!(0.412), &json!(true)));
        let routes = soon(special::routing(client, PAGE)).await.unwrap();
        assert_eq!(
            ["total_routes", "static_routes", "connected_routes", "dynamic_routes"]
                .map(|name| routes[name].as_u64().unwrap()),
            [3, 0, 2, 1]
        );
        let dhcp = soon(special::dhcp(client)).await.unwrap();
        assert_eq!(
            (&dhcp["servers"][0]["lease_time_seconds"], &dhcp["pools"][0]["ranges"][0]),
            (&json!(1800), &json!("192.168.88.10-192.168.88.254"))
        );
        let stats = soon(special::interface_stats(client, &[])).await.unwrap();
        assert_eq!(
            (stats["stats"].as_array().unwrap().len(), &stats["stats"][0]["rx_bits_per_second"]),
            (7, &json!(24_000))
        );
        let ping = soon(special::ping(client, "198.51.100.1", 4)).await.unwrap();
        assert_eq!((&ping["packets_received"], &ping["avg_rtt_ms"]), (&json!(4), &json!(12.345)));
        let connectivity = soon(special::connectivity(client)).await;
        assert_eq!((&connectivity["reachable"], &connectivity["failure_reason"]), (&json!(true), &Value::Null));
    }
}

#[tokio::test]
async fn a_router_that_does_not_answer_is_a_result_with_a_reason() {
    let bench = Bench::new(Profile::V7_21).await;
    let Bench { listener, client, .. } = bench;
    drop(listener);
    let answer = soon(special::connectivity(&client)).await;
    assert_eq!((&answer["reachable"], &answer["failure_reason"]), (&json!(false), &json!("connection_refused")));
    assert_eq!(answer["suggestions"].as_array().unwrap().len(), 2);
}
