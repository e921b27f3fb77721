//! A download that does not come on: who waits for it is answered, who cancels it ends it, and what came by then is kept.

use super::web::{Web, admin, slot, until};
use crate::{
    support::served::{Door, Pi, Wire},
    update::{
        envelope,
        origin::{Authority, Conduct, Origin, Request},
    },
    updating::Standstill,
};
use contract::meta::Mode;
use serde_json::{Value, json};
use std::{sync::Arc, time::Duration};
use tokio::{
    sync::Notify,
    time::{Instant, advance, pause, resume},
};
use update::{
    job::{JobRecord, JobState, Jobs},
    status::Phase,
};

/// Text that does not become much smaller: some blocks of it have to be fetched.
pub(super) fn noise() -> String {
    let mut state = 1_u64;
    let step = |_| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        char::from(b' ' + u8::try_from(state >> 58).unwrap())
    };
    (0..64 << 10).map(step).collect()
}

/// A server, and its publisher's in the network: 1.1.0 is there.
struct Far {
    pi: Pi,
    origin: Origin,
    /// Where the blocks of the bundle begin, and its end.
    blocks: (usize, usize),
    _authority: Authority,
    _web: Web,
}

impl Far {
    async fn new() -> Self {
        let (mut web, authority) = (Web::new(), Authority::new());
        web.release("1.1.0", 11, &noise());
        let origin = authority.origin().await;
        origin.put_folder(web.folder.path());
        let bundle = std::fs::read(web.folder.path().join("1.1.0.bundle")).unwrap();
        let blocks = (envelope(&bundle).blocks_at as usize, bundle.len());
        let pi = web
            .pi(|settings| {
                settings.update.url = origin.url("");
                settings.update.ca_file = authority.file().display().to_string();
                settings.tools.enable.insert("system".into());
                settings.policy.insert("system.reboot".into(), Mode::Allow);
            })
            .await;
        Self { pi, origin, blocks, _authority: authority, _web: web }
    }

    /// From now on the blocks come until some of them are here, and then no more. Tells when that is so.
    fn stalls(&self) -> Arc<Notify> {
        let (told, from, mut cut) = (Arc::new(Notify::new()), self.blocks.0, false);
        let tells = Arc::clone(&told);
        self.origin.treat(move |request| match (of_blocks(request, from), cut) {
            (false, _) => Conduct::Honest,
            (true, false) => {
                cut = true;
                Conduct::CutAt(20_000)
            }
            (true, true) => {
                tells.notify_one();
                Conduct::Silent
            }
        });
        told
    }

    /// Bytes of blocks that were asked for, as far as the answers went.
    fn asked(&self) -> usize {
        let log = self.origin.log();
        let blocks = log.iter().filter(|request| of_blocks(request, self.blocks.0));
        blocks.filter_map(|request| request.range).map(|(first, last)| last + 1 - first).sum()
    }

    fn jobs(&self) -> Jobs {
        self.pi.server().pipeline.services.updates.jobs().clone()
    }

    /// Waits until the job is as `is` says.
    async fn job(&self, is: impl Fn(&JobRecord) -> bool) -> JobRecord {
        let (jobs, mut changes) = (self.jobs(), self.jobs().changes());
        let found = async {
            loop {
                if let Some(kept) = jobs.newest().filter(&is) {
                    return kept;
                }
                changes.changed().await.unwrap();
            }
        };
        tokio::time::timeout(Duration::from_secs(60), found).await.expect("a job like that")
    }
}

fn of_blocks(request: &Request, from: usize) -> bool {
    request.path.ends_with(".bundle") && request.range.is_some_and(|(first, _)| first >= from)
}

async fn begin(wire: &mut Wire) -> String {
    let begun = wire.task_request("tools/call", json!({"name": "manage.update_server", "arguments": {}})).await;
    assert_eq!(begun.result()["resultType"], "task", "{begun:?}");
    begun.result()["taskId"].as_str().unwrap().to_owned()
}

/// The task, once it does not work any more.
async fn ended(wire: &mut Wire, task: &str) -> Value {
    let started = Instant::now();
    loop {
        let answer = wire.task_request("tasks/get", json!({"taskId": task})).await;
        if answer.result()["status"] != "working" {
            return answer.result().clone();
        }
        assert!(started.elapsed() < Duration::from_secs(60), "{answer:?}");
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_cancelled_task_ends_the_update_and_the_next_one_goes_on_from_there() {
    let far = Far::new().await;
    let stalled = far.stalls();
    let mut wire = far.pi.on(Door::Unix).await;
    let task = begin(&mut wire).await;
    far.job(|kept| kept.phase == Phase::Fetching && kept.percent > 10.0).await;
    stalled.notified().await;
    wire.task_request("tasks/cancel", json!({"taskId": task})).await.result();
    let done = ended(&mut wire, &task).await;
    assert_eq!(done["status"], "cancelled", "{done}");
    // By then nothing of it runs any more, and its record says why.
    assert!(!far.jobs().runs());
    let job = far.jobs().newest().unwrap();
    assert_eq!((job.state, job.error_code.as_deref()), (JobState::Failed, Some("cancelled")), "{job:?}");
    let mut wire = admin(&far.pi).await;
    let status = wire.call("manage.get_update_status", json!({})).await.ok().clone();
    assert_eq!((&status["status"]["status"], &status["job"]["running"]), (&json!("failed"), &json!(false)));
    assert!(status["status"]["message"].as_str().unwrap().contains("cancelled"), "{status:#}");

    // The machine is what it was, and stays so over a restart.
    let mut starts = far.pi.server().pipeline.services.agent.starts().unwrap();
    starts.mark_unchanged();
    wire.call("system.reboot", json!({"delay_seconds": 1})).await.ok();
    starts.changed().await.unwrap();
    let status = wire.call("manage.get_update_status", json!({})).await.ok().clone();
    let a = slot(&status, "A");
    assert_eq!((&a["state"], &a["running"], &a["next"]), (&json!("good"), &json!(true), &json!(true)), "{status:#}");
    assert_ne!(slot(&status, "B")["state"], "armed");

    far.origin.treat(|_| Conduct::Honest);
    far.origin.take_sent();
    let mut tasks = far.pi.on(Door::Unix).await;
    let task = begin(&mut tasks).await;
    let done = ended(&mut tasks, &task).await;
    assert_eq!((&done["status"], &done["result"]["isError"]), (&json!("completed"), &json!(false)), "{done}");
    let (from, to) = far.blocks;
    let asked = far.asked();
    assert!(asked > 0 && asked + 4096 < to - from, "{asked} of {} bytes once more", to - from);
    until(&mut wire, "committed", |status| status["phase"] == "committed").await;
}

#[tokio::test]
async fn a_task_that_is_cancelled_too_late_ends_as_the_update_does() {
    let far = Far::new().await;
    // Once blocks come, the channel falls silent: what works is looked at once more before the restart, which takes a while then.
    let (from, mut quiet) = (far.blocks.0, false);
    far.origin.treat(move |request| {
        quiet |= of_blocks(request, from);
        if quiet && request.path.ends_with("index.signed") { Conduct::Silent } else { Conduct::Honest }
    });
    let mut wire = far.pi.on(Door::Unix).await;
    let task = begin(&mut wire).await;
    far.job(|kept| kept.phase == Phase::Armed).await;
    wire.task_request("tasks/cancel", json!({"taskId": task})).await.result();
    let answer = wire.task_request("tasks/get", json!({"taskId": task})).await;
    assert_eq!(answer.result()["status"], "working", "it is armed, and that goes on: {answer:?}");
    // Nothing but waits is left of it.
    pause();
    far.jobs().settled().await;
    resume();
    let done = ended(&mut wire, &task).await;
    assert_eq!((&done["status"], &done["result"]["isError"]), (&json!("completed"), &json!(false)), "{done}");
}

#[tokio::test]
async fn a_call_that_hears_of_no_progress_is_answered_before_its_client_gives_up() {
    let far = Far::new().await;
    let stalled = far.stalls();
    let mut wire = admin(&far.pi).await;
    let asked = Instant::now();
    let id = wire.ask("tools/call", json!({"name": "manage.update_server", "arguments": {}}));
    stalled.notified().await;
    pause();
    let still = Standstill::begin();
    advance(Duration::from_secs(20)).await;
    drop(still);
    resume();
    let answer = wire.answer_to(id).await;
    // Proxies give up after 30 s, clients after 60 s.
    assert!(asked.elapsed() < Duration::from_secs(28), "{:?}", asked.elapsed());
    let begun = answer.ok();
    let job = far.jobs().newest().unwrap();
    assert_eq!((&begun["job_id"], &begun["status"]["status"]), (&json!(job.order.id), &json!("running")), "{begun}");
    assert!(begun["status"]["progress_percent"].as_f64().is_some_and(|percent| percent > 0.0), "{begun}");
    assert_eq!((&begun["new_version"], far.jobs().runs()), (&json!("1.1.0"), true), "and it goes on");
    let ended = wire.call("manage.rollback", json!({})).await;
    assert_eq!((&ended.ok()["cancelled_update"], far.jobs().runs()), (&json!(true), false));
}

#[tokio::test]
async fn a_client_that_hangs_up_ends_nothing() {
    let far = Far::new().await;
    let stalled = far.stalls();
    let mut wire = admin(&far.pi).await;
    let params = json!({"name": "manage.update_server", "arguments": {}, "_meta": {"progressToken": 7}});
    let id = wire.ask("tools/call", params);
    stalled.notified().await;
    wire.notify("notifications/cancelled", json!({"requestId": id, "reason": "patience"}));
    drop(wire);
    far.pi.audited(|record| record["tool"] == "manage.update_server" && record["outcome"] == "cancelled").await;
    assert!(far.jobs().runs());
    far.jobs().cancel();
    far.jobs().settled().await;
}
