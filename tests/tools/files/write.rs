//! `files.write`: what may be written over what, what is kept, and what a failure leaves.

use super::{Files, sha256};
use crate::support::served::Door;
use serde_json::json;
use std::{
    fs,
    os::unix::fs::{MetadataExt, PermissionsExt, symlink},
};

#[tokio::test]
async fn a_new_file_is_made_with_its_folders() {
    let files = Files::new().await;
    let answer = files.call("files.write", json!({ "path": "a/b/new.txt", "content": "hello" })).await;
    let written = answer.ok();
    assert_eq!((&written["created"], &written["overwritten"]), (&json!(true), &json!(false)));
    assert_eq!((&written["size"], &written["etag"]), (&json!(5), &json!(sha256("hello"))));
    assert_eq!((&written["mode"], written.get("previous")), (&json!(0o644), None));
    assert_eq!(
        written["created_directories"],
        json!([files.data("a").to_str().unwrap(), files.data("a/b").to_str().unwrap()])
    );
    assert_eq!(answer.meta()["changed"], true);
    assert_eq!(fs::read_to_string(files.data("a/b/new.txt")).unwrap(), "hello");
    assert_eq!(fs::metadata(files.data("a/b/new.txt")).unwrap().mode() & 0o7777, 0o644);
    assert_eq!(fs::metadata(files.data("a")).unwrap().mode() & 0o7777, 0o755);
    assert_eq!(files.everything(), ["a", "a/b", "a/b/new.txt"], "and nothing beside it");
}

#[tokio::test]
async fn what_is_there_stays_unless_it_may_go() {
    let files = Files::new().await;
    files.has("a", "old");
    for args in [json!({}), json!({ "overwrite": false }), json!({ "mode": "create_new" }), json!({ "mode": 0o600 })] {
        let mut all = json!({ "path": "a", "content": "new" });
        all.as_object_mut().unwrap().extend(args.as_object().unwrap().clone());
        let answer = files.call("files.write", all).await;
        let refused = answer.failed("conflict");
        assert_eq!(refused["details"]["etag"], sha256("old"), "{args}");
    }
    let mut wire = files.pi.on(Door::Stdio).await;
    wire.request("files/write", json!({ "path": "a", "content": "new" })).await.fault(1005);
    assert_eq!(fs::read_to_string(files.data("a")).unwrap(), "old");
    for args in [json!({ "overwrite": true }), json!({ "mode": "overwrite" }), json!({ "etag": sha256("new") })] {
        let mut all = json!({ "path": "a", "content": "new" });
        all.as_object_mut().unwrap().extend(args.as_object().unwrap().clone());
        let answer = files.call("files.write", all).await;
        assert_eq!((&answer.ok()["created"], &answer.ok()["overwritten"]), (&json!(false), &json!(true)), "{args}");
        assert_eq!(fs::read_to_string(files.data("a")).unwrap(), "new");
    }
    // create: false wants it to be there.
    let gone =
        files.call("files.write", json!({ "path": "b", "content": "", "create": false, "overwrite": true })).await;
    gone.failed("not_found");
    assert_eq!(files.everything(), ["a"]);
}

#[tokio::test]
async fn a_tag_guards_against_the_changes_of_others() {
    let files = Files::new().await;
    files.has("a", "read by us");
    let tag = sha256("read by us");
    files.has("a", "changed by others");
    let answer = files.call("files.write", json!({ "path": "a", "content": "ours", "etag": tag })).await;
    assert_eq!(answer.failed("conflict")["details"]["etag"], sha256("changed by others"));
    assert_eq!(fs::read_to_string(files.data("a")).unwrap(), "changed by others");
    let now = sha256("changed by others");
    let answer = files.call("files.write", json!({ "path": "a", "content": "ours", "etag": now })).await;
    assert_eq!(answer.ok()["previous"], json!({ "size": 17, "etag": now, "mode": 0o644, "owner_kept": true }));
    assert_eq!(fs::read_to_string(files.data("a")).unwrap(), "ours");
    files.call("files.write", json!({ "path": "none", "content": "", "etag": now })).await.failed("not_found");
    assert_eq!(files.everything(), ["a"], "no temporary file is left");
}

#[tokio::test]
async fn more_goes_to_the_end() {
    let files = Files::new().await;
    for (content, whole, created) in [("one\n", "one\n", true), ("two\n", "one\ntwo\n", false)] {
        let args = json!({ "path": "log", "content": content, "mode": "append" });
        let answer = files.call("files.write", args).await;
        let written = answer.ok();
        assert_eq!((&written["created"], &written["appended"]), (&json!(created), &json!(!created)));
        assert_eq!((&written["etag"], &written["size"]), (&json!(sha256(whole)), &json!(whole.len())));
        assert_eq!(written["overwritten"], false);
        assert_eq!(fs::read_to_string(files.data("log")).unwrap(), whole);
    }
    let stale = json!({ "path": "log", "content": "x", "mode": "append", "etag": sha256("one\n") });
    files.call("files.write", stale).await.failed("conflict");
    fs::hard_link(files.data("log"), files.outside("other-name")).unwrap();
    for how in [json!({ "mode": "append" }), json!({ "mode": "overwrite" }), json!({ "etag": sha256("one\ntwo\n") })] {
        for dry_run in [true, false] {
            let mut args = json!({ "path": "log", "content": "x", "dry_run": dry_run });
            args.as_object_mut().unwrap().extend(how.as_object().unwrap().clone());
            let linked = files.call("files.write", args).await;
            let error = linked.failed("failed_precondition");
            assert!(error["message"].as_str().unwrap().contains("hard links"), "{how} {error}");
        }
    }
    assert_eq!(fs::read_to_string(files.outside("other-name")).unwrap(), "one\ntwo\n");
    assert_eq!(fs::metadata(files.data("log")).unwrap().nlink(), 2, "neither name was parted from the other");
    // As the hint says: away with this name, and the other is what it was.
    files.call("files.delete", json!({ "path": "log" })).await.ok();
    files.call("files.write", json!({ "path": "log", "content": "x" })).await.ok();
    assert_eq!(fs::read_to_string(files.outside("other-name")).unwrap(), "one\ntwo\n");
}

/// An access control list as the kernel has it: `user::rw-`, `user:1000:rw-`, `group::---`, `mask::rw-`, `other::---`.
const LIST: &[u8] = b"\x02\0\0\0\x01\0\x06\0\xff\xff\xff\xff\x02\0\x06\0\xe8\x03\0\0\x04\0\0\0\xff\xff\xff\xff\
    \x10\0\x06\0\xff\xff\xff\xff\x20\0\0\0\xff\xff\xff\xff";

#[tokio::test]
async fn an_access_control_list_and_attributes_stay() {
    use rustix::fs::{XattrFlags, getxattr, setxattr};
    let files = Files::new().await;
    let path = files.has("shared", "old");
    let list = |path: &std::path::Path| {
        let mut value = vec![0; 256];
        let length = getxattr(path, "system.posix_acl_access", &mut value[..]).ok()?;
        Some(value[..length].to_vec())
    };
    if setxattr(&path, "system.posix_acl_access", LIST, XattrFlags::empty()).is_err() {
        println!("not looked at: this file system has no access control lists");
        return;
    }
    let noted = setxattr(&path, "user.note", b"kept", XattrFlags::empty()).is_ok();
    let etag = sha256("old");
    for args in [json!({ "overwrite": true }), json!({ "etag": etag }), json!({ "mode": "append" })] {
        fs::write(&path, "old").unwrap();
        let mut args = args;
        args.as_object_mut().unwrap().extend([("path".into(), json!("shared")), ("content".into(), json!("new"))]);
        let answer = files.call("files.write", args.clone()).await;
        assert_eq!(answer.ok()["mode"], 0o660, "{args}");
        assert_eq!(list(&path).as_deref(), Some(LIST), "{args}");
        let mut note = [0; 16];
        let length = getxattr(&path, "user.note", &mut note[..]).unwrap_or(0);
        assert_eq!(&note[..length], if noted { &b"kept"[..] } else { b"" }, "{args}");
    }
    // Bits that the caller gives are what chmod(1) would make of them: the group's are the mask.
    let args = json!({ "path": "shared", "content": "x", "overwrite": true, "permissions": 0o640 });
    assert_eq!(files.call("files.write", args).await.ok()["mode"], 0o640);
    let after = list(&path).unwrap();
    assert_eq!((after[4 + 2 * 8 + 2], after[4 + 3 * 8 + 2]), (0, 4), "no right for the group, and the mask r--");
    // A folder's default list gives a file that had none nothing.
    let folder = path.parent().unwrap().to_owned();
    let plain = files.has("plain", "old");
    setxattr(&folder, "system.posix_acl_default", LIST, XattrFlags::empty()).unwrap();
    files.call("files.write", json!({ "path": "plain", "content": "new", "overwrite": true })).await.ok();
    assert_eq!(list(&plain), None);
}

#[tokio::test]
async fn mode_is_kept_or_set_and_setuid_never() {
    let files = Files::new().await;
    let path = files.has("script", "#!/bin/sh\n");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o4750)).unwrap();
    let answer = files.call("files.write", json!({ "path": "script", "content": "x", "overwrite": true })).await;
    assert_eq!((&answer.ok()["mode"], &answer.ok()["previous"]["owner_kept"]), (&json!(0o750), &json!(true)));
    assert_eq!(fs::metadata(&path).unwrap().mode() & 0o7777, 0o750);
    let args = json!({ "path": "script", "content": "x", "overwrite": true, "mode": 0o600 });
    files.call("files.write", args).await.ok();
    assert_eq!(fs::metadata(&path).unwrap().mode() & 0o7777, 0o600);
    for mode in [json!(0o1000), json!(0o4755), json!(-1), json!("delete"), json!(1.5), json!([])] {
        let args = json!({ "path": "script", "content": "y", "overwrite": true, "mode": mode });
        files.call("files.write", args).await.refused("/mode");
    }
    assert_eq!(fs::read_to_string(&path).unwrap(), "x");
    // Apart from how it is written, in a property of its own.
    for (mode, content) in [("overwrite", "y"), ("append", "yz")] {
        let args =
            json!({ "path": "script", "content": &content[content.len() - 1..], "mode": mode, "permissions": 0o640 });
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        assert_eq!(files.call("files.write", args).await.ok()["mode"], 0o640, "{mode}");
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o7777, 0o640, "{mode}");
        assert_eq!(fs::read_to_string(&path).unwrap(), content, "{mode}");
    }
    let new = json!({ "path": "new", "content": "x", "permissions": 0o604 });
    assert_eq!(files.call("files.write", new).await.ok()["mode"], 0o604);
    for permissions in [json!(0o1000), json!(0o4755), json!(-1), json!("644")] {
        let args = json!({ "path": "script", "content": "no", "overwrite": true, "permissions": permissions });
        files.call("files.write", args).await.refused("/permissions");
    }
    let both = json!({ "path": "script", "content": "no", "overwrite": true, "mode": 0o600, "permissions": 0o600 });
    let answer = files.call("files.write", both).await;
    assert_eq!(answer.failed("invalid_argument")["details"]["parameter"], "permissions");
    assert_eq!(fs::read_to_string(&path).unwrap(), "yz");
    // A strict model sends the default beside the rest.
    let strict = json!({ "path": "script", "content": "s", "mode": "overwrite", "create": true, "mkdirs": true, "permissions": null });
    files.call("files.write", strict).await.ok();
}

#[tokio::test]
async fn bytes_come_in_base64_in_either_form() {
    let files = Files::new().await;
    let bytes = [0xff, 0xd8, 0x00, 0xfe];
    for (name, args) in [
        ("one", json!({ "content_base64": "/9gA/g==" })),
        ("two", json!({ "content": "/9gA/g==", "encoding": "base64" })),
    ] {
        let mut all = json!({ "path": name });
        all.as_object_mut().unwrap().extend(args.as_object().unwrap().clone());
        assert_eq!(files.call("files.write", all).await.ok()["etag"], sha256(bytes));
        assert_eq!(fs::read(files.data(name)).unwrap(), bytes);
    }
    for (args, parameter) in [
        (json!({ "path": "x" }), "content"),
        (json!({ "path": "x", "content": "", "content_base64": "" }), "content"),
        (json!({ "path": "x", "content_base64": "not base64!" }), "content_base64"),
        (json!({ "path": "x", "content": "%", "encoding": "base64" }), "content"),
        (json!({ "path": "x", "content": "ü", "encoding": "ascii" }), "content"),
        (json!({ "path": "x", "content": "", "mode": "append", "overwrite": true }), "overwrite"),
        (json!({ "path": "x", "content": "", "mode": "append", "create": false }), "create"),
        (json!({ "path": "x", "content": "", "mode": "create_new", "etag": "x" }), "etag"),
        (json!({ "path": "x/", "content": "" }), "path"),
        (json!({ "path": ".", "content": "" }), "path"),
    ] {
        let answer = files.call("files.write", args).await;
        assert_eq!(answer.failed("invalid_argument")["details"]["parameter"], parameter);
    }
    assert_eq!(files.everything(), ["one", "two"]);
}

#[tokio::test]
async fn a_dry_run_says_what_would_be_and_does_nothing() {
    let files = Files::new().await;
    let args = json!({ "path": "a/b", "content": "x", "dry_run": true });
    let answer = files.call("files.write", args).await;
    assert_eq!((&answer.ok()["created"], &answer.ok()["etag"]), (&json!(true), &json!(sha256("x"))));
    assert_eq!(answer.ok()["created_directories"], json!([files.data("a").to_str().unwrap()]));
    assert_eq!(answer.meta()["changed"], false);
    assert_eq!(files.everything(), [] as [&str; 0]);
    files.has("log", "one");
    let args = json!({ "path": "log", "content": " two", "mode": "append", "dry_run": true });
    assert_eq!(files.call("files.write", args).await.ok()["etag"], sha256("one two"));
    assert_eq!(fs::read_to_string(files.data("log")).unwrap(), "one");
    // It judges as the real one would.
    files.call("files.write", json!({ "path": "log", "content": "", "dry_run": true })).await.failed("conflict");
    let args = json!({ "path": "none/x", "content": "", "mkdirs": false, "dry_run": true });
    assert!(files.call("files.write", args).await.failed("not_found")["hint"].as_str().unwrap().contains("mkdirs"));
}

#[tokio::test]
async fn what_is_no_file_is_never_written() {
    let files = Files::new().await;
    fs::create_dir(files.data("folder")).unwrap();
    rustix::fs::mkfifoat(rustix::fs::CWD, files.data("fifo"), 0o644.into()).unwrap();
    files.has("real", "old");
    symlink("real", files.data("link")).unwrap();
    symlink("nowhere", files.data("dangling")).unwrap();
    for name in ["folder", "fifo", "link", "dangling"] {
        for mode in ["overwrite", "append", "create_new"] {
            let answer = files.call("files.write", json!({ "path": name, "content": "x", "mode": mode })).await;
            answer.failed("failed_precondition");
        }
    }
    assert_eq!(files.everything(), ["dangling", "fifo", "folder", "link", "real"]);
    assert_eq!(fs::read_to_string(files.data("real")).unwrap(), "old");
}

#[tokio::test]
async fn a_full_disk_leaves_the_old_file_whole() {
    // RLIMIT_FSIZE would hit the whole process; a root's limit and a tmpfs of its own (in nspawn) show the same.
    let files = Files::new().await;
    files.has("a", "old");
    let large = "x".repeat((1 << 20) + 1);
    // Larger than a request may be: refused before it is read. Up to the root's limit: refused by its size.
    let args = json!({ "path": "a", "content": &large[..900_000], "mode": "append" });
    files.call("files.write", args.clone()).await.ok();
    let answer = files.call("files.write", args).await;
    assert_eq!(answer.failed("content_too_large")["details"]["limit_bytes"], 1 << 20);
    assert_eq!(fs::metadata(files.data("a")).unwrap().len(), 900_003);
}

#[tokio::test]
async fn writing_is_off_until_it_is_switched_on_and_the_root_allows_it() {
    let files = Files::new().await;
    let answer = files.call("files.write", json!({ "path": "x", "root": "docs", "content": "" })).await;
    let refused = answer.failed("permission_denied");
    let wanted = format!("files:write:{}", files.docs("x").display());
    assert_eq!(refused["details"]["required_permission"], wanted);
    assert!(refused["hint"].as_str().unwrap().contains("writable = true"));
    let files = Files::with(|settings| settings.tools.enable.clear()).await;
    files.call("files.write", json!({ "path": "x", "content": "" })).await.failed("permission_denied");
    let files = Files::with(|settings| settings.access.stdio_role = contract::meta::Role::ReadOnly).await;
    let answer = files.call("files.write", json!({ "path": "x", "content": "" })).await;
    assert_eq!(answer.failed("permission_denied")["details"]["required_role"], "ops_rw");
    assert_eq!(files.everything(), [] as [&str; 0]);
}
