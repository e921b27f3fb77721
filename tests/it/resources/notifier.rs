//! Looking at the machine: only while somebody listens, and only what moved is news.

use crate::support::{pi::Pi, trees::Copied};
use contract::{
    access::caller::{Caller, Transport},
    meta::Role,
};
use futures::future::BoxFuture;
use raspi_mcp::{
    log::LinesSince,
    resources::{
        ResourceAddress, notifier,
        subscription::{Ear, RecordedCall},
        subscriptions::Subscriptions,
    },
};
use std::{
    sync::{Arc, Mutex},
    time::Duration,
};
use tokio::{task::JoinHandle, time::Instant};
use tokio_util::sync::CancellationToken;

/// Keeps what it hears, and when.
#[derive(Default)]
struct Heard(Mutex<Vec<(String, Instant)>>);

impl Ear for Heard {
    fn updated<'a>(&'a self, uri: &'a str) -> BoxFuture<'a, ()> {
        self.0.lock().unwrap().push((uri.to_owned(), Instant::now()));
        Box::pin(std::future::ready(()))
    }
    fn log(&self, _lines: LinesSince) -> BoxFuture<'_, ()> {
        Box::pin(std::future::ready(()))
    }
}

struct Scene {
    pi: Pi,
    tree: Copied,
    subscriptions: Arc<Subscriptions>,
    heard: Arc<Heard>,
    started: Instant,
}

impl Scene {
    fn new() -> Self {
        let tree = Copied::of("pi-4b");
        let pi = Pi::on(crate::support::trees::machine(tree.root()));
        Self { pi, tree, subscriptions: Arc::default(), heard: Arc::default(), started: Instant::now() }
    }

    fn recorded(&self, principal: &str, tool: &str) {
        self.subscriptions.recorded(&RecordedCall { principal, tool, outcome: "ok", changed: false });
    }

    fn subscribe(&self, conversation: u64, uri: &str) -> Option<JoinHandle<()>> {
        let caller = Arc::new(Caller::new("test", Role::ReadOnly, Transport::Stdio));
        let (address, log) = (ResourceAddress::parse(uri).unwrap(), &self.pi.services.log);
        let start = self
            .subscriptions
            .subscribe(conversation, &caller, uri, address, log, Arc::clone(&self.heard) as _)
            .unwrap();
        start.then(|| {
            let run =
                notifier::run(Arc::clone(&self.pi.services), Arc::clone(&self.subscriptions), CancellationToken::new());
            tokio::spawn(run)
        })
    }

    fn heat(&self, millidegrees: u32) {
        self.tree.write("sys/class/thermal/thermal_zone0/temp", format!("{millidegrees}\n"));
    }

    /// What was heard by now, with the seconds since the start.
    fn heard(&self) -> Vec<(String, f64)> {
        let heard = self.heard.0.lock().unwrap();
        heard.iter().map(|(uri, at)| (uri.clone(), (*at - self.started).as_secs_f64())).collect()
    }
}

// Time is moved by hand: tokio advances it when everything waits.
#[tokio::test(start_paused = true)]
async fn health_that_moves_is_news_within_the_interval_and_noise_is_none() {
    let scene = Scene::new();
    scene.heat(50_000);
    let notifier = scene.subscribe(1, "raspi://health").expect("the first subscriber needs a notifier");
    tokio::time::sleep(notifier::EVERY * 3).await;
    assert_eq!(scene.heard(), [], "nothing moved");
    scene.heat(51_900);
    tokio::time::sleep(notifier::EVERY * 2).await;
    assert_eq!(scene.heard(), [], "that was noise");
    let moved = scene.started.elapsed().as_secs_f64();
    scene.heat(52_100);
    tokio::time::sleep(notifier::EVERY * 3).await;
    let heard = scene.heard();
    assert_eq!(heard.len(), 1, "{heard:?}");
    assert!(heard[0].0 == "raspi://health" && heard[0].1 - moved <= notifier::EVERY.as_secs_f64() + 1.0, "{heard:?}");
    // Slow drift adds up: what counts is the difference to what was last told.
    for step in 1..=3 {
        scene.heat(52_100 + step * 900);
        tokio::time::sleep(notifier::EVERY + Duration::from_secs(1)).await;
    }
    assert_eq!(scene.heard().len(), 2);
    scene.subscriptions.forget(1);
    tokio::time::timeout(Duration::from_secs(5), notifier)
        .await
        .expect("nobody listens, so the notifier goes")
        .unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_device_that_comes_changes_the_capabilities() {
    let scene = Scene::new();
    let notifier = scene.subscribe(1, "raspi://capabilities").unwrap();
    assert!(scene.subscribe(2, "raspi://health").is_none(), "one notifier is enough");
    tokio::time::sleep(notifier::EVERY * 2).await;
    assert_eq!(scene.heard(), []);
    scene.tree.write("dev/i2c-77", "");
    tokio::time::sleep(notifier::EVERY * 2).await;
    let heard = scene.heard();
    assert_eq!(heard.iter().map(|(uri, _)| uri.as_str()).collect::<Vec<_>>(), ["raspi://capabilities"]);
    scene.subscriptions.forget(1);
    scene.subscriptions.forget(2);
    tokio::time::timeout(Duration::from_secs(5), notifier).await.unwrap().unwrap();
    assert!(scene.subscribe(3, "raspi://health").is_some(), "the next one needs another");
}

#[tokio::test(start_paused = true)]
async fn who_listens_to_the_audit_alone_is_no_reason_to_look_at_the_machine() {
    let scene = Scene::new();
    let _notifier = scene.subscribe(1, "raspi://audit").unwrap();
    tokio::time::sleep(Duration::from_secs(1)).await;
    // The machine is gone: a look would fail, and be news to nobody; but time stands still unless something sleeps.
    assert_eq!(scene.subscriptions.needs(|_, _| true), Default::default());
    scene.recorded("test", "system.get_clock");
    scene.recorded("somebody", "system.get_clock");
    scene.recorded("test", "logs.get_recent_audit_logs");
    tokio::time::sleep(Duration::from_secs(3)).await;
    scene.recorded("somebody", "system.get_clock");
    tokio::time::sleep(Duration::from_secs(3)).await;
    assert_eq!(scene.heard().len(), 1, "{:?}", scene.heard());
}
