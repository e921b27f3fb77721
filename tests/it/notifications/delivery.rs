//! Refusals, failures and redirects, over the network; the pauses between attempts are tested in `src/notifications/worker.rs`.

use super::receiver::{Receiver, answers, deserted, webhook};
use appliance::certificate::Fingerprint;
use base::{clock::Wall, os::Root};
use contract::{
    access::caller::{Caller, Transport},
    config::{Places, Settings},
    meta::Role,
};
use raspi_mcp::notifications::{
    Event, MOST_AN_HOUR, Notifications, WebhookReport,
    message::Message,
    post::{Outcome, Post},
};
use serde_json::{Value, json};
use std::{fs, time::Duration};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

/// A running sender, without a server around it.
struct News {
    news: Notifications,
    stop: CancellationToken,
    _home: TempDir,
}

impl News {
    async fn to(url: &str) -> Self {
        let home = TempDir::new().unwrap();
        let mut settings = Settings::default_for(&Places::below(home.path()));
        settings.notifications.webhooks.push(webhook(url, json!({"events": ["ask_opened"]})));
        let news = Notifications::of(&settings, &Root::system(), Wall::system());
        let stop = CancellationToken::new();
        let pi = crate::support::pi::Pi::like("pi-4b");
        let services = &pi.services;
        let sources = raspi_mcp::notifications::NewsSources {
            sampling: services.sampling.clone(),
            updates: services.updates.clone(),
            agent: services.agent.clone(),
            halt: services.halt.changes(),
        };
        news.begin(sources, &stop);
        Self { news, stop, _home: home }
    }

    fn ask(&self, id: &str) {
        // An admin's, who may take all of an hour's.
        let caller = Caller::new("uid:0", Role::Admin, Transport::Unix);
        self.news.ask_opened("system.reboot", id, Wall::system().now_ms() + 300_000, &caller);
    }

    /// The report, once it is as `is` says.
    async fn until(&self, is: impl Fn(&WebhookReport) -> bool) -> WebhookReport {
        crate::support::served::soon(async {
            loop {
                let report = self.news.reports().remove(0);
                if is(&report) {
                    return report;
                }
                tokio::task::yield_now().await;
            }
        })
        .await
    }
}

impl Drop for News {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

fn ids(requests: &[super::receiver::Request]) -> Vec<Value> {
    requests.iter().map(|request| request.json()["data"]["ask_id"].clone()).collect()
}

#[tokio::test]
async fn what_fails_is_sent_again_with_the_same_id() {
    let receiver = Receiver::answering(|number| (if number == 0 { 500 } else { 204 }, String::new())).await;
    let news = News::to(&receiver.url("/hook")).await;
    news.ask("AAA111");
    let requests = receiver.requests(2).await;
    assert_eq!(requests[0].json()["id"], requests[1].json()["id"]);
    let report = news.until(|report| report.sent == 1).await;
    assert_eq!((report.failed, report.waiting, report.failing_since), (0, 0, None));
}

#[tokio::test]
async fn what_is_not_there_is_tried_again_until_it_is() {
    let address = deserted().await;
    assert!(!answers(address).await);
    let news = News::to(&format!("http://{address}/hook")).await;
    news.ask("AAA111");
    let report = news.until(|report| report.failing_since.is_some()).await;
    assert!(report.last_error.unwrap().to_lowercase().contains("refused"));
    assert_eq!((report.sent, report.waiting), (0, 1));
    let receiver = Receiver::at(address).await;
    // News wakes it; what waited comes first.
    news.ask("BBB222");
    assert_eq!(ids(&receiver.requests(2).await), ["AAA111", "BBB222"]);
    let report = news.until(|report| report.sent == 2).await;
    assert_eq!((report.last_error, report.failing_since), (None, None));
}

#[tokio::test]
async fn a_redirect_is_never_followed_and_a_refusal_is_final() {
    let elsewhere = Receiver::new().await;
    let to = elsewhere.url("/stolen");
    for status in [301, 302, 303, 307, 308, 400, 403, 404] {
        let location = format!("location: {to}\r\n");
        let receiver = Receiver::answering(move |_| (status, location.clone())).await;
        let news = News::to(&receiver.url("/hook")).await;
        news.ask("AAA111");
        let report = news.until(|report| report.failed == 1).await;
        assert!(report.last_error.unwrap().contains(&status.to_string()));
        assert_eq!((report.waiting, receiver.so_far().len()), (0, 1), "{status}");
    }
    assert!(elsewhere.so_far().is_empty());
}

#[tokio::test]
async fn a_caller_who_asks_without_end_fills_no_phone_and_the_loss_is_told() {
    let receiver = Receiver::new().await;
    let news = News::to(&receiver.url("/hook")).await;
    for number in 0..MOST_AN_HOUR + 5 {
        news.ask(&number.to_string());
    }
    let report = news.until(|report| report.sent == MOST_AN_HOUR as u64).await;
    assert_eq!((report.dropped, report.waiting), (5, 0));
    let requests = receiver.requests(MOST_AN_HOUR).await;
    assert_eq!(requests.len(), MOST_AN_HOUR);
    let lost: u64 = requests.iter().map(|request| request.json()["dropped"].as_u64().unwrap()).sum();
    assert_eq!(lost, 5);
}

#[tokio::test(start_paused = true)]
async fn who_does_not_answer_is_left_after_ten_seconds() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/hook", listener.local_addr().unwrap());
    let message = Message::new(Event::Test, 0, None).unwrap();
    let begun = tokio::time::Instant::now();
    let outcome = Post::to(&webhook(&url, json!({})), "", &Root::system()).send(&message, 0, 0).await;
    assert_eq!(outcome, Outcome::Later("no answer within 10 s".into()));
    assert!((Duration::from_secs(10)..Duration::from_secs(11)).contains(&begun.elapsed()));
}

#[tokio::test]
async fn the_certificate_is_the_pinned_one_or_of_the_named_authority() {
    let (receiver, folder) = (Receiver::secure().await, TempDir::new().unwrap());
    let (pem, der) = receiver.certificate.clone().unwrap();
    let other = Receiver::secure().await.certificate.unwrap();
    let file = |name: &str, text: &str| {
        fs::write(folder.path().join(name), text).unwrap();
        folder.path().join(name).display().to_string()
    };
    let send = async |more: Value| {
        let message = Message::new(Event::Test, 0, None).unwrap();
        Post::to(&webhook(&receiver.url("/hook"), more), "", &Root::system()).send(&message, 0, 0).await
    };
    assert_eq!(send(json!({"pin": Fingerprint::of(&der).to_string()})).await, Outcome::Taken(200));
    assert_eq!(send(json!({"ca_file": file("ca.pem", &pem)})).await, Outcome::Taken(200));
    assert_eq!(receiver.requests(2).await.len(), 2);
    for more in [
        json!({"pin": Fingerprint::of(&other.1).to_string()}),
        json!({"ca_file": file("other.pem", &other.0)}),
        json!({"ca_file": file("none.pem", "")}),
        json!({"ca_file": "/nowhere.pem"}),
    ] {
        assert!(matches!(send(more.clone()).await, Outcome::Later(_)), "{more}");
    }
    assert_eq!(receiver.so_far().len(), 2);
}
