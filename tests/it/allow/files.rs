//! Grants of `files.*`: one folder, for one tool and one caller.

use super::{close, gates, grant, open};
use crate::support::served::{Door, Pi, Wire};
use base::error::ErrorCode;
use contract::{
    access::caller::{Caller, Transport},
    config::{Grant, Sources},
    meta::Role,
};
use serde_json::{Value, json};
use std::{fs, path::PathBuf};
use tempfile::TempDir;

/// A server without any root, and a folder beside it.
struct Scene {
    pi: Pi,
    sources: Sources,
    home: TempDir,
}

impl Scene {
    async fn new(site: &[(&str, &str)]) -> Self {
        let (pi, sources) = Pi::of_site(site).await;
        let home = TempDir::new().unwrap();
        fs::create_dir(home.path().join("notes")).unwrap();
        fs::write(home.path().join("notes/a.txt"), "hello").unwrap();
        Self { pi, sources, home }
    }

    /// Without symbolic links, as a grant wants it.
    fn path(&self, name: &str) -> PathBuf {
        self.home.path().canonicalize().unwrap().join(name)
    }

    fn shown(&self, name: &str) -> String {
        self.path(name).to_str().unwrap().to_owned()
    }

    fn folder(&self, tool: &str, callers: &[&str], name: &str) -> Grant {
        Grant { paths: vec![self.shown(name)], ..grant(tool, callers) }
    }
}

async fn read(wire: &mut Wire, path: &str) -> Option<Value> {
    let answer = wire.call("files.read", json!({ "path": path })).await;
    (!answer.is_refusal("permission_denied")).then(|| answer.ok().clone())
}

#[tokio::test]
async fn a_folder_is_opened_for_one_tool_and_one_caller_and_closed_at_once() {
    let scene = Scene::new(&[]).await;
    let (mut api, file) = (scene.pi.on(Door::Api).await, scene.shown("notes/a.txt"));
    let answer = api.call("files.read", json!({ "path": file })).await;
    let refusal = answer.failed("permission_denied");
    assert!(gates(refusal).contains(&("list".to_owned(), true)), "{refusal:#}");
    let command = format!("`raspi-mcp allow files.read --path {}`", scene.shown("notes"));
    assert!(refusal["hint"].as_str().unwrap().contains(&command), "{refusal:#}");

    open(scene.folder("files.read", &["loopback"], "notes"), &scene.sources).unwrap();
    assert_eq!(api.call("files.read", json!({ "path": file })).await.ok()["content"], "hello");
    // Relative paths begin in the first root; a granted one is called by its path.
    let answer = api.call("files.read", json!({ "path": "a.txt", "root": scene.shown("notes") })).await;
    assert_eq!((&answer.ok()["content"], &answer.ok()["root"]), (&json!("hello"), &json!(scene.shown("notes"))));
    assert_eq!(api.call("files.read", json!({ "path": "a.txt" })).await.ok()["content"], "hello");
    // No other tool, no other caller, nothing beside it.
    fs::write(scene.path("b.txt"), "secret").unwrap();
    api.call("files.list", json!({ "path": scene.shown("notes") })).await.failed("permission_denied");
    let new = json!({ "path": scene.shown("notes/new"), "content": "x" });
    api.call("files.write", new.clone()).await.failed("permission_denied");
    for out in [scene.shown("b.txt"), scene.shown("notes2"), "/etc/hostname".to_owned()] {
        api.call("files.read", json!({ "path": out })).await.failed("permission_denied");
    }
    api.call("files.read", json!({ "path": scene.shown("notes/../b.txt") })).await.failed("invalid_argument");
    std::os::unix::fs::symlink("../b.txt", scene.path("notes/out")).unwrap();
    api.call("files.read", json!({ "path": scene.shown("notes/out") })).await.failed("permission_denied");
    let mut admin = scene.pi.stdio(Caller::new("token:desk", Role::Admin, Transport::Http));
    admin.call("files.read", json!({ "path": file })).await.failed("permission_denied");

    open(scene.folder("files.list", &["loopback"], "notes"), &scene.sources).unwrap();
    let listed = api.call("files.list", json!({})).await;
    let roots = &listed.ok()["roots"];
    assert_eq!(roots.as_array().unwrap().len(), 1, "{roots:#}");
    assert_eq!((&roots[0]["path"], &roots[0]["writable"]), (&json!(scene.shown("notes")), &json!(false)));

    close(scene.folder("files.read", &["loopback"], "notes"), &scene.sources).unwrap();
    assert_eq!(read(&mut api, &file).await, None);
    scene.pi.stop().await.unwrap();
}

#[tokio::test]
async fn a_grant_to_write_writes_below_its_folder_and_reads_nothing() {
    let scene = Scene::new(&[]).await;
    let mut api = scene.pi.on(Door::Api).await;
    let new = json!({ "path": scene.shown("notes/new"), "content": "x" });
    let answer = api.call("files.write", new.clone()).await;
    let hint = answer.failed("permission_denied")["hint"].as_str().unwrap().to_owned();
    let command = format!("files.write --path {} --for loopback", scene.shown("notes"));
    assert!(hint.contains(&command) && hint.contains("ReadWritePaths"), "{hint}");
    open(scene.folder("files.write", &["loopback"], "notes"), &scene.sources).unwrap();
    api.call("files.write", new).await.ok();
    assert_eq!(fs::read_to_string(scene.path("notes/new")).unwrap(), "x");
    api.call("files.read", json!({ "path": scene.shown("notes/new") })).await.failed("permission_denied");
    api.call("files.delete", json!({ "path": scene.shown("notes/new") })).await.failed("permission_denied");
    open(scene.folder("files.delete", &["loopback"], "notes"), &scene.sources).unwrap();
    api.call("files.delete", json!({ "path": scene.shown("notes"), "recursive": true }))
        .await
        .failed("permission_denied");
    api.call("files.delete", json!({ "path": scene.shown("notes/new") })).await.ok();
    scene.pi.stop().await.unwrap();
}

#[tokio::test]
async fn a_grant_adds_to_a_root_and_never_narrows_it() {
    let home = TempDir::new().unwrap();
    let real = home.path().canonicalize().unwrap();
    let (root, inner) = (real.join("data"), real.join("data/inner"));
    fs::create_dir_all(&inner).unwrap();
    // A root may be named by a link, a grant may not.
    std::os::unix::fs::symlink("data", real.join("by-link")).unwrap();
    let named = real.join("by-link");
    fs::write(root.join("outer.txt"), "outer").unwrap();
    std::os::unix::fs::symlink("../outer.txt", inner.join("link")).unwrap();
    let site = format!(
        "[tools]\nenable = [\"files\"]\n[access]\nloopback_role = \"ops_rw\"\n[[files.roots]]\nname = \"data\"\npath = {named:?}\n"
    );
    let scene = Scene::new(&[("10-site.toml", &site)]).await;
    let mut api = scene.pi.on(Door::Api).await;
    let inner = inner.to_str().unwrap();
    for tool in ["files.read", "files.write"] {
        open(Grant { paths: vec![inner.into()], ..grant(tool, &[]) }, &scene.sources).unwrap();
    }
    // The root is looked for first: a link to another place in it is followed still.
    assert_eq!(read(&mut api, &format!("{inner}/link")).await.unwrap()["root"], "data");
    for args in
        [json!({ "path": format!("{inner}/new"), "content": "x" }), json!({ "path": "inner/more", "content": "x" })]
    {
        assert_eq!(api.call("files.write", args).await.ok()["root"], inner);
    }
    let answer = api.call("files.write", json!({ "path": "outer.txt", "content": "x", "overwrite": true })).await;
    assert!(answer.failed("permission_denied")["message"].as_str().unwrap().contains("read-only"));
    scene.pi.stop().await.unwrap();
}

#[tokio::test]
async fn what_is_no_folder_of_its_own_is_never_granted() {
    let scene = Scene::new(&[]).await;
    std::os::unix::fs::symlink(scene.path("notes"), scene.path("link")).unwrap();
    let places = &scene.sources.places;
    fs::create_dir_all(&places.site_dir).unwrap();
    let site = places.site_dir.canonicalize().unwrap();
    for (path, says) in [
        ("/etc", "overlaps"),
        ("/etc/ssl", "overlaps"),
        ("/proc", "overlaps"),
        ("/dev/shm", "overlaps"),
        ("/", "overlaps"),
        (site.to_str().unwrap(), "overlaps"),
        (places.state_dir.to_str().unwrap(), "overlaps the state"),
        (&scene.shown("link"), "symbolic link"),
        (&scene.shown("notes/a.txt"), "is no folder"),
        (&scene.shown("notes/none"), "cannot be looked at"),
        (&scene.shown("notes/../notes"), "full path"),
        ("notes", "full path"),
        ("", "full path"),
    ] {
        let refused = open(Grant { paths: vec![path.into()], ..grant("files.read", &[]) }, &scene.sources).unwrap_err();
        let message = &refused.message;
        assert!(refused.code == ErrorCode::InvalidArgument && message.contains(says), "{path}: {message}");
    }
    assert_eq!(fs::read_dir(&site).unwrap().count(), 0, "nothing was written");
    scene.pi.stop().await.unwrap();
}

#[tokio::test]
async fn a_folder_that_becomes_a_link_is_not_entered() {
    let scene = Scene::new(&[]).await;
    let mut api = scene.pi.on(Door::Api).await;
    open(scene.folder("files.read", &[], "notes"), &scene.sources).unwrap();
    let file = scene.shown("notes/a.txt");
    assert!(read(&mut api, &file).await.is_some());
    fs::create_dir(scene.path("private")).unwrap();
    fs::write(scene.path("private/a.txt"), "secret").unwrap();
    fs::rename(scene.path("notes"), scene.path("old")).unwrap();
    std::os::unix::fs::symlink("private", scene.path("notes")).unwrap();
    let answer = api.call("files.read", json!({ "path": file })).await;
    assert!(answer.failed("unavailable")["message"].as_str().unwrap().contains("symbolic link"));
    // Nor does another change of the grants, which are all read again, follow it.
    open(grant("service.restart", &[]), &scene.sources).unwrap();
    api.call("files.read", json!({ "path": file })).await.failed("unavailable");
    scene.pi.stop().await.unwrap();
}

#[tokio::test]
async fn a_hint_names_no_folder_of_the_system_and_nothing_of_the_configuration() {
    let scene = Scene::new(&[]).await;
    let mut api = scene.pi.on(Door::Api).await;
    for path in ["/etc/shadow", "/vmlinuz", "a.txt", "/proc/1/environ"] {
        let answer = api.call("files.read", json!({ "path": path })).await;
        let refusal = answer.failed("permission_denied");
        assert!(!refusal["hint"].as_str().unwrap().contains("--path /"), "{refusal:#}");
    }
    let answer = api.call("files.read", json!({ "path": "/srv/it's; reboot/a" })).await;
    let hint = answer.failed("permission_denied")["hint"].as_str().unwrap().to_owned();
    assert!(hint.contains(r"--path '/srv/it'\''s; reboot'"), "{hint}");
    // A caller without the role is told the same, whether or not a root has the path.
    let told = |path: &'static str| json!({ "path": path, "content": "x" });
    let answer = api.call("files.write", told("/srv/notes/a")).await;
    let names = |refusal: &Value| -> Vec<String> { gates(refusal).into_iter().map(|(gate, _)| gate).collect() };
    let told = names(answer.failed("permission_denied"));
    assert_eq!(told, ["role", "namespace", "policy"]);
    // Nor where policy refused before the tool was asked.
    let site = &scene.sources.places.site_dir;
    fs::create_dir_all(site).unwrap();
    fs::write(site.join("20-policy.toml"), "[policy]\n\"files.read\" = \"deny\"\n").unwrap();
    open(grant("service.restart", &[]), &scene.sources).unwrap();
    let answer = api.call("files.read", json!({ "path": "/srv/notes/a" })).await;
    assert_eq!(names(answer.failed("permission_denied")), ["role", "namespace", "policy"]);
    scene.pi.stop().await.unwrap();
}
