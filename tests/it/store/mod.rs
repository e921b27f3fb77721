//! The store: what opening does with files in every condition, and what a query is told.

use futures::FutureExt;
use raspi_mcp::{
    error::ErrorCode,
    store::{Opened, Store},
};
use std::{fs, path::Path};
use tempfile::tempdir;

async fn remember(store: &Store, word: &str) -> Result<(), raspi_mcp::error::ToolError> {
    let word = word.to_owned();
    store
        .run(move |db| {
            db.execute_batch("CREATE TABLE IF NOT EXISTS words (word TEXT)")?;
            db.execute("INSERT INTO words VALUES (?1)", [word]).map(drop)
        })
        .await
}

async fn words(store: &Store) -> Vec<String> {
    let read = |db: &mut rusqlite::Connection| -> rusqlite::Result<Vec<String>> {
        db.prepare("SELECT word FROM words ORDER BY rowid")?.query_map([], |row| row.get(0))?.collect()
    };
    store.run(read).await.expect("the words")
}

#[tokio::test]
async fn a_new_store_makes_its_folder_and_keeps_what_it_is_told() {
    let dir = tempdir().unwrap();
    let path = dir.path().join("state/store.db");
    let store = Store::open(&path).unwrap();
    assert_eq!(store.report().await.unwrap().state, Opened::Created);
    remember(&store, "kept").await.unwrap();
    drop(store);

    let store = Store::open(&path).unwrap();
    assert_eq!(store.report().await.unwrap().state, Opened::Good);
    assert_eq!(words(&store).await, ["kept"]);
}

#[tokio::test]
async fn a_file_that_is_no_database_is_set_aside_and_replaced() {
    let dir = tempdir().unwrap();
    let path = dir.path().join("store.db");
    fs::write(&path, "not a database at all, ".repeat(100)).unwrap();

    let store = Store::open(&path).unwrap();
    let Opened::Replaced { set_aside, reason } = store.report().await.unwrap().state else { panic!("not replaced") };
    assert!(set_aside.file_name().unwrap().to_string_lossy().starts_with("store.db.corrupt-"));
    assert!(fs::read_to_string(set_aside).unwrap().starts_with("not a database"), "the evidence is kept");
    assert!(reason.contains("not a database"), "{reason}");
    remember(&store, "afresh").await.unwrap();
    assert_eq!(words(&store).await, ["afresh"]);
}

#[tokio::test]
async fn a_database_with_a_damaged_page_is_set_aside_and_replaced() {
    let dir = tempdir().unwrap();
    let path = dir.path().join("store.db");
    let store = Store::open(&path).unwrap();
    for n in 0..400 {
        remember(&store, &format!("{n} {}", "x".repeat(100))).await.unwrap();
    }
    drop(store);
    scribble(&path, 4096 * 3, 4096 * 5);

    let store = Store::open(&path).unwrap();
    let state = store.report().await.unwrap().state;
    assert!(matches!(state, Opened::Replaced { .. }), "{state:?}");
    remember(&store, "afresh").await.unwrap();
}

fn scribble(path: &Path, from: usize, to: usize) {
    let mut bytes = fs::read(path).unwrap();
    assert!(bytes.len() > to, "the file is long enough to be damaged there");
    bytes[from..to].fill(0xA5);
    fs::write(path, bytes).unwrap();
}

#[tokio::test]
async fn only_the_newest_damaged_file_is_kept() {
    let dir = tempdir().unwrap();
    let path = dir.path().join("store.db");
    fs::write(dir.path().join("store.db.corrupt-1"), "older").unwrap();
    fs::write(&path, "newer damage").unwrap();
    let store = Store::open(&path).unwrap();
    store.report().await.unwrap();
    let kept = fs::read_dir(dir.path()).unwrap().flatten();
    let kept: Vec<_> =
        kept.map(|entry| entry.file_name()).filter(|name| name.to_string_lossy().contains("corrupt")).collect();
    assert_eq!(kept.len(), 1, "{kept:?}");
    assert_ne!(kept[0], "store.db.corrupt-1");
}

#[tokio::test]
async fn a_place_that_cannot_be_written_refuses_queries_and_says_what_to_do() {
    let dir = tempdir().unwrap();
    fs::write(dir.path().join("file"), "in the way").unwrap();
    let store = Store::open(&dir.path().join("file/store.db")).unwrap();
    let error = remember(&store, "nothing").await.unwrap_err();
    assert_eq!(error.code, ErrorCode::Unavailable);
    assert!(error.message.contains("cannot be opened"), "{error}");
    assert!(error.hint.is_some());
    assert_eq!(store.usable().unwrap_err().code, ErrorCode::Unavailable);
}

#[tokio::test]
async fn a_full_queue_is_refused_instead_of_growing() {
    let dir = tempdir().unwrap();
    let store = Store::open(&dir.path().join("store.db")).unwrap();
    store.report().await.unwrap();
    let (hold, held) = std::sync::mpsc::channel::<()>();
    let (begin, begun) = tokio::sync::oneshot::channel::<()>();
    let busy = store.clone();
    let first = tokio::spawn(async move {
        let wait = move |_: &mut rusqlite::Connection| {
            let _ = begin.send(());
            let _ = held.recv();
            Ok(())
        };
        busy.run(wait).await
    });
    begun.await.unwrap();
    for n in 0..80 {
        match store.run(|_| Ok(())).now_or_never() {
            None => assert!(n < 64, "number {n} waits"),
            Some(refused) => assert_eq!((n >= 64, refused.unwrap_err().code), (true, ErrorCode::ResourceExhausted)),
        }
    }
    hold.send(()).unwrap();
    first.await.unwrap().unwrap();
}
