//! News of one service: from systemd, at once, and only while somebody listens.

use crate::support::{
    pi::Pi,
    private_bus::{FakeSystemd, FakeUnit, PrivateBus},
    served::soon,
    trees::{machine, tree},
};
use contract::{
    access::caller::{Caller, Transport},
    meta::Role,
};
use futures::future::BoxFuture;
use raspi_mcp::{
    log::LinesSince,
    resources::{ResourceAddress, notifier, subscription::Ear, subscriptions::Subscriptions},
};
use std::sync::Arc;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio_util::sync::CancellationToken;

/// Passes on what it hears.
struct Heard(UnboundedSender<String>);

impl Ear for Heard {
    fn updated<'a>(&'a self, uri: &'a str) -> BoxFuture<'a, ()> {
        self.0.send(uri.to_owned()).unwrap();
        Box::pin(std::future::ready(()))
    }
    fn log(&self, _lines: LinesSince) -> BoxFuture<'_, ()> {
        Box::pin(std::future::ready(()))
    }
}

struct Scene {
    pi: Pi,
    systemd: FakeSystemd,
    subscriptions: Arc<Subscriptions>,
    ear: Arc<Heard>,
    news: UnboundedReceiver<String>,
    _bus: PrivateBus,
}

impl Scene {
    async fn new() -> Self {
        let bus = PrivateBus::start();
        let systemd = FakeSystemd::on(&bus).await;
        systemd.put("web.service", FakeUnit::active("Web"));
        systemd.put("db.service", FakeUnit::active("Database"));
        systemd.alias("www.service", "web.service");
        let (sender, news) = unbounded_channel();
        let pi = Pi::on_bus(machine(tree("pi-4b")), bus.bus());
        Self { pi, systemd, subscriptions: Arc::default(), ear: Arc::new(Heard(sender)), news, _bus: bus }
    }

    /// Returns once systemd has been asked for news.
    async fn subscribe(&self, conversation: u64, uri: &str) {
        let caller = Arc::new(Caller::new("test", Role::ReadOnly, Transport::Stdio));
        let (address, log) = (ResourceAddress::parse(uri).unwrap(), &self.pi.services.log);
        self.systemd.calls();
        if self.subscriptions.subscribe(conversation, &caller, uri, address, log, Arc::clone(&self.ear) as _).unwrap() {
            let run =
                notifier::run(Arc::clone(&self.pi.services), Arc::clone(&self.subscriptions), CancellationToken::new());
            tokio::spawn(run);
        }
        soon(async {
            while !self.systemd.calls().contains(&"Subscribe".to_owned()) {
                tokio::task::yield_now().await;
            }
        })
        .await;
    }
}

#[tokio::test]
async fn a_change_of_the_service_is_news_to_its_subscribers_alone() {
    let mut scene = Scene::new().await;
    scene.subscribe(1, "raspi://service/web").await;
    scene.subscribe(2, "raspi://service/db.service").await;
    scene.systemd.unit_changed("web.service").await;
    assert_eq!(soon(scene.news.recv()).await.unwrap(), "raspi://service/web");
    scene.systemd.unit_changed("db.service").await;
    assert_eq!(soon(scene.news.recv()).await.unwrap(), "raspi://service/db.service");
    // Nobody listens to web any more: its next change is not heard, the one of db after it is.
    scene.subscriptions.forget(1);
    scene.systemd.unit_changed("web.service").await;
    scene.systemd.unit_changed("db.service").await;
    assert_eq!(soon(scene.news.recv()).await.unwrap(), "raspi://service/db.service");
    assert!(scene.news.try_recv().is_err());
}

#[tokio::test]
async fn a_change_is_heard_by_its_alias_too() {
    let mut scene = Scene::new().await;
    scene.subscribe(1, "raspi://service/www").await;
    scene.systemd.unit_changed("web.service").await;
    assert_eq!(soon(scene.news.recv()).await.unwrap(), "raspi://service/www");
}
