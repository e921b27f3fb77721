//! The picture of the header: of a server's own words, and as the repository shows it.

use crate::support::gpio::{board_with, pin, stdio};
use hw::line::Level;
use raspi_mcp::{
    cli::pins::picture,
    pins::{ContactStyle, svg, terminal},
};
use serde_json::json;
use std::path::Path;

/// The tour's board: outputs, inputs, one of another program, and the agent's button.
async fn drawn() -> raspi_mcp::pins::HeaderDrawing {
    let (pi, lines) = board_with(|settings| {
        settings.gpio.safe_high = [26].into();
        (settings.approval.button_pin, settings.approval.led_pin) = (23, 24);
    })
    .await;
    let mut wire = stdio(&pi).await;
    wire.call("gpio.write_pin", json!({"pin": 17, "value": "high"})).await.ok();
    wire.call("gpio.write_pin", json!({"pin": 27, "value": "low"})).await.ok();
    wire.call("gpio.configure_pin", json!({"pin": 22, "mode": "input", "pull": "up"})).await.ok();
    lines.drive(pin(5), Some(Level::Low));
    let _fan = lines.hold(pin(18), "fan").unwrap();
    let list = wire.call("gpio.list_pins", json!({"all": true})).await;
    let about = wire.call("system.get_basic_info", json!({})).await;
    picture(list.ok(), about.ok()["model"].as_str().unwrap(), list.meta()["simulated"] == true).unwrap()
}

#[tokio::test]
async fn what_the_tools_do_is_in_the_picture() {
    let picture = drawn().await;
    let cell = |contact: usize| &picture.contacts[contact - 1];
    assert!(picture.simulated);
    assert_eq!(cell(11).look, ContactStyle::Output(Some(Level::High)));
    assert_eq!(cell(13).look, ContactStyle::Output(Some(Level::Low)));
    assert_eq!(cell(15).look, ContactStyle::Input(Some(Level::High)));
    assert_eq!((cell(16).look, cell(16).entry.is_none()), (ContactStyle::Unknown, true), "the agent's button");
    assert_eq!((cell(1).look, cell(6).look), (ContactStyle::Power, ContactStyle::Ground));
    let text = terminal(&picture, false);
    // Columns are as wide as their longest word, which is no matter here.
    let lines: Vec<String> = text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
    for line in
        ["stdio out high GPIO17 11 Oi 12 GPIO18 in low fan", "in low GPIO5 29 i- 30 GND", "SDA1 high GPIO2 3 F+ 4 5V"]
    {
        assert!(lines.iter().any(|drawn| drawn == line), "{line}:\n{text}");
    }
    assert_eq!(cell(3).look, ContactStyle::Function, "the simulated header has a bus");
}

#[tokio::test]
async fn the_picture_of_the_repository_is_this_one() {
    let drawn = svg(&drawn().await);
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/header.svg");
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, &drawn).unwrap();
    }
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(committed == drawn, "docs/header.svg is old: BLESS=1 cargo test --test it pins");
}
