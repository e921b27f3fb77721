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

/// The catalogue's examples of changes, in an order in which each succeeds: arguments, and what its answer holds.
fn changes() -> Vec<(&'static str, Value, Value)> {
    let on = |mut args: Value| {
        args["device_id"] = json!("attic");
        args["dry_run"] = json!(false);
        args
    };
    vec![
        (
            "system/update-identity",
            on(json!({ "identity": "router-lab-01-new" })),
            json!({ "changed": true, "old_identity": "MikroTik", "new_identity": "router-lab-01-new" }),
        ),
        (
            "interface/update-comment",
            on(json!({ "interface_id": "ether1", "comment": "WAN uplink (primary)" })),
            json!({ "changed": true, "interface_name": "ether1", "new_comment": "WAN uplink (primary)" }),
        ),
        (
            "ip/add-secondary-address",
            on(json!({ "address": "192.168.1.2/24", "interface": "ether1", "comment": "Secondary IP" })),
            json!({ "changed": true, "address": "192.168.1.2/24", "interface": "ether1" }),
        ),
        (
            "ip/remove-secondary-address",
            on(json!({ "address_id": "192.168.1.2/24" })),
            json!({ "changed": true, "removed_address": "192.168.1.2/24" }),
        ),
        (
            "ip/update-address-list-entry",
            on(json!({
                "action": "add", "list_name": "mcp-managed-hosts", "address": "10.0.1.200", "comment": "New server", "timeout": "7d",
            })),
            json!({ "changed": true, "action": "add", "list_name": "mcp-managed-hosts", "address": "10.0.1.200" }),
        ),
        (
            "dns/update-servers",
            on(json!({ "dns_servers": ["1.1.1.1", "1.0.0.1"] })),
            json!({ "changed": true, "new_servers": ["1.1.1.1", "1.0.0.1"] }),
        ),
        ("dns/flush-cache", json!({ "device_id": "attic" }), json!({ "changed": true, "entries_flushed": 3 })),
        (
            "ntp/update-servers",
            on(json!({ "ntp_servers": ["time.cloudflare.com"], "enabled": true })),
            json!({ "changed": true, "old_servers": ["0.pool.example", "1.pool.example"] }),
        ),
    ]
}

fn holds(name: &str, answer: &Value, expected: &Value) {
    for (field, value) in expected.as_object().unwrap() {
        assert_eq!(&answer[field], value, "{name}: {field} in {answer}");
    }
}

#[tokio::test]
async fn the_catalogue_s_examples_of_changes_are_done_with_its_fields() {
    let (pi, bench, service) = pi().await;
    let mut wire = pi.on(Door::Stdio).await;
    for (name, args, expected) in changes() {
        holds(name, wire.call(name, args).await.ok(), &expected);
    }
    // A plan changes nothing, and is kept.
    service.service.work.files.keep_test("attic", routeros_simulator::Profile::V7_21.version()).unwrap();
    let writes = bench.router.writes();
    let rollout = json!({
        "device_ids": ["attic"], "dns_servers": ["1.1.1.1"], "ntp_servers": ["time.example"], "description": "Update DNS/NTP",
    });
    let list = json!([{ "address": "10.0.1.100", "comment": "MCP server" }, { "address": "10.0.1.210" }]);
    let sync = json!({ "device_ids": ["attic"], "list_name": "mcp-managed-hosts", "addresses": list });
    for (name, args) in [("config/plan-dns-ntp-rollout", rollout), ("config/plan-address-list-sync", sync)] {
        let answer = wire.call(name, args).await;
        let plan = answer.ok();
        holds(name, plan, &json!({ "total_devices": 1, "status": "draft" }));
        assert_eq!(plan["devices"][0]["changes"].as_array().unwrap().len(), 2, "{plan}");
        let shown = wire.call("plan/get-details", json!({ "plan_id": plan["plan_id"] })).await;
        holds("plan/get-details", shown.ok(), &json!({ "plan_hash": plan["plan_hash"], "risk_level": "low" }));
    }
    assert_eq!(bench.router.writes(), writes);
}
