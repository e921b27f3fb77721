//! A release that does not know a setting of this machine is refused before its image is fetched.

use super::{
    stalled::noise,
    web::{Web, admin, slot, until},
};
use crate::{
    support::served::Pi,
    update::origin::{Authority, Origin},
};
use contract::config::{Places, SettingSources, Sources};
use serde_json::{Value, json};
use std::{fs, path::Path};
use tempfile::TempDir;
use update::bundle::{BundleContent, Renamed};

/// The part of a bundle that is read at once; the head is in it.
const FIRST: usize = 4096;

/// A device whose owner has made settings in files, and a publisher in the network.
struct Owned {
    pi: Pi,
    origin: Origin,
    dir: TempDir,
    _authority: Authority,
    web: Web,
}

impl Owned {
    /// At whose publisher 2.0.0 is, which says that of itself.
    async fn offered(says: impl FnOnce(&mut BundleContent)) -> Self {
        let (mut web, authority, dir) = (Web::new(), Authority::new(), TempDir::new().unwrap());
        web.release_that("2.0.0", 20, &noise(), says);
        let origin = authority.origin().await;
        origin.put_folder(web.folder.path());
        let places = Places::below(dir.path());
        write(&places.image_dir.join("10-image.toml"), "[audit]\nmax_bytes = 2000000\n");
        write(&places.state_dir.join("conf.d/50-server.toml"), "[log]\nlevel = \"warn\"\n");
        let sources = Sources::new(places, vec![("system.reboot", contract::meta::Mode::Ask)]);
        let pi = web
            .pi(|settings| {
                settings.update.url = origin.url("");
                settings.update.ca_file = authority.file().display().to_string();
                settings.sources = SettingSources::of(&sources);
            })
            .await;
        Self { pi, origin, dir, _authority: authority, web }
    }

    /// What the owner wrote after the server's start.
    fn site(&self, text: &str) {
        write(&self.dir.path().join("etc/raspi-mcp/10-site.toml"), text);
    }

    /// The size of the bundle.
    fn bundle(&self) -> usize {
        fs::read(self.web.folder.path().join("2.0.0.bundle")).unwrap().len()
    }

    /// The last byte of the bundle that was asked for.
    fn asked(&self) -> usize {
        let asked = self.origin.log().into_iter().filter(|request| request.path == "/2.0.0.bundle");
        asked.map(|request| request.range.expect("a range").1).max().expect("a head")
    }
}

fn write(file: &Path, text: &str) {
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(file, text).unwrap();
}

fn known(keys: &[&str]) -> impl FnOnce(&mut BundleContent) {
    let keys = keys.iter().map(|key| (*key).to_owned()).collect();
    move |plan| plan.config_keys = keys
}

#[tokio::test]
async fn a_release_that_does_not_know_a_setting_is_refused_before_its_image_is_fetched() {
    let owned = Owned::offered(known(&["policy", "log.level"])).await;
    owned.site("[http]\nmetrics = false\n\n[policy]\n\"system.reboot\" = \"deny\"\n");
    let mut wire = admin(&owned.pi).await;
    for (tool, arguments) in [("preview_os_updates", json!({})), ("update_server", json!({"dry_run": true}))] {
        let refused = wire.call(&format!("manage.{tool}"), arguments).await;
        let error = refused.failed("failed_precondition");
        let message = error["message"].as_str().unwrap();
        assert!(message.contains("version 2.0.0 does not know http.metrics, which"), "{message}");
        assert!(message.contains("10-site.toml:2"), "{message}");
        assert_eq!(error["details"]["settings"], json!(["http.metrics"]), "{error:#}");
    }
    // The job itself.
    let refused = wire.call("manage.update_server", json!({})).await;
    let error = refused.failed("failed_precondition");
    assert!(error["message"].as_str().unwrap().contains("does not know http.metrics"), "{error:#}");
    let status = until(&mut wire, "refused", |status| status["phase"] == "failed").await;
    assert_eq!(slot(&status, "B")["version"], json!(null), "the agent began an install: {status:#}");
    assert!(owned.bundle() > 2 * FIRST, "the image is small");
    assert!(owned.asked() < FIRST, "byte {} was asked for", owned.asked());

    // The files count as they are now.
    owned.site("[policy]\n\"system.reboot\" = \"deny\"\n");
    wire.call("manage.update_server", json!({})).await.ok();
    until(&mut wire, "armed or further", past_the_download).await;
    assert!(owned.asked() > FIRST, "nothing was fetched");
}

fn past_the_download(status: &Value) -> bool {
    assert_ne!(status["phase"], "failed", "{status:#}");
    matches!(status["phase"].as_str(), Some("armed" | "trial" | "committed"))
}

#[tokio::test]
async fn what_the_image_brings_and_a_release_that_says_nothing_hold_nothing_up() {
    for keys in [&["policy"][..], &[]] {
        let owned = Owned::offered(known(keys)).await;
        let mut wire = admin(&owned.pi).await;
        if keys.is_empty() {
            owned.site("[http]\nmetrics = false\n");
        }
        wire.call("manage.preview_os_updates", json!({})).await.ok();
    }
    // What cannot be read is no reason either.
    let owned = Owned::offered(known(&["policy"])).await;
    owned.site("reeds = 1\n");
    admin(&owned.pi).await.call("manage.preview_os_updates", json!({})).await.ok();
}

#[tokio::test]
async fn a_release_that_says_what_became_of_a_setting_explains_its_refusal() {
    let owned = Owned::offered(|plan| {
        plan.changes.settings.renames = vec![Renamed { from: "http.metrics".into(), to: "http.meters".into() }];
    })
    .await;
    owned.site("[http]\nmetrics = false\n");
    let refused = admin(&owned.pi).await.call("manage.preview_os_updates", json!({})).await;
    let error = refused.failed("failed_precondition");
    let hint = error["hint"].as_str().unwrap();
    assert!(hint.contains("http.metrics is called http.meters from version 2.0.0 on"), "{error:#}");
}
