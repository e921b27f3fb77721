//! The settings that the pages of the days show are accepted: as a file of the configuration, or as a card's `raspi-mcp.toml`.

use super::{DAYS, blocks, page};
use appliance::provisioning::Provisioning;
use contract::config::{Places, Sources, load};
use std::fs;
use tempfile::TempDir;

/// The pages tell to make a token before the server may listen beyond loopback.
const TOKEN: &str = "[[access.tokens]]\nname = \"laptop\"\nrole = \"read_only\"\nsha256 = \"";

fn as_configuration(text: &str) -> Result<(), String> {
    let dir = TempDir::new().unwrap();
    let file = dir.path().join("settings.toml");
    fs::write(&file, format!("{text}\n{TOKEN}{}\"\n", "0".repeat(64))).unwrap();
    let mut sources = Sources::new(Places::below(dir.path()), Vec::new());
    sources.file = Some(file);
    load(&sources).map(drop).map_err(|faults| format!("{faults:?}"))
}

fn as_provisioning(text: &str) -> Result<(), String> {
    let text = format!("name = \"porch\"\n{text}\n{TOKEN}{}\"\n", "0".repeat(64)).replace("\"read_only\"", "\"admin\"");
    let told = Provisioning::parse(text.as_bytes(), crate::update::PRODUCT, agent::approvers::check);
    told.map(drop).map_err(|faults| format!("{faults:?}"))
}

#[test]
fn settings_are_accepted() {
    let mut seen = 0;
    for name in DAYS {
        for block in blocks(&page(name)).iter().filter(|block| block.language == "toml") {
            let text = block.text();
            seen += 1;
            if let (Err(one), Err(other)) = (as_configuration(&text), as_provisioning(&text)) {
                panic!("{name}:{}: neither a configuration:\n{one}\nnor a card's file:\n{other}", block.line);
            }
        }
    }
    assert!(seen >= 4, "only {seen} blocks were found");
}

#[test]
fn settings_that_are_not_there_are_found() {
    let bad = "[update]\nautomattic = true\n";
    assert!(as_configuration(bad).is_err() && as_provisioning(bad).is_err());
}
