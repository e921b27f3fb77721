//! `/metrics`: who may read it, and that its numbers are those of what happened.

use crate::support::served::{Door, Pi, soon, token};
use contract::meta::Role;
use serde_json::json;
use std::collections::{HashMap, HashSet};

/// Samples by name with labels. Fails on a page that is not the text format, or against the rules of `promtool check
/// metrics`: each family once, with a help text before its type and a name of its kind.
fn samples(page: &str) -> HashMap<String, f64> {
    let (mut family, mut kind, mut help) = (String::new(), String::new(), String::new());
    let mut families = HashSet::new();
    let mut samples = HashMap::new();
    for line in page.lines() {
        if let Some(rest) = line.strip_prefix("# TYPE ") {
            (family, kind) = rest.split_once(' ').map(|(name, kind)| (name.to_owned(), kind.to_owned())).unwrap();
            assert_eq!(family, help, "a type without its help");
            assert!(families.insert(family.clone()), "{family} twice");
            assert_eq!(kind == "counter", family.ends_with("_total"), "{family} is a {kind}");
            assert!(["counter", "gauge", "histogram"].contains(&kind.as_str()), "{line}");
            assert!(is_name(&family), "{line}");
            continue;
        }
        if let Some(rest) = line.strip_prefix("# HELP ") {
            let (name, text) = rest.split_once(' ').unwrap();
            assert!(!text.trim().is_empty(), "{line}");
            help = name.to_owned();
            continue;
        }
        let (name, value) = line.rsplit_once(' ').unwrap();
        let bare = name.split('{').next().unwrap();
        let suffix = bare.strip_prefix(&family).unwrap_or_else(|| panic!("{line} stands under {family}"));
        assert!(
            suffix.is_empty() || (kind == "histogram" && ["_bucket", "_sum", "_count"].contains(&suffix)),
            "{line}"
        );
        let known = samples.insert(name.to_owned(), value.parse().unwrap());
        assert_eq!(known, None, "{name} twice");
    }
    samples
}

/// A letter or `_`, then also digits.
fn is_name(name: &str) -> bool {
    name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        && !name.starts_with(|c: char| c.is_ascii_digit())
}

async fn scrape(pi: &Pi, headers: &[(&str, String)]) -> (u16, String) {
    let mut get = reqwest::Client::new().get(format!("http://{}/metrics", pi.address()));
    for (name, value) in headers {
        get = get.header(*name, value);
    }
    let response = soon(get.send()).await.unwrap();
    let status = response.status().as_u16();
    if status == 200 {
        assert_eq!(response.headers()["content-type"], "text/plain; version=0.0.4; charset=utf-8");
    }
    (status, soon(response.text()).await.unwrap())
}

#[tokio::test]
async fn it_counts_what_happened() {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let pi = Pi::start().await;
    let before = samples(&scrape(&pi, &[]).await.1);
    assert!(!before.keys().any(|name| name.contains("test.echo")), "nobody called it");
    let mut wire = pi.on(Door::Http).await;
    wire.initialize("2025-11-25", "a client").await.result();
    for text in [json!("one"), json!("two"), json!(3)] {
        wire.call("test.echo", json!({ "text": text })).await.result();
    }
    wire.call("test.panic", json!({})).await.failed("internal");
    wire.call("test.admin", json!({})).await.failed("permission_denied");
    let held = wire.ask("tools/call", json!({"name": "test.hold", "arguments": {}}));
    pi.bench.until_inside(1).await;

    let page = scrape(&pi, &[]).await.1;
    let now = samples(&page);
    for (name, value) in [
        (r#"raspi_mcp_calls_total{tool="test.echo",outcome="ok"}"#, 2.0),
        (r#"raspi_mcp_calls_total{tool="test.echo",outcome="invalid_argument"}"#, 1.0),
        (r#"raspi_mcp_calls_total{tool="test.panic",outcome="internal"}"#, 1.0),
        (r#"raspi_mcp_calls_total{tool="test.admin",outcome="permission_denied"}"#, 1.0),
        (r#"raspi_mcp_call_duration_seconds_count{tool="test.echo"}"#, 3.0),
        (r#"raspi_mcp_call_duration_seconds_bucket{tool="test.echo",le="+Inf"}"#, 3.0),
        (r#"raspi_mcp_call_duration_seconds_bucket{tool="test.echo",le="30"}"#, 3.0),
        ("raspi_mcp_calls_running", 1.0),
        ("raspi_mcp_calls_waiting", 0.0),
        ("raspi_mcp_http_sessions", 1.0),
        ("raspi_mcp_audit_ok", 1.0),
        ("raspi_mcp_audit_lost", 0.0),
        ("raspi_mcp_board_simulated", 1.0),
    ] {
        assert_eq!(now.get(name), Some(&value), "{name}:\n{page}");
    }
    assert!(!now.keys().any(|name| name.starts_with("raspi_mcp_calls_total{tool=\"test.hold\"")), "it has not ended");
    assert!(now["process_resident_memory_bytes"] > 1e6 && now["process_start_time_seconds"] > 1.6e9);
    assert!(now["process_cpu_seconds_total"] > before["process_cpu_seconds_total"]);
    assert!((0.0..120.0).contains(&now["raspi_mcp_cpu_temperature_celsius"]));
    assert!(now.contains_key(r#"raspi_mcp_throttled{reason="under_voltage"}"#));
    assert!(now.keys().any(|name| name.starts_with("raspi_mcp_build_info{version=")));
    let le = |bound: &str| now[&format!(r#"raspi_mcp_call_duration_seconds_bucket{{tool="test.echo",le="{bound}"}}"#)];
    assert!(le("0.0005") <= le("0.001") && le("0.001") <= le("0.005"), "{page}");

    pi.bench.release.add_permits(1);
    wire.answer_to(held).await.ok();
    wire.request("resources/subscribe", json!({"uri": "raspi://audit"})).await.result();
    let after = samples(&scrape(&pi, &[]).await.1);
    assert_eq!((after["raspi_mcp_calls_running"], after["raspi_mcp_subscriptions"]), (0.0, 1.0));
    // A scrape is no call.
    assert!(pi.audit().await.iter().all(|record| !record["tool"].to_string().contains("metrics")));
}

#[tokio::test]
async fn it_is_for_whoever_may_call_tools_and_can_be_switched_off() {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let (good, setting) = token("prometheus", Role::ReadOnly);
    let pi = Pi::with(|settings| settings.access.tokens = vec![setting]).await;
    assert_eq!(scrape(&pi, &[("authorization", format!("Bearer {good}"))]).await.0, 200);
    assert_eq!(scrape(&pi, &[("authorization", "Bearer rmcp_wrong".into())]).await.0, 401);
    assert_eq!(scrape(&pi, &[("host", "evil.example".into())]).await.0, 403);
    assert_eq!(scrape(&pi, &[("origin", "https://evil.example".into())]).await.0, 403);
    let mut lost = pi.on(Door::Http).await;
    lost.post().join_session(Some("no-such-session".into()));
    lost.request_unread("ping", json!({})).await.under(404);
    let now = samples(&scrape(&pi, &[]).await.1);
    for (reason, count) in [("origin", 2.0), ("unauthenticated", 1.0), ("unknown_session", 1.0), ("body", 0.0)] {
        assert_eq!(now[&format!(r#"raspi_mcp_http_refused_total{{reason="{reason}"}}"#)], count, "{reason}");
    }
    let client = reqwest::Client::new();
    let url = format!("http://{}/metrics", pi.address());
    assert_eq!(soon(client.post(&url).send()).await.unwrap().status(), 405);
    assert_eq!(soon(client.head(&url).send()).await.unwrap().status(), 200);

    let off = Pi::with(|settings| settings.http.metrics = false).await;
    assert_eq!(scrape(&off, &[]).await.0, 404);
}

#[tokio::test]
async fn every_file_system_has_its_size_and_what_is_left() {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let pi = Pi::start().await;
    let page = samples(&scrape(&pi, &[]).await.1);
    let found = base::os::file_systems::read(&base::os::Root::system()).unwrap();
    let asked = found.file_systems.iter().filter(|(_, space)| matches!(space, Some(Ok(_)))).count();
    for family in ["size", "used", "avail"] {
        let family = format!("raspi_mcp_filesystem_{family}_bytes{{");
        assert_eq!(page.keys().filter(|name| name.starts_with(&family)).count(), asked, "{family}");
    }
    for family in ["size_bytes", "free_bytes", "avail_bytes", "readonly"] {
        let family = format!("node_filesystem_{family}{{device=");
        assert_eq!(page.keys().filter(|name| name.starts_with(&family)).count(), asked, "{family}");
    }
}

#[tokio::test]
async fn the_machine_has_the_names_of_node_exporter() {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let pi = Pi::start().await;
    let page = scrape(&pi, &[]).await.1;
    println!("{} bytes, {} samples of node_exporter's names", page.len(), page.matches("\nnode_").count());
    let now = samples(&page);
    let memory = base::os::meminfo::read(&base::os::Root::system()).unwrap();
    assert_eq!(now["node_memory_MemTotal_bytes"], memory.total as f64);
    assert!(now.contains_key("node_memory_MemAvailable_bytes") && now.contains_key("node_memory_Active_anon_bytes"));
    assert!(
        now["node_load1"] >= 0.0 && now["node_boot_time_seconds"] > 1.6e9 && now["node_context_switches_total"] > 0.0
    );
    assert!(now[r#"node_cpu_seconds_total{cpu="0",mode="idle"}"#] > 0.0, "{page}");
    assert!(now.contains_key(r#"node_network_receive_bytes_total{device="lo"}"#));
    assert!(now.keys().any(|name| name.starts_with("node_uname_info{sysname=\"Linux\",release=\"")));
}
