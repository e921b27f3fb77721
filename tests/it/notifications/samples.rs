//! News from samples: a low supply and a worn card, each told once, over a restart too.

use super::receiver::{Receiver, webhook};
use crate::support::{
    pi::Pi,
    served::soon,
    trees::{Copied, machine},
};
use base::clock::Wall;
use contract::config::{Places, Settings};
use raspi_mcp::notifications::{NewsSources, Notifications};
use serde_json::{Value, json};
use std::fs;
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

const LIFE: &str = "sys/block/mmcblk0/device/life_time";
const THROTTLED: &str = "sys/devices/platform/soc/soc:firmware/get_throttled";

/// What sends news of this machine, with what it kept in `home`.
fn news(pi: &Pi, receiver: &Receiver, home: &TempDir) -> (Notifications, CancellationToken) {
    news_of(pi, receiver, home, json!(["under_voltage", "card_worn"]))
}

/// The same, of these events.
fn news_of(pi: &Pi, receiver: &Receiver, home: &TempDir, events: Value) -> (Notifications, CancellationToken) {
    let mut settings = Settings::default_for(&Places::below(home.path()));
    fs::create_dir_all(&settings.places.state_dir).unwrap();
    let more = json!({ "events": events });
    settings.notifications.webhooks.push(webhook(&receiver.url("/hook"), more));
    let (news, stop) =
        (Notifications::of(&settings, &pi.services.machine.root, Wall::system()), CancellationToken::new());
    let services = &pi.services;
    let sources = NewsSources {
        sampling: services.sampling.clone(),
        updates: services.updates.clone(),
        agent: services.agent.clone(),
        halt: services.halt.changes(),
    };
    news.begin(sources, &stop);
    (news, stop)
}

/// Begins a job, which takes its first sample at once.
async fn sample(pi: &Pi, job: &str) {
    let mut samples = pi.services.sampling.samples();
    let args = json!({"job_id": job, "interval_seconds": 3600, "metrics": ["under_voltage", "disk_used_percent"]});
    pi.call("metrics.start_sampling_job", args).await.ok();
    soon(samples.changed()).await.unwrap();
}

#[tokio::test]
async fn a_crossed_threshold_is_told_once() {
    let (tree, home, receiver) = (Copied::of("pi-5"), TempDir::new().unwrap(), Receiver::new().await);
    tree.write("proc/loadavg", "2.5 1 1 1/2 3\n");
    let pi = Pi::on(machine(tree.root()));
    let (_running, stop) = news_of(&pi, &receiver, &home, json!(["threshold_crossed"]));
    for (job, limit) in [("quiet", 3.0), ("busy", 2.0), ("again", 2.0)] {
        let mut samples = pi.services.sampling.samples();
        let threshold = json!({"metric": "load_average_1m", "when": "above", "limit": limit});
        let args =
            json!({"job_id": job, "interval_seconds": 3600, "metrics": ["load_average_1m"], "threshold": threshold});
        pi.call("metrics.start_sampling_job", args).await.ok();
        soon(samples.changed()).await.unwrap();
    }
    let requests = receiver.requests(2).await;
    let data =
        |job: &str| json!({"job_id": job, "metric": "load_average_1m", "when": "above", "limit": 2.0, "value": 2.5});
    let told: Vec<Value> = requests.iter().map(|request| request.json()["data"].clone()).collect();
    assert_eq!(told, [data("busy"), data("again")], "one for each job, and none of the quiet one");
    assert_eq!(requests[0].json()["event"], "threshold_crossed");
    stop.cancel();
}

/// What is kept, once it has both.
async fn kept(home: &TempDir) -> Value {
    let file = Places::below(home.path()).state_dir.join("notifications.json");
    soon(async {
        loop {
            let text = fs::read_to_string(&file).unwrap_or_default();
            if let Ok(kept) = serde_json::from_str::<Value>(&text)
                && !kept["supply"].is_null()
                && kept["cards"].get("mmcblk0").is_some()
            {
                return kept;
            }
            tokio::task::yield_now().await;
        }
    })
    .await
}

#[tokio::test]
async fn a_low_supply_and_a_worn_card_are_told_once_and_a_worse_card_again() {
    let (tree, home, receiver) = (Copied::of("pi-4b"), TempDir::new().unwrap(), Receiver::new().await);
    tree.write(LIFE, "0x09 0x01\n").write(THROTTLED, "50005\n");
    let pi = Pi::on(machine(tree.root()));
    let (running, stop) = news(&pi, &receiver, &home);
    sample(&pi, "one").await;
    let requests = receiver.requests(2).await;
    let told: Vec<Value> = requests.iter().map(|request| request.json()["data"].clone()).collect();
    let life = json!({"device": "mmcblk0", "life_used_percent": 90, "spare_blocks": null});
    assert_eq!(told, [json!({"times": 1}), life]);
    kept(&home).await;
    stop.cancel();
    drop(running);

    // The next server finds the same, and a card that is worse.
    tree.write(LIFE, "0x0b 0x01\n");
    let (running, stop) = news(&pi, &receiver, &home);
    sample(&pi, "two").await;
    let requests = receiver.requests(3).await;
    assert_eq!(requests.len(), 3, "{requests:#?}");
    assert_eq!(requests[2].json()["data"]["life_used_percent"], 110);
    assert_eq!(running.reports()[0].failed, 0);
    stop.cancel();
}

#[tokio::test]
async fn samples_are_handed_on_only_while_somebody_listens() {
    let tree = Copied::of("pi-4b");
    let pi = Pi::on(machine(tree.root()));
    assert!(pi.services.sampling.samples().borrow().is_none());
    let args = json!({"job_id": "one", "interval_seconds": 3600, "metrics": ["disk_used_percent"]});
    pi.call("metrics.start_sampling_job", args).await.ok();
    pi.services.sampling.round(&pi.services.machine).await;
    assert!(pi.services.sampling.samples().borrow().is_none(), "nobody listened then");
}
