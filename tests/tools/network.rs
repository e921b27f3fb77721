//! `network.*` and what `system.*` says about the network: on captured trees, beside a NetworkManager of the test's own.

use crate::support::{
    network_manager::{HOME, NetworkManager, OFFICE, RADIO},
    pi::Pi,
    private_bus::PrivateBus,
    trees::{Copied, machine},
};
use serde_json::{Value, json};

/// A Pi with a cable, a radio and a tunnel.
pub fn tree() -> Copied {
    let tree = Copied::of("pi-4b");
    tree.without("sys/class/net");
    let put = |name: &str, files: &[(&str, &str)]| {
        for (file, text) in files {
            tree.write(&format!("sys/class/net/{name}/{file}"), text);
        }
    };
    put(
        "lo",
        &[
            ("ifindex", "1"),
            ("address", "00:00:00:00:00:00"),
            ("operstate", "unknown"),
            ("type", "772"),
            ("mtu", "65536"),
        ],
    );
    put(
        "eth0",
        &[
            ("ifindex", "2"),
            ("address", "dc:a6:32:01:02:03"),
            ("operstate", "up"),
            ("type", "1"),
            ("mtu", "1500"),
            ("speed", "1000"),
            ("device/vendor", "x"),
        ],
    );
    put(
        "wlan0",
        &[
            ("ifindex", "3"),
            ("address", "dc:a6:32:01:02:04"),
            ("operstate", "dormant"),
            ("type", "1"),
            ("mtu", "1500"),
            ("uevent", "DEVTYPE=wlan\nINTERFACE=wlan0\n"),
        ],
    );
    put("tun0", &[("ifindex", "4"), ("address", ""), ("operstate", "unknown"), ("type", "65534"), ("mtu", "1420")]);
    tree.write(
        "rtnetlink/getaddr4",
        [answer(1, 8, [127, 0, 0, 1], None), answer(2, 24, [192, 0, 2, 15], Some(255)), end()].concat(),
    );
    tree.write(
        "proc/net/if_inet6",
        "00000000000000000000000000000001 01 80 10 80       lo\n\
         fe80000000000000dea632fffe010203 02 40 20 80     eth0\n\
         20010db8000000000000000000000007 02 40 00 80     eth0\n",
    );
    let hex = |address: [u8; 4]| format!("{:08X}", u32::from_ne_bytes(address));
    tree.write(
        "proc/net/route",
        format!(
            "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n\
             wlan0\t00000000\t{via}\t0003\t0\t0\t600\t00000000\t0\t0\t0\n\
             eth0\t00000000\t{via}\t0003\t0\t0\t100\t00000000\t0\t0\t0\n\
             eth0\t{net}\t00000000\t0001\t0\t0\t100\t{mask}\t0\t0\t0\n",
            via = hex([192, 0, 2, 1]),
            net = hex([192, 0, 2, 0]),
            mask = hex([255, 255, 255, 0]),
        ),
    );
    let zero = "0".repeat(32);
    let via = "fe800000000000000000000000000001";
    tree.write(
        "proc/net/ipv6_route",
        format!(
            "{zero} 00 {zero} 00 {via} 00000064 00000001 00000000 00450003     eth0\n\
             20010db8000000000000000000000000 40 {zero} 00 {zero} 00000064 00000001 00000000 00000001     eth0\n\
             {zero} 00 {zero} 00 {zero} ffffffff 00000001 00000000 00200200       lo\n"
        ),
    );
    tree.write("etc/resolv.conf", "nameserver 192.0.2.1\nnameserver 2001:db8::53\n");
    tree.write("proc/net/wireless", "Inter-| sta-|\n face | tus |\n wlan0: 0000   54.  -56.  -256  0 0 0 0 0 0\n");
    let here = hex([127, 0, 0, 1]);
    let tail = "00000000:00000000 00:00000000 00000000  1000        0";
    tree.write(
        "proc/net/tcp",
        format!(
            "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n   \
             0: {here}:1F90 00000000:0000 0A {tail} 4711 1\n   1: {here}:1F90 {here}:C000 01 {tail} 4712 1\n   \
             2: {here}:C000 {here}:1F90 06 {tail} 0 1\n"
        ),
    );
    tree.write("proc/net/udp", format!("  sl\n   0: 00000000:14E9 00000000:0000 07 {tail} 4713 2\n"));
    tree.link("proc/321/fd/3", "socket:[4711]").link("proc/321/fd/4", "/dev/null");
    tree
}

/// One address as the kernel's answer to RTM_GETADDR has it.
fn answer(index: u32, prefix: u8, address: [u8; 4], broadcast: Option<u8>) -> Vec<u8> {
    let mut body = vec![2, prefix, 0, 0];
    body.extend(index.to_ne_bytes());
    let mut attribute = |kind: u16, value: [u8; 4]| {
        body.extend(8u16.to_ne_bytes());
        body.extend(kind.to_ne_bytes());
        body.extend(value);
    };
    attribute(2, address);
    if let Some(last) = broadcast {
        attribute(4, [address[0], address[1], address[2], last]);
    }
    message(20, &body)
}

fn end() -> Vec<u8> {
    message(3, &[0; 4])
}

fn message(kind: u16, body: &[u8]) -> Vec<u8> {
    let mut bytes = (16 + body.len() as u32).to_ne_bytes().to_vec();
    bytes.extend(kind.to_ne_bytes());
    bytes.resize(16, 0);
    bytes.extend(body);
    bytes
}

fn pi(tree: &Copied) -> Pi {
    Pi::on(machine(tree.root()))
}

pub fn pi_on(tree: &Copied, daemon: &PrivateBus) -> Pi {
    Pi::on_bus(machine(tree.root()), daemon.bus())
}

fn by_name<'a>(interfaces: &'a Value, name: &str) -> &'a Value {
    interfaces.as_array().unwrap().iter().find(|each| each["name"] == name).unwrap_or_else(|| panic!("{interfaces:#}"))
}

#[tokio::test]
async fn interfaces_with_their_addresses() {
    let tree = tree();
    let answer = pi(&tree).call("system.get_network_info", json!({})).await.ok();
    let eth0 = by_name(&answer["interfaces"], "eth0");
    assert_eq!(eth0["mac_address"], "dc:a6:32:01:02:03");
    assert_eq!(
        (&eth0["state"], &eth0["mtu"], &eth0["type"], &eth0["speed_mbps"]),
        (&json!("up"), &json!(1500), &json!("ethernet"), &json!(1000))
    );
    assert_eq!(
        eth0["ipv4_addresses"],
        json!([{"address": "192.0.2.15", "netmask": "255.255.255.0", "broadcast": "192.0.2.255", "prefix_length": 24}])
    );
    assert_eq!(
        eth0["ipv6_addresses"],
        json!([
            {"address": "fe80::dea6:32ff:fe01:203", "prefix_length": 64, "scope": "link"},
            {"address": "2001:db8::7", "prefix_length": 64, "scope": "global"},
        ])
    );
    assert!(eth0["statistics"]["bytes_recv"].is_u64(), "{eth0:#}");
    let lo = by_name(&answer["interfaces"], "lo");
    assert_eq!((&lo["state"], lo.get("statistics")), (&json!("unknown"), None));
    assert_eq!(by_name(&answer["interfaces"], "tun0")["mac_address"], "00:00:00:00:00:00");
    assert_eq!(by_name(&answer["interfaces"], "wlan0")["wifi"], json!({"signal_dbm": -56.0}));
    assert_eq!(answer["default_gateway"], json!({"ipv4": "192.0.2.1", "ipv6": "fe80::1", "interface": "eth0"}));
    assert_eq!(answer["dns_servers"], json!(["192.0.2.1", "2001:db8::53"]));
    assert_eq!(answer.get("unreadable"), None);
}

#[tokio::test]
async fn a_source_that_cannot_be_read_is_named_and_the_rest_is_answered() {
    let tree = tree();
    tree.write("rtnetlink/getaddr4", b"\x01").write("proc/net/route", "Iface\nnonsense\n").without("etc/resolv.conf");
    let answer = pi(&tree).call("system.get_network_info", json!({})).await.ok();
    assert_eq!(by_name(&answer["interfaces"], "eth0")["ipv4_addresses"], json!([]));
    let faults = answer["unreadable"].as_object().unwrap();
    assert_eq!(faults.keys().collect::<Vec<_>>(), ["default_gateway", "ipv4_addresses"]);
    assert_eq!((answer.get("default_gateway"), &answer["dns_servers"]), (None, &json!([])));
    tree.without("sys/class/net");
    let refused = pi(&tree).call("system.get_network_info", json!({})).await.refused();
    assert_eq!(refused["error_code"], "capability_missing");
}

#[tokio::test]
async fn routes_and_sockets_come_when_they_are_asked_for() {
    let tree = tree();
    let pi = pi(&tree);
    let plain = pi.call("system.get_detailed_network_info", json!({})).await.ok();
    assert_eq!((plain.get("routing_table"), plain.get("connections"), plain.get("pagination")), (None, None, None));
    let all = pi
        .call("system.get_detailed_network_info", json!({"include_routing_table": true, "include_connections": true}))
        .await
        .ok();
    assert_eq!(all["routing_table"].as_array().unwrap().len(), 5);
    assert_eq!(
        all["routing_table"][1],
        json!({"destination": "0.0.0.0", "gateway": "192.0.2.1", "netmask": "0.0.0.0", "flags": "UG", "metric": 100, "interface": "eth0"})
    );
    assert_eq!(
        all["routing_table"][4],
        json!({"destination": "2001:db8::/64", "flags": "U", "metric": 100, "interface": "eth0"})
    );
    assert_eq!(
        all["connections"][0],
        json!({"protocol": "tcp", "local_address": "127.0.0.1", "local_port": 8080, "remote_address": "0.0.0.0",
            "remote_port": 0, "state": "LISTEN", "pid": 321})
    );
    assert_eq!(all["connections"][3]["state"], "NONE");
    assert_eq!(all["connections"][1].get("pid"), None, "not ours to see");
    let some =
        json!({"include_connections": true, "connection_state_filter": ["TIME_WAIT", "ESTABLISHED"], "limit": 1});
    let page = pi.call("system.get_detailed_network_info", some).await.ok();
    assert_eq!(
        (&page["connections"][0]["state"], &page["pagination"]["total_count"]),
        (&json!("ESTABLISHED"), &json!(2))
    );
    assert_eq!(page["pagination"]["next_offset"], 1);
    for bad in [
        json!({"connection_state_filter": ["CLOSED"]}),
        json!({"connection_state_filter": "LISTEN"}),
        json!({"limit": 0}),
        json!({"limit": 1001}),
        json!({"offset": -1}),
        json!({"include_connections": "yes"}),
    ] {
        let refused = pi.call("system.get_detailed_network_info", bad.clone()).await.refused();
        assert_eq!(refused["error_code"], "invalid_argument", "{bad}");
    }
}

#[tokio::test]
async fn without_networkmanager_status_says_what_the_kernel_knows() {
    let tree = tree();
    let pi = pi(&tree);
    let status = pi.call("network.get_status", json!({})).await.ok();
    assert_eq!((&status["connectivity"], &status["primary_interface"]), (&json!("unknown"), &json!("eth0")));
    assert_eq!(status["network_manager"]["running"], false);
    let eth0 = by_name(&status["interfaces"], "eth0");
    assert_eq!(eth0["addresses"], json!(["192.0.2.15/24", "2001:db8::7/64"]));
    let refused = pi.call("network.list_connections", json!({})).await.refused();
    assert_eq!(refused["error_code"], "capability_missing");
    tree.write("proc/net/route", "Iface\n").write("proc/net/ipv6_route", "");
    assert_eq!(pi.call("network.get_status", json!({})).await.ok()["connectivity"], "limited");
    tree.write("sys/class/net/eth0/operstate", "down");
    assert_eq!(pi.call("network.get_status", json!({})).await.ok()["connectivity"], "none");
}

#[tokio::test]
async fn a_bus_without_networkmanager_is_no_networkmanager() {
    let (tree, daemon) = (tree(), PrivateBus::start());
    let pi = pi_on(&tree, &daemon);
    let refused = pi.call("network.list_connections", json!({})).await.refused();
    assert_eq!(refused["error_code"], "capability_missing");
    let nm = NetworkManager::on(&daemon).await;
    assert!(pi.call("network.list_connections", json!({})).await.ok().get("note").is_none());
    let beyond = pi.call("network.list_connections", json!({"offset": 99})).await.ok();
    assert!(beyond["note"].as_str().unwrap().starts_with("offset 99 is past the last of"), "{beyond}");
    nm.stop().await;
    let refused = pi.call("network.list_connections", json!({})).await.refused();
    assert_eq!(refused["error_code"], "capability_missing", "it may go away");
}

#[tokio::test]
async fn networkmanager_is_asked_where_it_runs() {
    let (tree, daemon) = (tree(), PrivateBus::start());
    let nm = NetworkManager::on(&daemon).await;
    let pi = pi_on(&tree, &daemon);
    let status = pi.call("network.get_status", json!({})).await.ok();
    assert_eq!((&status["connectivity"], &status["primary_interface"]), (&json!("full"), &json!("eth0")));
    assert_eq!(
        status["network_manager"],
        json!({"running": true, "version": "1.42.4", "state": "connected_global", "primary_connection": "home",
            "primary_connection_uuid": HOME.0, "networking_enabled": true, "wireless_enabled": false})
    );
    let info = pi.call("system.get_network_info", json!({})).await.ok();
    assert_eq!(
        by_name(&info["interfaces"], "wlan0")["wifi"],
        json!({"ssid": "café", "bssid": "02:00:00:00:00:07", "frequency_mhz": 2437, "signal_dbm": -56.0, "signal_percent": 61})
    );
    let listed = pi.call("network.list_connections", json!({})).await.ok();
    let names: Vec<&Value> = listed["connections"].as_array().unwrap().iter().map(|each| &each["name"]).collect();
    assert_eq!(names, [HOME.1, OFFICE.1, RADIO.1]);
    assert_eq!(
        listed["connections"][0],
        json!({"uuid": HOME.0, "name": "home", "type": "802-3-ethernet", "active": true, "state": "activated",
            "devices": ["eth0"], "default": true, "autoconnect": true, "ipv4_method": "auto", "ipv6_method": "disabled"})
    );
    assert_eq!(
        listed["connections"][2],
        json!({"uuid": RADIO.0, "name": "radio", "type": "802-11-wireless", "active": false, "devices": [],
            "default": false, "autoconnect": false, "interface": "wlan0", "ssid": "café", "ipv4_method": "auto",
            "ipv6_method": "disabled", "last_active": "2023-11-14T22:13:20.000Z"})
    );
    assert!(!listed.to_string().contains("hunter2"), "no secret comes out, whoever sends one");
    let page = pi.call("network.list_connections", json!({"limit": 1, "offset": 1})).await.ok();
    assert_eq!((&page["connections"][0]["name"], &page["pagination"]["next_offset"]), (&json!("office"), &json!(2)));
    let active = pi.call("network.list_connections", json!({"active_only": true})).await.ok();
    assert_eq!(active["pagination"]["total_count"], 1);
    assert_eq!(nm.calls(), Vec::<String>::new(), "reading changes nothing");
}

#[tokio::test]
async fn what_is_no_target_is_never_asked() {
    let tree = tree();
    let pi = pi(&tree);
    for bad in [
        json!({}),
        json!({"address": ""}),
        json!({"address": "-c 5"}),
        json!({"address": "--flood"}),
        json!({"address": "a\0b"}),
        json!({"address": "$(reboot)"}),
        json!({"address": "a".repeat(254)}),
        json!({"address": 7}),
        json!({"address": "127.0.0.1", "count": 0}),
        json!({"address": "127.0.0.1", "count": 11}),
        json!({"address": "127.0.0.1", "interval_ms": 199}),
        json!({"address": "127.0.0.1", "timeout_ms": 5001}),
        json!({"address": "127.0.0.1", "family": "ipx"}),
        json!({"address": "224.0.0.1"}),
        json!({"address": "255.255.255.255"}),
        json!({"address": "::"}),
    ] {
        let refused = pi.call("network.ping", bad.clone()).await.refused();
        assert_eq!(refused["error_code"], "invalid_argument", "{bad}: {refused}");
    }
}

/// ci/nspawn shows it where it is allowed for certain.
#[tokio::test]
async fn the_loopback_is_pinged_where_that_is_allowed() {
    let tree = tree();
    let answer = pi(&tree).call("network.ping", json!({"address": "127.0.0.1", "count": 2, "interval_ms": 200})).await;
    match answer.result() {
        Ok(done) => {
            assert_eq!((&done["packets_received"], &done["packet_loss_percent"]), (&json!(2), &json!(0.0)));
            assert!(done["min_rtt_ms"].as_f64().unwrap() <= done["max_rtt_ms"].as_f64().unwrap());
        }
        Err(error) => {
            assert_eq!(error["error_code"], "capability_missing");
            assert_eq!(error["details"]["resource"], "net.ipv4.ping_group_range");
        }
    }
}
