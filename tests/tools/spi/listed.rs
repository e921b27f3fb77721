//! A write that can reach nothing is neither listed nor found, in one mind wherever tools are shown.

use crate::support::served::{Door, Pi};
use contract::config::{AgentChoice, BoardChoice, Grant, SerialPortSetting, Settings, SpiDeviceSetting};
use serde_json::json;

const WRITES: [&str; 4] = ["spi.transfer", "serial.open", "serial.write", "serial.close"];

/// Which of these tools `tools/list` has, `tools.search` finds and `tools.describe` calls enabled.
async fn shown(change: impl FnOnce(&mut Settings)) -> [Vec<&'static str>; 3] {
    let pi = Pi::standard(|settings| {
        // Not the simulated board, where everything is open.
        (settings.board, settings.agent) = (BoardChoice::Linux, AgentChoice::Socket);
        settings.tools.enable.extend(["spi".to_owned(), "serial".into()]);
        settings.tools.profile = contract::config::Profile::All;
        change(settings);
    })
    .await;
    let mut wire = pi.on(Door::Stdio).await;
    let listed = wire.request("tools/list", json!({"limit": 200})).await.result().to_string();
    let mut found = String::new();
    for query in ["exchange bytes with an SPI device", "serial port open", "serial write send", "serial close"] {
        found += &wire.call("tools.search", json!({"query": query, "limit": 50})).await.ok().to_string();
    }
    let described = wire.call("tools.describe", json!({"names": WRITES})).await.ok().clone();
    let reads = ["spi.list_buses", "serial.list_ports", "serial.read"];
    for read in reads {
        assert!(listed.contains(&read.replace('.', "_")) && found.contains(read), "reads are always there: {read}");
    }
    for tool in described["tools"].as_array().unwrap() {
        assert_eq!(tool["enabled"] == false, tool.get("reason").is_some(), "{tool}");
        assert_eq!(tool["enabled"], tool["descriptor"]["_meta"]["enabled"]);
    }
    let is_enabled = |name: &&str| {
        described["tools"].as_array().unwrap().iter().any(|tool| tool["name"] == **name && tool["enabled"] == true)
    };
    let quoted = |name: &str| format!("\"{name}\"");
    [
        WRITES.into_iter().filter(|name| listed.contains(&quoted(&name.replace('.', "_")))).collect(),
        WRITES.into_iter().filter(|name| found.contains(&quoted(name))).collect(),
        WRITES.into_iter().filter(is_enabled).collect(),
    ]
}

#[tokio::test]
async fn an_empty_list_hides_the_writes_everywhere() {
    assert_eq!(shown(|_| {}).await, [const { Vec::<&str>::new() }; 3]);
}

#[tokio::test]
async fn an_entry_shows_what_it_opens() {
    let spi = SpiDeviceSetting { bus: 0, chip_select: 0, max_speed_hz: 1_000_000 };
    let all = shown(|settings| settings.spi.devices = vec![spi]).await;
    assert_eq!(all, [const { ["spi.transfer"] }; 3].map(Vec::from));
    let port = |writable| SerialPortSetting { name: "ttyUSB0".into(), writable };
    let all = shown(|settings| settings.serial.ports = vec![port(false)]).await;
    assert_eq!(all, [const { ["serial.open", "serial.close"] }; 3].map(Vec::from));
    let all = shown(|settings| settings.serial.ports = vec![port(true)]).await;
    assert_eq!(all, [const { ["serial.open", "serial.write", "serial.close"] }; 3].map(Vec::from));
}

#[tokio::test]
async fn a_grant_that_names_a_device_stands_in_for_an_entry() {
    let grant = |devices: &[&str]| Grant {
        tool: "spi.transfer".into(),
        devices: devices.iter().map(|device| (*device).to_owned()).collect(),
        ..Grant::default()
    };
    assert_eq!(shown(|settings| settings.tools.allow = vec![grant(&[])]).await, [const { Vec::<&str>::new() }; 3]);
    let all = shown(|settings| settings.tools.allow = vec![grant(&["spidev0.0"])]).await;
    assert_eq!(all, [const { ["spi.transfer"] }; 3].map(Vec::from));
}

#[tokio::test]
async fn a_call_is_refused_with_the_setting_to_write() {
    let pi = Pi::standard(|settings| {
        (settings.board, settings.agent) = (BoardChoice::Linux, AgentChoice::Socket);
        settings.tools.enable.extend(["spi".to_owned(), "serial".into()]);
    })
    .await;
    let mut wire = pi.on(Door::Stdio).await;
    for (tool, args, setting) in [
        ("spi.transfer", json!({"bus": 0, "chip_select": 0, "data": [0]}), "[[spi.devices]]"),
        ("serial.open", json!({"port": "ttyUSB0"}), "[[serial.ports]]"),
        ("serial.write", json!({"port": "ttyUSB0", "text": "a"}), "[[serial.ports]]"),
    ] {
        let error = wire.call(tool, args).await.failed("permission_denied").clone();
        assert!(error["hint"].as_str().unwrap().contains(setting), "{error}");
        let capabilities = wire.call("system.get_capabilities", json!({})).await.ok().clone();
        assert_eq!(capabilities["tools"][tool]["enabled"], false, "{tool}");
    }
}
