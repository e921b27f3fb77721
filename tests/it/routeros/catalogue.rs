//! The requests that the catalogue of RouterOS tools shows as examples, by its names, and the fields it shows of their answers.

use super::server::pi;
use crate::support::served::Door;
use serde_json::{Value, json};

/// Name, arguments beside `device_id`, the list or object of the answer that has the fields (empty: the answer), and those.
type Example = (&'static str, Value, &'static str, &'static str);

fn examples() -> Vec<Example> {
    vec![
        (
            "device/list-devices",
            json!({ "environment": "lab", "tags": { "site": "main" } }),
            "devices",
            "id name management_address environment status tags allow_advanced_writes allow_professional_workflows",
        ),
        (
            "device/check-connectivity",
            json!({}),
            "",
            "device_id reachable response_time_ms routeros_version failure_reason transport fallback_used \
             attempted_transports suggestions",
        ),
        (
            "system/get-overview",
            json!({}),
            "",
            "device_id identity routeros_version uptime_seconds hardware_model serial_number firmware_version cpu memory health",
        ),
        ("system/get-packages", json!({}), "packages", "name version build_time disabled"),
        ("system/get-clock", json!({}), "", "device_id time timezone time_zone_autodetect time_zone_name"),
        ("interface/list-interfaces", json!({}), "interfaces", "id name type running disabled mtu mac_address"),
        ("interface/get-interface", json!({ "interface_id": "ether1" }), "interface", "id name type running mtu"),
        (
            "interface/get-stats",
            json!({ "interface_names": ["ether1", "ether2"] }),
            "stats",
            "name rx_bits_per_second tx_bits_per_second rx_packets_per_second tx_packets_per_second",
        ),
        ("ip/list-addresses", json!({}), "addresses", "id address network interface disabled comment"),
        (
            "ip/get-address",
            json!({ "address_id": "192.168.88.1/24" }),
            "address",
            "id address network interface disabled comment dynamic invalid",
        ),
        ("ip/get-arp-table", json!({}), "arp_entries", "address mac_address interface status"),
        ("dns/get-status", json!({}), "", "device_id dns_servers allow_remote_requests cache_size_kb cache_used_kb"),
        ("dns/get-cache", json!({ "limit": 100 }), "cache_entries", "name type data ttl"),
        ("ntp/get-status", json!({}), "", "device_id enabled ntp_servers mode status stratum offset_ms"),
        ("routing/get-summary", json!({}), "routes", "id dst_address gateway distance"),
        (
            "routing/get-route",
            json!({ "route_id": "0.0.0.0/0" }),
            "route",
            "id dst_address gateway distance scope target_scope active dynamic",
        ),
        ("firewall/list-filter-rules", json!({}), "filter_rules", "id chain action comment disabled"),
        ("firewall/list-nat-rules", json!({}), "nat_rules", "id chain action comment disabled"),
        (
            "firewall/list-address-lists",
            json!({ "list_name": "mcp-blocked" }),
            "address_lists",
            "id list_name address comment",
        ),
        (
            "logs/get-recent",
            json!({ "limit": 100, "topics": ["system", "info"] }),
            "log_entries",
            "id time topics message",
        ),
        ("logs/get-config", json!({}), "logging_actions", "topics action prefix"),
        (
            "tool/ping",
            json!({ "address": "198.51.100.8", "count": 4, "interval_ms": 50 }),
            "",
            "host packets_sent packets_received packet_loss_percent min_rtt_ms avg_rtt_ms max_rtt_ms",
        ),
        ("tool/traceroute", json!({ "address": "198.51.100.8", "count": 1 }), "hops", "hop address rtt_ms"),
        (
            "tool/bandwidth-test",
            json!({ "address": "198.51.100.8", "direction": "both", "duration_seconds": 10 }),
            "",
            "target tx_bits_per_second rx_bits_per_second duration_seconds",
        ),
        (
            "device/get-health-data",
            json!({ "include_history": true, "history_hours": 24 }),
            "current_health",
            "status cpu_usage_percent memory_usage_percent temperature_celsius uptime_seconds",
        ),
        (
            "device/get-health-data",
            json!({ "include_history": true, "history_hours": 24 }),
            "history",
            "timestamp status cpu_usage_percent memory_usage_percent",
        ),
        (
            "device/get-config-snapshot",
            json!({ "format": "compact" }),
            "",
            "device_id format config_text size_bytes snapshot_time",
        ),
        (
            "fleet/get-summary",
            json!({ "environment": "lab" }),
            "",
            "environment total_devices health_breakdown routeros_versions devices_summary",
        ),
    ]
}

#[tokio::test]
async fn the_catalogue_s_examples_are_answered_with_its_fields() {
    let (pi, _bench, _service) = pi().await;
    let mut wire = pi.on(Door::Stdio).await;
    for (name, mut args, part, fields) in examples() {
        if !matches!(name, "device/list-devices" | "fleet/get-summary") {
            args["device_id"] = json!("attic");
        }
        let answer = wire.call(name, args.clone()).await;
        let shown = match &answer.ok()[part] {
            Value::Array(items) => items.first().unwrap_or_else(|| panic!("{name}: {}", answer.ok())),
            Value::Object(_) => &answer.ok()[part],
            _ => answer.ok(),
        };
        let missing: Vec<&str> = fields.split_whitespace().filter(|field| shown.get(field).is_none()).collect();
        assert!(missing.is_empty(), "{name}: {missing:?} in {shown}");
        // The same as a bare method.
        assert!(wire.request(name, args).await.result().is_object(), "{name}");
    }
}
