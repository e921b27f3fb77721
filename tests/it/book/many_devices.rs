//! docs/many-devices.md, as far as it needs no device: the files for all cards are made by its commands, and a device takes each.

use super::{blocks, here, page};
use appliance::provisioning::Provisioning;
use std::{collections::BTreeSet, fs, path::Path};
use tempfile::TempDir;

const PAGE: &str = "docs/many-devices.md";
/// Those for which it is tried: the last of all.
const SOME: (&str, &str, usize) = ("seq -w 1 200", "seq -w 181 200", 20);

/// The block of a language that has this text in it.
fn block(language: &str, with: &str) -> String {
    let blocks = blocks(&page(PAGE));
    let mut found = blocks.iter().filter(|block| block.language == language && block.text().contains(with));
    let block = found.next().unwrap_or_else(|| panic!("{PAGE} has no {language} with {with}"));
    block.text()
}

#[tokio::test]
async fn every_card_gets_a_file_that_a_device_takes() {
    let desk = TempDir::new().unwrap();
    fs::write(desk.path().join("common.toml"), block("toml", "[wifi]")).unwrap();
    let program = Path::new(env!("CARGO_BIN_EXE_raspi-mcp")).parent().unwrap();
    let mut shell = tokio::process::Command::new("sh");
    shell.env_clear().env("PATH", format!("{}:/usr/bin:/bin", program.display())).current_dir(desk.path());
    let commands = block("sh", "raspi-mcp token new");
    assert!(commands.contains(SOME.0), "{commands}");
    let output = shell.args(["-eu", "-c", &commands.replace(SOME.0, SOME.1)]).output().await.unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let (mut tokens, mut names) = (BTreeSet::new(), BTreeSet::new());
    for entry in fs::read_dir(desk.path().join("cards")).unwrap() {
        let (name, card) = {
            let path = entry.unwrap().path();
            (path.file_stem().unwrap().to_str().unwrap().to_owned(), fs::read_to_string(path).unwrap())
        };
        let told = Provisioning::parse(card.as_bytes(), crate::update::PRODUCT, agent::approvers::check);
        let told = told.unwrap_or_else(|faults| panic!("{name}: {faults:?}\n{card}"));
        assert!(told.has_approvers() && card.starts_with(&format!("name = \"{name}\"\n")), "{card}");
        let token = fs::read_to_string(desk.path().join("tokens").join(&name)).unwrap();
        let hash = base::canonical::sha256_of(token.trim().as_bytes());
        assert!(card.contains(&hash), "{name}: the token is not the card's");
        tokens.insert(hash);
        names.insert(name);
    }
    assert_eq!((tokens.len(), names.len()), (SOME.2, SOME.2));
    assert_eq!(names.first().unwrap(), "dev-181");
}

#[test]
fn the_image_is_told_to_update_by_itself() {
    // The folder of the image's settings, which dist/install copies whole.
    assert!(page(PAGE).contains("`30-updates.toml` in `dist/conf.d`") && here().join("dist/conf.d").is_dir());
    assert!(page("dist/install").contains("\"$here\"/conf.d/*"));
}
