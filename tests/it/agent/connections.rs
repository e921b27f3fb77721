//! The network's connections, copied into the agent state as soon as one of them changes.

use super::*;
use ::agent::BootableCard;
use ::update::slots::StateStore;
use appliance::connections::{FOLDER, SavedConnections};
use std::fs;

const ONE: &str = "[connection]\nid=one\n[wifi-security]\npsk=hunter2hunter2\n";

/// What is in the copy, once it is that many.
async fn kept(card: &BootableCard, many: usize) -> String {
    let look = async {
        loop {
            let state = StateStore::open(&*card.disk).unwrap().state;
            let text = String::from_utf8(state.kept.get("connections").cloned().unwrap_or_default()).unwrap();
            if text.matches(".nmconnection").count() == many && (many > 0 || !text.is_empty()) {
                return text;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), look).await.unwrap()
}

#[tokio::test]
async fn a_connection_is_copied_when_it_comes_changes_and_goes() {
    let mut pi = Pi::new();
    let folder = pi.dir.path().join(FOLDER);
    fs::create_dir_all(&folder).unwrap();
    let card = BootableCard::simulated(&pi.dir.path().join("card")).unwrap();
    pi.update = CardPort { card: Ok(card.clone()), ..CardPort::none() };
    pi.start();
    let agent = pi.agent();
    let keeping = tokio::spawn(async move { agent.keep_connections().await });
    // As NetworkManager does: aside, and then by its name.
    let put = |name: &str, text: &str| {
        fs::write(folder.join(".new"), text).unwrap();
        fs::rename(folder.join(".new"), folder.join(name)).unwrap();
    };
    put("one.nmconnection", ONE);
    assert!(kept(&card, 1).await.contains("hunter2hunter2"));
    put("two.nmconnection", "[connection]\nid=two\n");
    kept(&card, 2).await;
    fs::remove_file(folder.join("one.nmconnection")).unwrap();
    assert!(!kept(&card, 1).await.contains("hunter2hunter2"));

    // Without the data partition, what is there takes nothing's place.
    fs::create_dir_all(pi.dir.path().join("run")).unwrap();
    fs::write(pi.dir.path().join("run/raspi-mcp-data-lost"), "gone\n").unwrap();
    fs::remove_file(folder.join("two.nmconnection")).unwrap();
    put("three.nmconnection", "[connection]\nid=three\n");
    fs::remove_file(pi.dir.path().join("run/raspi-mcp-data-lost")).unwrap();
    put("four.nmconnection", "[connection]\nid=four\n");
    let text = kept(&card, 2).await;
    assert!(text.contains("id=three") && text.contains("id=four"), "{text}");
    assert!(!keeping.is_finished());
    keeping.abort();
}

#[tokio::test]
async fn without_network_manager_there_is_nothing_to_keep() {
    let mut pi = Pi::new();
    pi.agent().keep_connections().await;
    let card = BootableCard::simulated(&pi.dir.path().join("card")).unwrap();
    pi.update = CardPort { card: Ok(card.clone()), ..CardPort::none() };
    pi.start();
    pi.agent().keep_connections().await;
    assert!(SavedConnections::kept(&StateStore::open(&*card.disk).unwrap().state).is_empty());
}
