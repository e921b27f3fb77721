//! Ways out of a root of `files.*`, tried against the real handlers: links, swaps while a call runs, and what is made to
//! hang or to fill memory.

use crate::support::{
    files::{Files, sha256},
    served::{process::Process, soon},
};
use rustix::fs::{CWD, RenameFlags, renameat_with};
use serde_json::{Value, json};
use std::{
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread::{self, JoinHandle},
};
use tempfile::TempDir;

/// Somebody who does the same thing over and over while calls are made.
struct Racer {
    stop: Arc<AtomicBool>,
    rounds: Arc<AtomicU64>,
    thread: Option<JoinHandle<()>>,
}

impl Racer {
    fn start(mut round: impl FnMut() + Send + 'static) -> Self {
        let (stop, rounds) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
        let (told, counted) = (Arc::clone(&stop), Arc::clone(&rounds));
        let thread = thread::spawn(move || {
            while !told.load(Ordering::Relaxed) {
                round();
                counted.fetch_add(1, Ordering::Relaxed);
            }
        });
        Self { stop, rounds, thread: Some(thread) }
    }

    /// Stops, and says how many rounds there were.
    fn end(mut self) -> u64 {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.take().unwrap().join().unwrap();
        self.rounds.load(Ordering::Relaxed)
    }
}

impl Drop for Racer {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

fn swap(one: &Path, two: &Path) {
    renameat_with(CWD, one, CWD, two, RenameFlags::EXCHANGE).unwrap();
}

/// A folder outside with a file in it, and what must still be true of it.
fn treasure(files: &Files) -> PathBuf {
    let folder = files.outside("treasure");
    fs::create_dir_all(folder.join("deep")).unwrap();
    fs::write(folder.join("file"), "SECRET").unwrap();
    fs::write(folder.join("deep/file"), "SECRET").unwrap();
    folder
}

fn untouched(folder: &Path) {
    for file in ["file", "deep/file"] {
        assert_eq!(fs::read_to_string(folder.join(file)).unwrap(), "SECRET", "{file}");
    }
    assert_eq!(fs::read_dir(folder).unwrap().count(), 2, "nothing was put there");
    assert_eq!(fs::read_dir(folder.join("deep")).unwrap().count(), 1);
}

/// Each tool at `path`; none may succeed, or tell what is outside.
async fn all_refused(files: &Files, path: &str) {
    for (tool, args) in [
        ("files.read", json!({ "path": path })),
        ("files.list", json!({ "path": path })),
        ("files.write", json!({ "path": path, "content": "x", "overwrite": true })),
        ("files.write", json!({ "path": path, "content": "x", "mode": "append" })),
        ("files.write", json!({ "path": format!("{path}/new/file"), "content": "x" })),
        ("files.delete", json!({ "path": format!("{path}/deep"), "recursive": true })),
        ("files.delete", json!({ "path": format!("{path}/file") })),
    ] {
        let answer = soon(files.call(tool, args)).await;
        let result = answer.result();
        assert_eq!(result["isError"], true, "{tool} {path}: {result}");
        assert!(!result.to_string().contains("SECRET"), "{tool} {path}: {result}");
    }
}

#[tokio::test]
async fn no_link_leads_out() {
    let files = Files::new().await;
    let outside = treasure(&files);
    symlink(&outside, files.data("absolute")).unwrap();
    symlink("../treasure", files.data("relative")).unwrap();
    symlink("relative", files.data("chain")).unwrap();
    symlink("/proc/self/root", files.data("magic")).unwrap();
    symlink("/proc/self/cwd", files.data("cwd")).unwrap();
    symlink("/proc/self/fd/0", files.data("stdin")).unwrap();
    symlink("/", files.data("everything")).unwrap();
    symlink("loop", files.data("loop")).unwrap();
    // Inside, but by a full path: from below the root that is outside too.
    symlink(files.data("real"), files.data("full")).unwrap();
    for path in [
        "absolute",
        "relative",
        "chain",
        "magic",
        "cwd",
        "stdin",
        "everything",
        "loop",
        "full",
        "everything/etc",
        "magic/etc/passwd",
    ] {
        all_refused(&files, path).await;
    }
    untouched(&outside);
    // The link itself may be listed, and deleted.
    files.call("files.list", json!({ "recursive": true })).await.ok();
    files.call("files.delete", json!({ "path": "relative" })).await.ok();
    untouched(&outside);
}

#[tokio::test]
async fn a_root_that_turns_into_a_link_is_not_followed() {
    let files = Files::new().await;
    let outside = treasure(&files);
    fs::remove_dir(files.data("")).unwrap();
    symlink(&outside, files.outside("data")).unwrap();
    for (tool, args) in [
        ("files.read", json!({ "path": "file" })),
        ("files.list", json!({})),
        ("files.write", json!({ "path": "file", "content": "x", "overwrite": true })),
        ("files.delete", json!({ "path": "file" })),
    ] {
        let answer = files.call(tool, args).await;
        answer.failed("unavailable");
    }
    untouched(&outside);
}

/// A folder in the root that changes places with a link to the outside, as fast as it can.
fn swapping(files: &Files) -> Racer {
    fs::create_dir_all(files.data("door/deep")).unwrap();
    symlink("../treasure", files.data("trap")).unwrap();
    let (door, trap) = (files.data("door"), files.data("trap"));
    Racer::start(move || swap(&door, &trap))
}

#[tokio::test]
async fn reads_never_come_from_outside_while_a_folder_and_a_link_change_places() {
    let files = Files::new().await;
    let outside = treasure(&files);
    for name in ["door/file", "door/deep/file"] {
        files.has(name, "inside");
    }
    let racer = swapping(&files);
    let (mut read, mut refused) = (0, 0);
    for round in 0..3000 {
        let path = ["door/file", "door/deep/file"][round % 2];
        let answer = files.call("files.read", json!({ "path": path })).await;
        match answer.result()["isError"] == true {
            true => refused += 1,
            false => {
                assert_eq!(answer.ok()["content"], "inside");
                read += 1;
            }
        }
    }
    let rounds = racer.end();
    assert!(read > 0 && refused > 0 && rounds > 100, "{read} read, {refused} refused, {rounds} swaps");
    untouched(&outside);
}

#[tokio::test]
async fn writes_and_deletes_never_land_outside_while_a_folder_and_a_link_change_places() {
    let files = Files::new().await;
    let outside = treasure(&files);
    let racer = swapping(&files);
    let mut done = 0;
    for round in 0..600 {
        let (tool, args) = match round % 6 {
            0 => ("files.write", json!({ "path": "door/file", "content": "mine", "overwrite": true })),
            1 => ("files.write", json!({ "path": "door/file", "content": "more", "mode": "append" })),
            2 => ("files.write", json!({ "path": "door/deep/new/file", "content": "mine", "overwrite": true })),
            3 => ("files.delete", json!({ "path": "door/file" })),
            4 => ("files.delete", json!({ "path": "door/deep", "recursive": true })),
            _ => ("files.list", json!({ "path": "door", "recursive": true })),
        };
        let answer = files.call(tool, args).await;
        let text = answer.result().to_string();
        assert!(!text.contains("SECRET"), "{text}");
        done += u32::from(answer.result()["isError"] == false);
    }
    let rounds = racer.end();
    assert!(done > 20 && rounds > 100, "{done} done, {rounds} swaps");
    untouched(&outside);
}

#[tokio::test]
async fn a_recursive_delete_stays_inside_while_its_folders_become_links() {
    let files = Files::new().await;
    let outside = treasure(&files);
    for round in 0..30 {
        for folder in 0..10 {
            files.has(&format!("victim/{folder}/a/b/file"), "x");
        }
        symlink("../../treasure", files.data("victim/link")).unwrap();
        let (folder, link) = (files.data(&format!("victim/{}", round % 10)), files.data("victim/link"));
        let racer = Racer::start(move || {
            // Gone by now, perhaps: that is what the call is for.
            let _ = renameat_with(CWD, &folder, CWD, &link, RenameFlags::EXCHANGE);
        });
        soon(files.call("files.delete", json!({ "path": "victim", "recursive": true }))).await;
        racer.end();
        untouched(&outside);
        let _ = fs::remove_dir_all(files.data("victim"));
    }
}

#[tokio::test]
async fn a_tag_holds_while_others_put_their_files_in_the_same_place() {
    let files = Files::new().await;
    let path = files.has("a", "theirs 0");
    // Others replace the file as good programs do: written aside, renamed.
    let (aside, place, number) = (files.outside("aside"), path.clone(), Arc::new(AtomicU64::new(0)));
    let counted = Arc::clone(&number);
    let racer = Racer::start(move || {
        let next = counted.load(Ordering::Relaxed) + 1;
        fs::write(&aside, format!("theirs {next}")).unwrap();
        fs::rename(&aside, &place).unwrap();
        counted.store(next, Ordering::Relaxed);
        thread::yield_now();
    });
    let (mut won, mut lost) = (0u32, 0u32);
    for round in 0..500 {
        let seen = files.call("files.read", json!({ "path": "a" })).await.ok().clone();
        let args = json!({ "path": "a", "content": format!("ours {round}"), "etag": seen["etag"] });
        let answer = files.call("files.write", args).await;
        match answer.result()["isError"] == true {
            true => {
                answer.failed("conflict");
                lost += 1;
            }
            // What it replaced is what it was told to replace.
            false => {
                assert_eq!(answer.ok()["previous"]["etag"], seen["etag"]);
                won += 1;
            }
        }
    }
    racer.end();
    assert!(lost > 0, "{won} won, {lost} lost: nobody raced");
    let left = files.everything();
    assert_eq!(left, ["a"], "no temporary file is left");
    // Whoever was last, the file is whole.
    let last = fs::read_to_string(&path).unwrap();
    assert!(last.starts_with("ours ") || last.starts_with("theirs "), "{last}");
}

#[tokio::test]
async fn readers_see_the_old_file_or_the_new_one_and_nothing_between() {
    let files = Files::new().await;
    let (one, two) = ("1".repeat(100_000), "2".repeat(200_000));
    let path = files.has("a", &one);
    let expected = [sha256(&one), sha256(&two)];
    let racer = Racer::start({
        let path = path.clone();
        move || {
            let now = fs::read(&path).expect("it is always there");
            assert!(expected.contains(&sha256(&now)), "{} bytes, starting {:?}", now.len(), now.first());
        }
    });
    for round in 0..60 {
        let content = if round % 2 == 0 { &two } else { &one };
        let args = json!({ "path": "a", "content": content, "overwrite": true });
        files.call("files.write", args).await.ok();
    }
    assert!(racer.end() > 10);
}

#[tokio::test]
async fn a_sparse_giant_is_refused_unread() {
    let files = Files::new().await;
    let giant = fs::File::create(files.data("giant")).unwrap();
    giant.set_len(1 << 42).unwrap();
    for args in [json!({ "path": "giant" }), json!({ "path": "giant", "offset": 4_000_000_000u32, "length": 1 })] {
        let answer = soon(files.call("files.read", args)).await;
        assert_eq!(answer.failed("content_too_large")["details"]["size"], 1u64 << 42);
    }
    for mode in ["append", "overwrite"] {
        let args = json!({ "path": "giant", "content": "x", "mode": mode });
        soon(files.call("files.write", args)).await.failed("content_too_large");
    }
    soon(files.call("files.delete", json!({ "path": "giant" }))).await.ok();
}

/// Against the real program: what it needs is not mixed with what other tests of this process need.
#[tokio::test]
async fn a_hundred_thousand_names_are_listed_in_little_memory() {
    let home = TempDir::new().unwrap();
    let folder = home.path().join("data/many");
    fs::create_dir_all(&folder).unwrap();
    for number in 0..100_000 {
        fs::File::create(folder.join(format!("a-name-that-is-not-so-short-{number:06}"))).unwrap();
    }
    let config = home.path().join("raspi-mcp.toml");
    let text = format!(
        "tools.enable = [\"files\"]\naccess.stdio_role = \"admin\"\n[[files.roots]]\nname = \"data\"\npath = {}\nwritable = true\n",
        json!(folder.parent())
    );
    fs::write(&config, text).unwrap();
    let (server, mut wire) = Process::stdio(&["--config", config.to_str().unwrap()]);
    wire.initialize("2025-11-25", "test").await;
    let page = |offset: u32| json!({ "path": "many", "limit": 3, "offset": offset });
    let first = |listed: &Value| listed["entries"][0]["name"].as_str().unwrap().to_owned();
    soon(wire.call("files.list", json!({ "path": "." }))).await.ok();
    let before = server.resident_kib();
    for offset in [0, 50_000, 99_998] {
        let answer = soon(wire.call("files.list", page(offset))).await;
        assert_eq!(first(answer.ok()), format!("a-name-that-is-not-so-short-{offset:06}"));
        assert_eq!(answer.ok()["pagination"]["total_count"], 100_000);
    }
    let grown = server.resident_kib().saturating_sub(before);
    // All of them at once would be 6 MiB of names, and more around them.
    println!("{grown} KiB more resident");
    assert!(grown < 5 << 10, "{grown} KiB");
    fs::File::create(folder.join("one-too-many")).unwrap();
    let answer = soon(wire.call("files.delete", json!({ "path": "many", "recursive": true }))).await;
    assert_eq!(answer.failed("resource_exhausted")["details"]["limit"], 100_000);
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 100_001, "all or nothing");
}
