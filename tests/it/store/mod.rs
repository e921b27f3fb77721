//! The store: what opening does with files in every condition, and what a query is told.

use base::error::ErrorCode;
use futures::FutureExt;
use raspi_mcp::store::{OpenOutcome, Store, give_back};
use std::{fs, path::Path};
use tempfile::tempdir;

async fn remember(store: &Store, word: &str) -> Result<(), base::error::ToolError> {
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
    assert_eq!(store.report().await.unwrap().state, OpenOutcome::Created);
    remember(&store, "kept").await.unwrap();
    drop(store);

    let store = Store::open(&path).unwrap();
    assert_eq!(store.report().await.unwrap().state, OpenOutcome::Good);
    assert_eq!(words(&store).await, ["kept"]);
}

#[tokio::test]
async fn room_that_is_free_goes_back_to_the_file_system() {
    let dir = tempdir().unwrap();
    let path = dir.path().join("store.db");
    let store = Store::open(&path).unwrap();
    for _ in 0..64 {
        remember(&store, &"x".repeat(65_536)).await.unwrap();
    }
    store.run(|db| db.execute_batch("DELETE FROM words")).await.unwrap();
    store.run(|db| give_back(db)).await.unwrap();
    drop(store);
    let bytes = fs::metadata(&path).unwrap().len();
    assert!(bytes < 65_536, "4 MiB are deleted, and the file has {bytes} bytes");
}

#[tokio::test]
async fn a_file_that_is_no_database_is_set_aside_and_replaced() {
    let dir = tempdir().unwrap();
    let path = dir.path().join("store.db");
    fs::write(&path, "not a database at all, ".repeat(100)).unwrap();

    let store = Store::open(&path).unwrap();
    let OpenOutcome::Replaced { set_aside, reason } = store.report().await.unwrap().state else {
        panic!("not replaced")
    };
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
    assert!(matches!(state, OpenOutcome::Replaced { .. }), "{state:?}");
    remember(&store, "afresh").await.unwrap();
}

fn scribble(path: &Path, from: usize, to: usize) {
    let mut bytes = fs::read(path).unwrap();
    assert!(bytes.len() > to, "the file is long enough to be damaged there");
    bytes[from..to].fill(0xA5);
    fs::write(path, bytes).unwrap();
}

#[tokio::test]
async fn no_damaged_file_goes_that_no_owner_gave_up() {
    let dir = tempdir().unwrap();
    let path = dir.path().join("store.db");
    let named = |mark: &str| {
        let names = fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut found: Vec<String> = names.filter(|name| name.contains(mark) && !name.contains("db-")).collect();
        found.sort();
        found
    };
    for number in 0..6 {
        fs::write(&path, format!("garbage {number} ").repeat(1000)).unwrap();
        let report = Store::open(&path).unwrap().report().await.unwrap();
        assert_eq!(matches!(report.state, OpenOutcome::Replaced { .. }), number < 4, "{report:?}");
    }
    // Refused rather than lost: it stays where it is, and says what to do.
    assert_eq!(named(".corrupt-").len(), 4);
    let kept: String =
        named(".corrupt-").iter().map(|name| fs::read_to_string(dir.path().join(name)).unwrap()).collect();
    assert!((0..4).all(|number| kept.contains(&format!("garbage {number} "))));
    assert!(fs::read_to_string(&path).unwrap().contains("garbage 5 "));
    let store = Store::open(&path).unwrap();
    let error = remember(&store, "x").await.unwrap_err();
    assert!(error.message.contains("accept-gap"), "{error:?}");
    drop(store);

    raspi_mcp::store::settle(&path, 1000);
    assert_eq!(named(".corrupt-").len(), 4, "those of later than what was accepted stay");
    raspi_mcp::store::settle(&path, i64::MAX);
    assert_eq!((named(".corrupt-").len(), named(".accepted-").len()), (0, 4));
    let first = named(".accepted-")[0].clone();
    let report = Store::open(&path).unwrap().report().await.unwrap();
    assert!(matches!(report.state, OpenOutcome::Replaced { .. }), "{report:?}");
    assert!(!named(".accepted-").contains(&first), "the oldest accepted one makes room");
    assert_eq!((named(".corrupt-").len(), named(".accepted-").len()), (1, 3));
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
