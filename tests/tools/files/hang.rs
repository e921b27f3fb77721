//! A mount below a writable root is refused before its file system is asked: it may never answer.

use super::Files;
use base::os::beneath::Beneath;
use rustix::io::Errno;
use serde_json::json;
use std::{ffi::OsStr, path::Path};

#[test]
fn a_mount_point_is_not_looked_at() {
    // /proc and /dev are mounts on every Linux: what is asked of them here would be asked of one that hangs.
    let root = Beneath::folder(Path::new("/")).unwrap();
    for mount in ["proc", "dev"] {
        assert_eq!(root.look(OsStr::new(mount)).unwrap_err(), Errno::XDEV, "{mount}");
        assert_eq!(root.child(OsStr::new(mount)).unwrap_err(), Errno::XDEV, "{mount}");
    }
    assert!(root.look(OsStr::new("etc")).unwrap().is_some());
    assert!(root.look(OsStr::new("there-is-no-such-name")).unwrap().is_none());
}

#[tokio::test]
async fn names_are_looked_at_as_before() {
    let files = Files::new().await;
    files.has("real", "text");
    std::os::unix::fs::symlink("real", files.data("link")).unwrap();
    let root = Beneath::folder(&files.data("").canonicalize().unwrap()).unwrap();
    let is_link = |name: &str| {
        let about = root.look(OsStr::new(name)).unwrap().unwrap();
        rustix::fs::FileType::from_raw_mode(about.st_mode) == rustix::fs::FileType::Symlink
    };
    assert!(is_link("link") && !is_link("real"));
    std::os::unix::fs::symlink("round", files.data("round")).unwrap();
    let error = files.call("files.read", json!({ "path": "round" })).await;
    let message = error.failed("permission_denied")["message"].as_str().unwrap();
    assert!(message.contains("never ends") && !message.contains("out of the root"), "{message}");
}
