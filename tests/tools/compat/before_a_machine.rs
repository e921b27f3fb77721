//! Reads, on machines of the test's own: a systemd, a journal, a NetworkManager, interfaces.

use super::{becomes, named};
use crate::{
    logs::journal::{Journal, line},
    network,
    support::{
        network_manager::{HOME, NetworkManager},
        pi::Pi,
        private_bus::{FakeSystemd, FakeUnit, PrivateBus},
        trees::{Copied, machine},
    },
};
use serde_json::{Value, json};

#[tokio::test]
async fn systemd_status_has_the_five_fields_and_the_text_of_systemctl() {
    let (bus, tree) = (PrivateBus::start(), Copied::of("pi-4b"));
    let systemd = FakeSystemd::on(&bus).await;
    let pi = Pi::on_bus(machine(tree.root()), bus.bus());
    let web = FakeUnit::active("A high performance web server")
        .text("FragmentPath", "/usr/lib/systemd/system/nginx.service")
        .number("MemoryCurrent", 13_107_200);
    systemd.put("nginx.service", web.clone());
    for service in ["nginx", "nginx.service"] {
        let (text, data) = named(&pi, "systemd_status", json!({"service": service})).await.unwrap();
        assert_eq!(
            data,
            json!({"status": "active", "description": "A high performance web server", "loaded": true, "pid": 500,
                "memory": "12.5M"})
        );
        assert_eq!(
            text,
            "● nginx.service - A high performance web server\n   \
             Loaded: loaded (/usr/lib/systemd/system/nginx.service; enabled)\n   \
             Active: active (running)\n Main PID: 500\n   Memory: 12.5M"
        );
    }
    for (active, status) in [
        ("inactive", "inactive"),
        ("failed", "failed"),
        ("activating", "activating"),
        ("deactivating", "deactivating"),
        ("reloading", "active"),
        ("maintenance", "failed"),
    ] {
        systemd.put("nginx.service", FakeUnit { active, pid: 0, ..FakeUnit::inactive("Web") });
        let (_, data) = named(&pi, "systemd_status", json!({"service": "nginx"})).await.unwrap();
        assert_eq!(data, json!({"status": status, "description": "Web", "loaded": true}), "{active}");
    }
    for (bytes, memory) in [(0, "0B"), (1023, "1023B"), (1024, "1K"), (1 << 30, "1G"), (1_610_612_736, "1.5G")] {
        systemd.put("nginx.service", FakeUnit::active("Web").number("MemoryCurrent", bytes));
        let (_, data) = named(&pi, "systemd_status", json!({"service": "nginx"})).await.unwrap();
        assert_eq!(data["memory"], memory);
    }
    systemd.put("nginx.service", FakeUnit { load: "masked", ..web });
    assert_eq!(named(&pi, "systemd_status", json!({"service": "nginx"})).await.unwrap().1["loaded"], false);
    let gone = named(&pi, "systemd_status", json!({"service": "nginy"})).await.unwrap_err();
    assert_eq!(gone["message"], "Service 'nginy' not found on this system");
}

#[tokio::test]
async fn systemd_logs_are_the_newest_lines_in_the_order_of_time() {
    // Newest first, as journalctl --reverse has them.
    let journal = Journal::with(line(1, "second") + &line(0, "first"));
    let (text, data) = named(&journal.pi, "systemd_logs", json!({"service": "nginx"})).await.unwrap();
    assert_eq!(text, "2026-01-15T14:10:00.000Z a[42]: first\n2026-01-15T14:10:01.000Z a[42]: second\n");
    assert_eq!(data["entries"][0]["message"], "second", "the data are those of logs.query_journal");
    let asked = journal.read("args");
    assert!(asked.lines().any(|word| word == "--unit=nginx"), "{asked}");
    let args = |args: Value| becomes(&journal.pi, "systemd_logs", args);
    assert_eq!(args(json!({"service": "nginx"})), json!({"unit": "nginx", "limit": 50}));
    assert_eq!(args(json!({"service": "nginx", "lines": 7})), json!({"unit": "nginx", "limit": 7}));
    assert_eq!(args(json!({"service": "nginx", "lines": null}))["limit"], 50, "null counts as absent");
    for lines in [json!(0), json!(1001), json!("50"), json!(1.5)] {
        let refused =
            named(&journal.pi, "systemd_logs", json!({"service": "nginx", "lines": lines})).await.unwrap_err();
        assert_eq!(refused["details"]["path"], "/lines", "{lines}");
    }
    let empty = Journal::with("");
    let (text, data) = named(&empty.pi, "systemd_logs", json!({"service": "nginx"})).await.unwrap();
    assert_eq!(data["note"], text, "an empty answer says why");
}

/// London as a "slim" TZif file (RFC 9636): one local time type and the rule for all years.
fn london() -> Vec<u8> {
    let mut header = b"TZif2".to_vec();
    header.extend([0; 15]);
    [0, 0, 0, 0, 1, 4].into_iter().for_each(|count: u32| header.extend(count.to_be_bytes()));
    let block = [header, vec![0, 0, 0, 0, 0, 0, b'G', b'M', b'T', 0]].concat();
    [block.clone(), block, b"\nGMT0BST,M3.5.0/1,M10.5.0\n".to_vec()].concat()
}

#[tokio::test]
async fn since_is_in_the_time_of_the_machine() {
    let journal = Journal::with("");
    let since =
        |since: &str| becomes(&journal.pi, "systemd_logs", json!({"service": "a", "since": since}))["since"].clone();
    assert_eq!(since("2024-07-15 10:00:00"), "2024-07-15T10:00:00.000Z", "without a zone it is UTC");
    let zone = journal.root.path().join("usr/share/zoneinfo/Europe/London");
    std::fs::create_dir_all(zone.parent().unwrap()).unwrap();
    std::fs::create_dir_all(journal.root.path().join("etc")).unwrap();
    std::fs::write(&zone, london()).unwrap();
    std::os::unix::fs::symlink("/usr/share/zoneinfo/Europe/London", journal.root.path().join("etc/localtime")).unwrap();
    for (written, wanted) in [
        ("2024-01-15 10:00:00", "2024-01-15T10:00:00.000Z"),
        ("2024-07-15 10:00:00", "2024-07-15T09:00:00.000Z"),
        ("2024-07-15 10:00", "2024-07-15T09:00:00.000Z"),
        ("2024-07-15", "2024-07-14T23:00:00.000Z"),
        ("2024-07-15T10:00:00", "2024-07-15T09:00:00.000Z"),
        // The clocks went forward at 01:00 UTC on 31 March 2024, and back at 01:00 UTC on 27 October.
        ("2024-03-31 00:30:00", "2024-03-31T00:30:00.000Z"),
        ("2024-03-31 02:30:00", "2024-03-31T01:30:00.000Z"),
        ("2024-10-27 03:00:00", "2024-10-27T03:00:00.000Z"),
        // With a zone it is as it is.
        ("2024-07-15T10:00:00+02:00", "2024-07-15T10:00:00+02:00"),
    ] {
        assert_eq!(since(written), wanted, "{written}");
    }
    for bad in ["yesterday", "2024-13-01 00:00:00", "2024-07-15 25:00"] {
        let refused = named(&journal.pi, "systemd_logs", json!({"service": "a", "since": bad})).await.unwrap_err();
        assert_eq!(
            (&refused["error_code"], &refused["details"]["path"]),
            (&json!("invalid_argument"), &json!("/since"))
        );
    }
}

#[tokio::test]
async fn systemd_logs_stream_follows_or_gives_what_is_there() {
    let journal = Journal::with(line(1, "second") + &line(0, "first"));
    let (text, data) = named(&journal.pi, "systemd_logs_stream", json!({"service": "nginx"})).await.unwrap();
    assert_eq!(data, json!({"content": text}));
    assert!(text.find("first").unwrap() < text.find("second").unwrap(), "{text}");
    let args = |args: Value| becomes(&journal.pi, "systemd_logs_stream", args);
    assert_eq!(args(json!({"service": "nginx", "follow": false})), json!({"unit": "nginx", "limit": 50}));
    assert_eq!(
        args(json!({"service": "nginx", "follow": true})),
        json!({"unit": "nginx", "limit": 1000, "follow_seconds": 300})
    );
}

#[tokio::test]
async fn network_interfaces_have_the_shape_and_the_filters() {
    let tree = network::tree();
    let pi = network::pi_on(&tree, &PrivateBus::start());
    let names = |data: &Value| -> Vec<String> {
        let all = data["interfaces"].as_array().unwrap().iter();
        all.map(|interface| interface["name"].as_str().unwrap().to_owned()).collect()
    };
    let (text, data) = named(&pi, "network_interfaces", json!({})).await.unwrap();
    assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), data);
    assert_eq!(names(&data), ["eth0", "tun0", "wlan0"]);
    assert_eq!(
        data["interfaces"][0],
        json!({
            "name": "eth0", "type": "ethernet", "state": "up",
            "addresses": [
                {"address": "192.0.2.15", "prefix": 24, "family": "inet"},
                {"address": "fe80::dea6:32ff:fe01:203", "prefix": 64, "family": "inet6"},
                {"address": "2001:db8::7", "prefix": 64, "family": "inet6"},
            ],
            "mac": "dc:a6:32:01:02:03", "mtu": 1500,
        })
    );
    assert_eq!(data["interfaces"][1]["state"], "up", "a tunnel has no other state");
    assert_eq!(data["interfaces"][2]["state"], "down", "dormant");
    for (args, wanted) in [
        (json!({"include_loopback": true}), &["eth0", "lo", "tun0", "wlan0"][..]),
        (json!({"include_virtual": false}), &["eth0", "wlan0"]),
        (json!({"include_virtual": false, "include_loopback": true}), &["eth0", "lo", "wlan0"]),
    ] {
        let (_, data) = named(&pi, "network_interfaces", args.clone()).await.unwrap();
        assert_eq!(names(&data), wanted, "{args}");
    }
    let refused = named(&pi, "network_interfaces", json!({"include_routing_table": true})).await.unwrap_err();
    assert_eq!(refused["details"]["path"], "/include_routing_table", "what is ours is not theirs");
}

#[tokio::test]
async fn network_connections_are_networkmanagers() {
    let (tree, daemon) = (network::tree(), PrivateBus::start());
    let _nm = NetworkManager::on(&daemon).await;
    let pi = network::pi_on(&tree, &daemon);
    let count = |data: &Value| data["connections"].as_array().unwrap().len();
    let (text, data) = named(&pi, "network_connections", json!({})).await.unwrap();
    assert_eq!((count(&data), &data["connections"][0]["uuid"]), (3, &json!(HOME.0)));
    assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), data);
    assert_eq!(count(&named(&pi, "network_connections", json!({"active_only": true})).await.unwrap().1), 1);
}
