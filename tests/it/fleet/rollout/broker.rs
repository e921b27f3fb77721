//! The commands, with a real broker: a plan is signed and started, paused and resumed, one controller follows another, and devices
//! that fail stop it.

use super::{channel, stages};
use crate::{
    fleet::Fleet,
    support::{
        fleet::FLEET,
        served::{process::command, soon},
    },
    update::{NOW, a_root},
};
use fleet_protocol::rollout::DecisionKind;
use raspi_mcp::fleet::rollout::read_log;
use serde_json::{Value, json};
use std::{
    fs,
    path::PathBuf,
    process::Stdio,
    time::{Duration, Instant},
};
use tokio::{
    io::{AsyncBufReadExt, BufReader, Lines},
    process::{Child, ChildStdout},
    time::timeout,
};
use update::{bundle::Digest, channel::ChannelIndex};

/// A fleet of four, and the owner's files.
pub(super) struct Desk {
    pub(super) fleet: Fleet,
}

/// `fleet rollout start`.
pub(super) struct Running {
    pub(super) child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Desk {
    pub(super) async fn new() -> Self {
        let mut fleet = Fleet::of(&["attic", "cellar", "kitchen", "shed"]).await;
        fleet.report().await;
        let desk = Self { fleet };
        let mut der =
            vec![0x30, 0x2e, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x04, 0x22, 0x04, 0x20];
        der.extend_from_slice(&[21; 32]);
        fs::write(desk.path("channel.key"), der).unwrap();
        fs::write(desk.path("root.signed"), a_root()).unwrap();
        fs::create_dir_all(desk.path("www/stable")).unwrap();
        fs::write(desk.path("www/stable/index.signed"), channel()).unwrap();
        let stop = "[stop]\nfailed_percent = 50\nfailed_count = 2\nsilent_percent = 50\n";
        let plan = format!("version = \"1.2.0\"\nfolder = \"www\"\n{stop}{}", stages(&[(75, 2, 0), (100, 4, 0)]));
        fs::write(desk.path("plan.toml"), plan).unwrap();
        desk
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.fleet.home.path().join(name)
    }

    fn text(&self, name: &str) -> String {
        self.path(name).to_str().unwrap().to_owned()
    }

    pub(super) fn index(&self) -> ChannelIndex {
        super::index(&fs::read(self.path("www/stable/index.signed")).unwrap())
    }

    /// Signs the plan; returns its hash.
    pub(super) async fn sign(&self) -> String {
        let (plan, key, root) = (self.text("plan.toml"), self.text("channel.key"), self.text("root.signed"));
        let created = (NOW + 60).to_string();
        let args = ["fleet", "rollout", "sign", &plan, "--key", &key, "--trust", &root, "--created", &created];
        let output =
            soon(command(&self.fleet.home, &[&args[..], &["--days", "3650"]].concat()).output()).await.unwrap();
        let (said, why) = (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
        assert!(output.status.success() && said.contains("with indexes 8 to 15"), "{said}{why}");
        fs::remove_file(self.path("channel.key")).unwrap();
        said.lines().find_map(|line| line.strip_prefix("hash ")).unwrap().trim().to_owned()
    }

    pub(super) async fn rollout(&self, args: &[&str]) -> (i32, String, String) {
        let plan = self.text("plan.toml");
        self.fleet.runs(&[&["rollout", args[0], &plan], &args[1..]].concat()).await
    }

    /// The same for a command that may take `seconds`.
    pub(super) async fn rollout_within(&self, seconds: u64, args: &[&str]) -> (i32, String, String) {
        let plan = self.text("plan.toml");
        let mut command = self.fleet.command(&[&["rollout", args[0], &plan], &args[1..]].concat());
        let output = timeout(Duration::from_secs(seconds), command.kill_on_drop(true).output()).await;
        let output = output.unwrap_or_else(|_| panic!("{args:?} takes more than {seconds} s")).unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
    }

    async fn status(&self) -> (i32, Value) {
        let (code, text, why) = self.rollout(&["status", "--json"]).await;
        (code, serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}{why}")))
    }

    /// The cellar and the kitchen try the release, and go back.
    async fn two_go_back(&mut self) {
        let manifest = Digest::of(b"1.2.0").to_string();
        for client in &mut self.fleet.clients[1..3] {
            client.device.differs = json!({ "attempt": {
                "version": "1.2.0", "manifest": manifest, "phase": "rolled_back", "reason": "cameras stay dark", "time_ms": 1,
            }});
            client.reports().await;
        }
    }

    pub(super) fn start(&self, hash: &str) -> Running {
        let plan = self.text("plan.toml");
        let mut command = self.fleet.command(&["rollout", "start", &plan, "--hash", hash]);
        let mut child = command.stdout(Stdio::piped()).kill_on_drop(true).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Running { child, lines }
    }
}

impl Running {
    /// Waits for a line with these words.
    pub(super) async fn says(&mut self, words: &str) -> String {
        self.says_within(40, words).await
    }

    async fn says_within(&mut self, seconds: u64, words: &str) -> String {
        let found = async {
            while let Some(line) = self.lines.next_line().await.unwrap() {
                if line.contains(words) {
                    return line;
                }
            }
            panic!("it ended without {words:?}")
        };
        timeout(Duration::from_secs(seconds), found).await.unwrap_or_else(|_| panic!("it does not say {words:?}"))
    }
}

#[tokio::test]
async fn a_rollout_is_signed_started_paused_followed_and_stopped() {
    let mut desk = Desk::new().await;
    let hash = desk.sign().await;
    let (code, _, why) = desk.rollout(&["start", "--hash", &"0".repeat(64)]).await;
    assert!(code == 5 && why.contains(&hash), "{code} {why}");
    let (code, _, why) = desk.rollout(&["pause", "lunch"]).await;
    assert!(code == 1 && why.contains("has not begun"), "{code} {why}");
    let mut first = desk.start(&hash);
    first.says("2 have to").await;
    assert_eq!((desk.index().sequence, desk.index().releases[0].rollout.percent), (8, 75));
    let mut second = desk.start(&hash);
    second.says("another controller acts").await;
    let (code, answer) = desk.status().await;
    assert_eq!((code, &answer["phase"], &answer["stage"]), (0, &json!("running"), &json!(1)));
    assert_eq!(answer["now"], json!({ "group": 4, "reach": 3, "committed": 0, "trying": 0, "failed": 0, "silent": 0 }));
    // A person's word needs no controller.
    let (code, said, why) = desk.rollout(&["pause", "lunch"]).await;
    assert!(code == 0 && said.contains("pause: lunch"), "{said}{why}");
    assert!(desk.index().sequence == 9 && desk.index().paused.unwrap().contains(&hash));
    first.says("pause: lunch").await;
    let (code, _, why) = desk.rollout(&["resume"]).await;
    assert_eq!((code, desk.index().sequence), (0, 10), "{why}");
    first.says("resume").await;
    // It is told to end; the other one need not wait a minute.
    rustix::process::kill_process(
        rustix::process::Pid::from_raw(first.child.id().unwrap().try_into().unwrap()).unwrap(),
        rustix::process::Signal::TERM,
    )
    .unwrap();
    assert_eq!(soon(first.child.wait()).await.unwrap().code(), Some(1));
    second.says("takeover").await;
    // Two devices go back.
    desk.two_go_back().await;
    second.says("stop: 2 devices failed").await;
    assert_eq!(second.says("cellar").await, "  cellar: went back: cameras stay dark");
    second.says("kitchen").await;
    assert_eq!(soon(second.child.wait()).await.unwrap().code(), Some(1));
    assert!(desk.index().sequence == 11 && desk.index().paused.is_some());
    let (code, answer) = desk.status().await;
    assert_eq!(
        (code, &answer["phase"], answer["last"]["devices"].as_array().unwrap().len()),
        (1, &json!("stopped"), 2)
    );
    let (code, _, why) = desk.rollout(&["resume"]).await;
    assert!(code == 5 && why.contains("only a paused one"), "{code} {why}");
    use DecisionKind::{Pause, Resume, Start, Stop, Takeover, Wait};
    let log = read_log(&desk.path("plan.signed/decisions.jsonl")).unwrap();
    let kinds: Vec<DecisionKind> = log.iter().map(|decision| decision.kind).collect();
    assert_eq!(kinds[..5], [Start, Takeover, Wait, Pause, Resume]);
    assert!(kinds.contains(&Takeover) && kinds.last() == Some(&Stop), "{kinds:?}");
    assert_eq!(log.iter().map(|one| one.number).collect::<Vec<_>>(), (1..=log.len() as u64).collect::<Vec<_>>());
}

#[tokio::test]
async fn a_broker_cannot_make_a_record_that_begins_the_next_stage() {
    let desk = Desk::new().await;
    let hash = desk.sign().await;
    let mut controller = desk.start(&hash);
    controller.says("2 have to").await;
    let broker = desk.fleet.server.console(&desk.fleet.desk).await;
    let bucket = fleet_protocol::subject::rollout_bucket(FLEET);
    let kept = broker.kept(&bucket, &hash).await.unwrap().unwrap();
    let (seal, text) = kept.value.split_at(32);
    let forged = String::from_utf8(text.to_vec()).unwrap().replacen("\"stage\":0", "\"stage\":1", 1);
    assert_ne!(forged.as_bytes(), text);
    let mut revision = kept.revision;
    // The controller may keep its lease at this moment.
    loop {
        match broker.keep(&bucket, &hash, [seal, forged.as_bytes()].concat(), revision).await {
            Ok(_) => break,
            Err(_) => revision = broker.kept(&bucket, &hash).await.unwrap().unwrap().revision,
        }
    }
    assert_eq!(soon(controller.child.wait()).await.unwrap().code(), Some(1));
    assert_eq!(desk.index().sequence, 8);
    let (code, _, why) = desk.rollout(&["status"]).await;
    assert!(code == 1 && why.contains("of no controller"), "{code} {why}");
}

#[tokio::test]
#[ignore = "the lease is a minute: ci/parts/fleet"]
async fn a_controller_that_was_killed_is_followed_after_its_minute() {
    let mut desk = Desk::new().await;
    let hash = desk.sign().await;
    let mut first = desk.start(&hash);
    first.says("2 have to").await;
    let mut second = desk.start(&hash);
    second.says("another controller acts").await;
    // SIGKILL: it says nothing to anybody.
    first.child.kill().await.unwrap();
    let killed = Instant::now();
    desk.two_go_back().await;
    second.says_within(100, "takeover").await;
    // The first one wrote the record at most 15 s before its end, and the second looks every 5 s.
    assert!(killed.elapsed() >= Duration::from_secs(40), "{:?}", killed.elapsed());
    second.says("stop: 2 devices failed").await;
    assert_eq!(soon(second.child.wait()).await.unwrap().code(), Some(1));
    assert!(desk.index().sequence == 9 && desk.index().paused.is_some());
    let log = read_log(&desk.path("plan.signed/decisions.jsonl")).unwrap();
    assert_eq!(log.iter().map(|one| one.number).collect::<Vec<_>>(), (1..=log.len() as u64).collect::<Vec<_>>());
}
