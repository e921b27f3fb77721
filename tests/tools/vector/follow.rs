//! The index follows its files: edits, renames, removals, new folders, links, and what is no text.

use super::{becomes, indexed, with};
use serde_json::json;
use std::{fs, os::unix::fs::symlink};

#[tokio::test]
async fn edits_renames_and_removals_are_followed() {
    let files = indexed().await;
    let note = files.has("a/note.txt", "zebra crossing\n");
    becomes(&files, "zebra", &["data:a/note.txt"]).await;
    fs::write(&note, "giraffe\n").unwrap();
    becomes(&files, "giraffe", &["data:a/note.txt"]).await;
    becomes(&files, "zebra", &[]).await;
    fs::rename(files.data("a"), files.data("b")).unwrap();
    becomes(&files, "giraffe", &["data:b/note.txt"]).await;
    // The moved folder is watched under its new name, and a new one in it.
    files.has("b/deep/er/new.txt", "okapi\n");
    becomes(&files, "okapi", &["data:b/deep/er/new.txt"]).await;
    fs::rename(files.data("b/note.txt"), files.outside("note.txt")).unwrap();
    becomes(&files, "giraffe", &[]).await;
    fs::remove_dir_all(files.data("b")).unwrap();
    becomes(&files, "okapi", &[]).await;
    files.has("b/again.txt", "okapi\n");
    becomes(&files, "okapi", &["data:b/again.txt"]).await;
}

#[tokio::test]
async fn what_is_hidden_linked_or_no_text_is_not_indexed() {
    let files = indexed().await;
    fs::write(files.outside("secret.txt"), "zebra\n").unwrap();
    symlink(files.outside("secret.txt"), files.data("link.txt")).unwrap();
    symlink(files.outside(""), files.data("folder")).unwrap();
    files.has(".hidden/one.txt", "zebra\n");
    files.has(".env", "zebra\n");
    files.has("binary.bin", b"zebra\0zebra");
    files.has("latin.txt", b"zebra \xff");
    files.has("large.txt", "zebra ".repeat(200_000));
    files.has("plain.txt", "zebra\n");
    becomes(&files, "zebra", &["data:plain.txt"]).await;
    let status = files.call("vector.get_status", json!({})).await;
    assert!(status.ok()["files"]["skipped"].as_u64().unwrap() <= 3, "{}", status.ok());
    let rebuilt = files.call("vector.rebuild", json!({})).await;
    assert_eq!(rebuilt.ok()["namespaces"], json!(["data"]));
    becomes(&files, "zebra", &["data:plain.txt"]).await;
}

#[tokio::test]
async fn a_root_that_comes_later_or_again_is_followed() {
    let home = tempfile::TempDir::new().unwrap();
    let root = home.path().canonicalize().unwrap().join("mnt/stick/notes");
    let files = with(|settings| settings.files.roots[0].path = root.clone()).await;
    becomes(&files, "zebra", &[]).await;
    // In steps: each part of the way is awaited in the one above it. What else comes there is nothing to it.
    fs::create_dir(home.path().join("other")).unwrap();
    fs::create_dir_all(root.parent().unwrap()).unwrap();
    becomes(&files, "zebra", &[]).await;
    fs::create_dir(&root).unwrap();
    fs::write(root.join("one.txt"), "zebra\n").unwrap();
    becomes(&files, "zebra", &["data:one.txt"]).await;
    // Moved away, and back.
    fs::rename(home.path().join("mnt"), home.path().join("gone")).unwrap();
    fs::rename(home.path().join("gone/stick/notes"), home.path().join("kept")).unwrap();
    becomes(&files, "zebra", &[]).await;
    fs::create_dir_all(root.parent().unwrap()).unwrap();
    fs::rename(home.path().join("kept"), &root).unwrap();
    becomes(&files, "zebra", &["data:one.txt"]).await;
    fs::write(root.join("two.txt"), "okapi\n").unwrap();
    becomes(&files, "okapi", &["data:two.txt"]).await;
}
