//! The server's jobs: one at a time, told, kept, cancelled, resumed.

use ::update::{
    bundle::Digest,
    job::{
        FoundRelease, JobRecord, JobState, Jobs, MOST_RESUMES, MOST_RESUMES_IN_ALL, Tell, UpdateEngine, UpdateOrder,
        WantedRelease,
    },
    status::Phase,
};
use base::{
    clock::Wall,
    error::{ErrorCode, ToolError},
};
use futures::future::BoxFuture;
use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
};
use tempfile::TempDir;
use tokio::sync::Notify;

/// Goes step by step, when a test lets it.
#[derive(Default)]
struct Stepwise {
    go: Notify,
    runs: AtomicU32,
    fails: Option<ToolError>,
}

impl UpdateEngine for Stepwise {
    fn run<'a>(&'a self, _: &'a UpdateOrder, tell: &'a Tell) -> BoxFuture<'a, Result<String, ToolError>> {
        Box::pin(async move {
            self.runs.fetch_add(1, Ordering::SeqCst);
            self.go.notified().await;
            tell.release(FoundRelease { version: "1.2.0".into(), counter: 7, manifest: Digest::of(b"m") }).await;
            tell.step(Phase::Fetching, 0, 100, "fetching 100 B").await;
            self.go.notified().await;
            if let Some(error) = &self.fails {
                return Err(error.clone());
            }
            tell.step(Phase::Armed, 0, 0, "armed").await;
            Ok("restarts in 5 s".into())
        })
    }
}

fn order() -> UpdateOrder {
    UpdateOrder {
        id: "a1".into(),
        tool: "manage.update_server".into(),
        principal: "owner".into(),
        args_sha256: "00".repeat(32),
        ask_id: None,
        wanted: WantedRelease { channel: "stable".into(), version: None, manifest: None },
        old_version: Some("1.1.0".into()),
    }
}

fn jobs(folder: &TempDir) -> Jobs {
    jobs_in(folder, None)
}

/// The jobs of a server in that boot.
fn jobs_in(folder: &TempDir, boot: Option<&str>) -> Jobs {
    Jobs::open(&folder.path().join("update"), Wall::of(|| 1_000_000), boot.map(str::to_owned))
}

/// Waits until the newest job is as `is` says.
async fn until(jobs: &Jobs, is: impl Fn(&JobRecord) -> bool) -> JobRecord {
    let mut changes = jobs.changes();
    loop {
        if let Some(kept) = jobs.newest().filter(&is) {
            return kept;
        }
        changes.changed().await.unwrap();
    }
}

/// Waits until the file says so as well.
async fn kept_in(folder: &TempDir, words: &str) {
    let file = folder.path().join("update/job.json");
    while !std::fs::read_to_string(&file).is_ok_and(|text| text.contains(words)) {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_job_tells_how_far_it_is_and_how_it_ended() {
    let folder = TempDir::new().unwrap();
    let (jobs, engine) = (jobs(&folder), Arc::new(Stepwise::default()));
    assert_eq!(jobs.newest(), None);
    jobs.start(order(), engine.clone()).unwrap();
    assert_eq!(
        jobs.newest().map(|kept| (kept.state, kept.phase, kept.percent)),
        Some((JobState::Running, Phase::Checking, 0.0))
    );
    engine.go.notify_one();
    let kept = until(&jobs, |kept| kept.phase == Phase::Fetching).await;
    assert_eq!((kept.percent, kept.message.as_str()), (10.0, "fetching 100 B"));
    assert_eq!(kept.release.unwrap().version, "1.2.0");
    engine.go.notify_one();
    let kept = jobs.settled().await.unwrap();
    assert_eq!((kept.state, kept.percent, kept.message.as_str()), (JobState::Armed, 100.0, "restarts in 5 s"));
    assert_eq!((kept.started_ms, kept.finished_ms), (1_000_000, Some(1_000_000)));
    // Whoever opens the folder next knows it too, and has nothing to go on with.
    let next = self::jobs(&folder);
    assert_eq!(next.newest(), Some(kept));
    assert!(!next.resume(engine));
}

#[tokio::test]
async fn the_second_is_told_who_is_busy_and_since_when() {
    let folder = TempDir::new().unwrap();
    let (jobs, engine) = (jobs(&folder), Arc::new(Stepwise::default()));
    jobs.start(order(), engine.clone()).unwrap();
    let error = jobs.start(UpdateOrder { principal: "other".into(), ..order() }, engine.clone()).unwrap_err();
    assert_eq!(error.code, ErrorCode::Conflict);
    assert!(error.message.contains("owner") && error.message.contains("1970-01-01T00:16:40"), "{}", error.message);
    assert_eq!(error.details["principal"], "owner");
    assert!(jobs.cancel());
    assert_eq!(jobs.settled().await.unwrap().error_code.as_deref(), Some("cancelled"));
    // Its place is free again.
    jobs.start(UpdateOrder { principal: "other".into(), ..order() }, engine).unwrap();
    assert_eq!(jobs.newest().unwrap().order.principal, "other");
}

#[tokio::test]
async fn a_failure_keeps_its_reason_and_what_to_do() {
    let folder = TempDir::new().unwrap();
    let error = ToolError::unavailable("the channel does not answer").hint("look at the network");
    let engine = Arc::new(Stepwise { fails: Some(error), ..Stepwise::default() });
    let jobs = jobs(&folder);
    jobs.start(order(), engine.clone()).unwrap();
    engine.go.notify_one();
    until(&jobs, |kept| kept.phase == Phase::Fetching).await;
    engine.go.notify_one();
    let kept = jobs.settled().await.unwrap();
    assert_eq!((kept.state, kept.error_code.as_deref()), (JobState::Failed, Some("unavailable")));
    assert!(kept.message.contains("does not answer") && kept.description().contains("look at the network"));
}

#[tokio::test]
async fn a_server_that_ended_goes_on_but_not_for_ever() {
    let folder = TempDir::new().unwrap();
    let engine = Arc::new(Stepwise::default());
    {
        let jobs = jobs(&folder);
        jobs.start(order(), engine.clone()).unwrap();
        engine.go.notify_one();
        until(&jobs, |kept| kept.phase == Phase::Fetching).await;
        kept_in(&folder, "fetching").await;
    }
    // The task of that server is still there, in this test; its file says what a new one finds.
    for taken_up in 1..=MOST_RESUMES {
        let next = jobs(&folder);
        let again = Arc::new(Stepwise::default());
        assert!(next.resume(again.clone()));
        assert!(next.start(order(), again.clone()).is_err(), "it is under way already");
        kept_in(&folder, &format!("\"resumed\":{taken_up}")).await;
        assert_eq!(next.newest().unwrap().release.unwrap().version, "1.2.0");
    }
    let last = jobs(&folder);
    assert!(!last.resume(engine));
    let kept = until(&last, |kept| kept.state == JobState::Failed).await;
    assert!(kept.message.contains("ended 5 times"), "{}", kept.message);
}

#[tokio::test]
async fn a_machine_that_loses_its_power_each_night_goes_on_and_a_server_that_ends_each_time_does_not() {
    let folder = TempDir::new().unwrap();
    jobs_in(&folder, Some("first")).start(order(), Arc::new(Stepwise::default())).unwrap();
    kept_in(&folder, "running").await;
    let mut resumed = 0;
    let mut goes_on = async |boot: &str| {
        let next = jobs_in(&folder, Some(boot));
        if !next.resume(Arc::new(Stepwise::default())) {
            return until(&next, |kept| kept.state == JobState::Failed).await.message;
        }
        resumed += 1;
        kept_in(&folder, &format!("\"resumed\":{resumed}")).await;
        String::new()
    };
    for night in 1..=12 {
        assert_eq!(goes_on(&format!("night {night}")).await, "");
    }
    for _ in 1..=MOST_RESUMES {
        assert_eq!(goes_on("night 12").await, "");
    }
    assert!(goes_on("night 12").await.contains("the server ended 5 times"));
    // What is over has nothing that an earlier version does not know.
    kept_in(&folder, "failed").await;
    let text = std::fs::read_to_string(folder.path().join("update/job.json")).unwrap();
    assert!(!text.contains("boot") && !text.contains("server_ends"), "{text}");
}

#[tokio::test]
async fn no_update_goes_on_for_ever() {
    let folder = TempDir::new().unwrap();
    jobs_in(&folder, Some("first")).start(order(), Arc::new(Stepwise::default())).unwrap();
    kept_in(&folder, "running").await;
    for boot in 1..=MOST_RESUMES_IN_ALL {
        assert!(jobs_in(&folder, Some(&boot.to_string())).resume(Arc::new(Stepwise::default())));
        kept_in(&folder, &format!("\"resumed\":{boot}")).await;
    }
    let last = jobs_in(&folder, Some("last"));
    assert!(!last.resume(Arc::new(Stepwise::default())));
    let kept = until(&last, |kept| kept.state == JobState::Failed).await;
    assert!(kept.message.contains("ended 60 times"), "{}", kept.message);
}

#[tokio::test]
async fn what_the_previous_server_left_is_under_way_before_it_is_resumed() {
    let folder = TempDir::new().unwrap();
    let engine = Arc::new(Stepwise::default());
    jobs(&folder).start(order(), engine.clone()).unwrap();
    kept_in(&folder, "running").await;

    let next = jobs(&folder);
    let refused = next.start(UpdateOrder { id: "b2".into(), ..order() }, engine.clone()).unwrap_err();
    assert_eq!((refused.code, &refused.details["job_id"]), (ErrorCode::Conflict, &"a1".into()), "{refused}");
    assert!(!next.cancel_of("b2") && next.can_cancel() && next.cancel_of("a1"));
    assert_eq!(next.newest().unwrap().error().unwrap().code, ErrorCode::Cancelled);
    assert!(!next.resume(engine.clone()), "it was cancelled");
    kept_in(&folder, "cancelled").await;
    next.start(order(), engine).unwrap();
}

#[tokio::test]
async fn an_armed_slot_is_not_the_jobs_to_cancel() {
    struct Armed(Notify);
    impl UpdateEngine for Armed {
        fn run<'a>(&'a self, _: &'a UpdateOrder, tell: &'a Tell) -> BoxFuture<'a, Result<String, ToolError>> {
            Box::pin(async move {
                tell.step(Phase::Armed, 0, 0, "armed").await;
                self.0.notified().await;
                Ok("restarts".into())
            })
        }
    }
    let folder = TempDir::new().unwrap();
    let (jobs, engine) = (jobs(&folder), Arc::new(Armed(Notify::new())));
    jobs.start(order(), engine.clone()).unwrap();
    until(&jobs, |kept| kept.phase == Phase::Armed).await;
    assert!(!jobs.cancel());
    engine.0.notify_one();
    assert_eq!(jobs.settled().await.unwrap().state, JobState::Armed);
    assert!(!jobs.cancel(), "nothing runs");
}

#[tokio::test]
async fn a_file_that_cannot_be_read_or_written_is_told_and_stops_nothing() {
    for bad in ["", "{", "[]", "{\"order\":1}", "\0\0", &"x".repeat(1 << 20)] {
        let folder = TempDir::new().unwrap();
        std::fs::create_dir(folder.path().join("update")).unwrap();
        std::fs::write(folder.path().join("update/job.json"), bad).unwrap();
        let jobs = jobs(&folder);
        assert_eq!(jobs.newest(), None);
        assert!(jobs.fault().unwrap().contains("job.json"));
        let engine = Arc::new(Stepwise::default());
        jobs.start(order(), engine.clone()).unwrap();
        kept_in(&folder, "a1").await;
    }
    let folder = TempDir::new().unwrap();
    std::fs::write(folder.path().join("update"), "a file where a folder should be").unwrap();
    let (jobs, engine) = (jobs(&folder), Arc::new(Stepwise::default()));
    jobs.start(order(), engine.clone()).unwrap();
    engine.go.notify_one();
    until(&jobs, |kept| kept.phase == Phase::Fetching).await;
    engine.go.notify_one();
    assert_eq!(jobs.settled().await.unwrap().state, JobState::Armed);
    assert!(jobs.fault().unwrap().contains("cannot be written"));
    assert!(Path::new(&folder.path().join("update")).is_file());
}
