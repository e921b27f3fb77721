//! `logs.query_journal` before a journalctl of the test's own: what it is asked, what becomes of its lines, and that it is
//! gone afterwards. `ci/nspawn.d/logs.sh` has the real one.

use crate::support::{
    pi::Pi,
    private_bus::{FakeSystemd, FakeUnit, PrivateBus},
    served::soon,
};
use base::os::Root;
use contract::config::BoardChoice;
use hw::{board::Board, machine::Machine};
use raspi_mcp::registry::progress::{Progress, Update};
use serde_json::{Value, json};
use std::{
    fs,
    os::unix::fs::symlink,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};
use tempfile::TempDir;

/// A file of the tree: one that the test wrote could not be started while another thread's child still has it open (ETXTBSY).
const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/journalctl");

/// A machine whose journal says what the test tells it.
pub struct Journal {
    pub pi: Pi,
    pub root: TempDir,
}

impl Journal {
    pub fn with(lines: impl AsRef<[u8]>) -> Self {
        let root = TempDir::new().unwrap();
        let at = root.path().join("usr/bin");
        fs::create_dir_all(&at).unwrap();
        for (name, text) in [("lines", lines.as_ref()), ("said", b""), ("code", b"0"), ("boots", b"")] {
            fs::write(at.join(name), text).unwrap();
        }
        symlink(SCRIPT, at.join("journalctl")).unwrap();
        Self { pi: Pi::on(machine(&root)), root }
    }

    /// It ends so.
    fn says(self, code: u8, said: &str) -> Self {
        self.file("code", &code.to_string());
        self.file("said", said);
        self
    }
    /// It goes on waiting after its lines.
    pub fn hangs(self) -> Self {
        self.file("hang", "");
        self
    }
    pub fn file(&self, name: &str, text: &str) {
        fs::write(self.root.path().join("usr/bin").join(name), text).unwrap();
    }
    pub fn read(&self, name: &str) -> String {
        fs::read_to_string(self.root.path().join("usr/bin").join(name)).unwrap_or_default()
    }

    pub async fn ok(&self, args: Value) -> Value {
        soon(self.pi.call("logs.query_journal", args)).await.ok()
    }
    async fn refused(&self, args: Value) -> Value {
        soon(self.pi.call("logs.query_journal", args)).await.refused()
    }

    /// Waits until the process that was started is gone.
    async fn is_gone(&self) {
        let started = Instant::now();
        loop {
            let pid = self.read("pid");
            // A zombie waits to be reaped: that is not gone.
            if !pid.is_empty() && !fs::exists(format!("/proc/{}", pid.trim())).unwrap() {
                return;
            }
            assert!(started.elapsed() < Duration::from_secs(10), "process {pid} is still there");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}

fn machine(root: &TempDir) -> Machine {
    let root = Root::at(root.path());
    let board = Board::detect(BoardChoice::Simulated, &root).unwrap();
    Machine::new(root, board, None)
}

pub fn line(number: u64, message: &str) -> String {
    let json = json!({
        "__CURSOR": format!("s=a;i={number:x}"),
        "__REALTIME_TIMESTAMP": (1_768_486_200_000_000 + number * 1_000_000).to_string(),
        "MESSAGE": message, "PRIORITY": "6", "_SYSTEMD_UNIT": "a.service", "SYSLOG_IDENTIFIER": "a", "_PID": "42",
    });
    format!("{json}\n")
}

#[tokio::test]
async fn lines_come_with_what_they_are() {
    let journal = Journal::with(line(0, "started") + &line(1, "the password=hunter2 is secret"));
    let answer = journal.ok(json!({})).await;
    assert_eq!(answer["source"], "journal");
    assert_eq!(
        answer["entries"][0],
        json!({
            "timestamp": "2026-01-15T14:10:00.000Z", "priority": "info", "unit": "a.service", "identifier": "a",
            "pid": 42, "message": "started",
        })
    );
    assert_eq!(answer["entries"][1]["message"], "the password=[redacted] is secret");
    assert_eq!((&answer["has_more"], answer.get("next_cursor")), (&json!(false), None));
    let env = journal.read("env");
    assert!(env.contains("LC_ALL=C.UTF-8") && !env.contains("HOME=") && !env.contains("CARGO"), "{env}");
}

#[tokio::test]
async fn every_argument_becomes_one_word() {
    let journal = Journal::with("");
    journal
        .ok(json!({
            "unit": "foo@bar.service", "since": "2026-01-15T14:30:00.25Z", "until": "2026-01-15T16:30:00+01:00",
            "priority": "warning", "grep": "a b; rm -rf /", "order": "oldest_first",
        }))
        .await;
    let args = journal.read("args");
    let args: Vec<&str> = args.lines().collect();
    for expected in [
        "--unit=foo@bar.service",
        "--since=@1768487400.250000",
        "--until=@1768491000.000000",
        "--priority=4",
        "--output=json",
        "--no-pager",
    ] {
        assert!(args.contains(&expected), "{expected}: {args:#?}");
    }
    assert!(args.iter().all(|arg| arg.starts_with("--")) && !args.contains(&"--reverse"));
    assert!(args.iter().all(|arg| !arg.contains("rm -rf")), "what is searched for is no business of journalctl's");
    // On from a cursor: backward, unless told otherwise.
    journal.ok(json!({ "cursor": "s=a;i=1" })).await;
    let args = journal.read("args");
    assert!(args.contains("--after-cursor=s=a;i=1\n") && args.contains("--reverse\n"), "{args}");
}

#[tokio::test]
async fn what_could_be_taken_for_something_else_is_refused() {
    let journal = Journal::with("");
    for (args, path) in [
        (json!({ "unit": "" }), "/unit"),
        (json!({ "unit": "a b" }), "/unit"),
        (json!({ "unit": "*" }), "/unit"),
        (json!({ "unit": "a;b" }), "/unit"),
        (json!({ "unit": "a/b" }), "/unit"),
        (json!({ "unit": "a\n--file=/x" }), "/unit"),
        (json!({ "unit": "a\u{0}" }), "/unit"),
        (json!({ "unit": "x".repeat(256) }), "/unit"),
        (json!({ "unit": 7 }), "/unit"),
        (json!({ "cursor": "--file=/etc/shadow" }), "/cursor"),
        (json!({ "cursor": "S=A" }), "/cursor"),
        (json!({ "grep": "a\u{0}b" }), "/grep"),
        (json!({ "grep": "x".repeat(257) }), "/grep"),
        (json!({ "priority": "loud" }), "/priority"),
        (json!({ "priority": 3 }), "/priority"),
        (json!({ "since": "yesterday" }), "/since"),
        (json!({ "until": "2026-01-15 14:30:00" }), "/until"),
        (json!({ "limit": 0 }), "/limit"),
        (json!({ "limit": 1001 }), "/limit"),
        (json!({ "order": "sideways" }), "/order"),
        (json!({ "follow_seconds": 0 }), "/follow_seconds"),
        (json!({ "follow_seconds": 301 }), "/follow_seconds"),
        (json!({ "lines": 3 }), "/lines"),
    ] {
        let refused = journal.refused(args.clone()).await;
        assert_eq!(
            (&refused["error_code"], &refused["details"]["path"]),
            (&json!("invalid_argument"), &json!(path)),
            "{args}"
        );
    }
    let args = json!({ "follow_seconds": 1, "until": "2026-01-15T14:30:00Z" });
    assert_eq!(journal.refused(args).await["details"]["parameter"], "until");
    let args = json!({ "since": "2026-01-15T14:30:01Z", "until": "2026-01-15T14:30:00Z" });
    assert_eq!(journal.refused(args).await["details"]["parameter"], "since");
    assert_eq!(journal.read("pid"), "", "nothing was started");
}

#[tokio::test]
async fn a_page_ends_and_the_next_goes_on_there() {
    let lines: String = (0..200).map(|number| line(number, &format!("line {number}"))).collect();
    let journal = Journal::with(&lines).hangs();
    let answer = journal.ok(json!({ "limit": 7, "order": "oldest_first" })).await;
    assert_eq!((&answer["returned_count"], &answer["has_more"]), (&json!(7), &json!(true)));
    assert_eq!(answer["entries"][6]["message"], "line 6");
    assert_eq!(answer["next_cursor"], "s=a;i=6");
    journal.is_gone().await;
    // Forward there is a cursor at the end too: more may come.
    let journal = Journal::with(line(3, "last"));
    let answer = journal.ok(json!({ "order": "oldest_first" })).await;
    assert_eq!((&answer["next_cursor"], &answer["has_more"]), (&json!("s=a;i=3"), &json!(false)));
    let journal = Journal::with("");
    let answer = journal.ok(json!({ "order": "oldest_first", "cursor": "s=a;i=3" })).await;
    assert_eq!(answer["next_cursor"], "s=a;i=3");
}

#[tokio::test]
async fn beside_a_cursor_the_time_still_counts() {
    let lines: String = (0..20).rev().map(|number| line(number, &number.to_string())).collect();
    let journal = Journal::with(&lines).hangs();
    let args = json!({ "cursor": "s=a;i=20", "since": "2026-01-15T14:10:15Z" });
    let answer = journal.ok(args).await;
    assert!(!journal.read("args").contains("--since"), "journalctl takes one beginning only");
    let messages: Vec<&str> =
        answer["entries"].as_array().unwrap().iter().map(|entry| entry["message"].as_str().unwrap()).collect();
    assert_eq!(messages, ["19", "18", "17", "16", "15"]);
    journal.is_gone().await;
}

#[tokio::test]
async fn long_lines_and_odd_ones_cost_nothing_else() {
    let long = "x".repeat(10_000);
    let mut lines = line(0, &long).into_bytes();
    lines.extend(line(1, &"y".repeat(300_000)).into_bytes());
    lines.extend(b"-- No entries --\nnot json\n{\"MESSAGE\":\"no cursor\"}\n");
    lines.extend(br#"{"__CURSOR":"s=a;i=2","__REALTIME_TIMESTAMP":"1768487402000000","MESSAGE":[98,121,255,116,101]}"#);
    lines.push(b'\n');
    let journal = Journal::with(lines);
    let answer = journal.ok(json!({})).await;
    assert_eq!((&answer["returned_count"], &answer["left_out"]), (&json!(2), &json!(4)));
    assert_eq!(
        (&answer["entries"][0]["cut"], &answer["entries"][1]["message"]),
        (&json!(true), &json!("by\u{fffd}te"))
    );
    assert_eq!(answer["entries"][0]["message"].as_str().unwrap().len(), 8192);
    // A page is bounded in bytes, and says so.
    let lines: String = (0..400).map(|number| line(number, &long)).collect();
    let answer = Journal::with(&lines).ok(json!({ "limit": 1000 })).await;
    assert_eq!(
        (&answer["returned_count"], &answer["full"], &answer["has_more"]),
        (&json!(128), &json!(true), &json!(true))
    );
}

#[tokio::test]
async fn complaints_become_errors_that_help() {
    let bad = |said: &'static str| Journal::with("").says(1, said);
    let refused = bad("").refused(json!({ "grep": "(" })).await;
    assert_eq!(
        (&refused["error_code"], &refused["details"]["parameter"]),
        (&json!("invalid_argument"), &json!("grep"))
    );
    let refused = bad("Failed to seek to cursor: Invalid argument").refused(json!({ "cursor": "x" })).await;
    assert_eq!(refused["details"]["parameter"], "cursor");
    let refused = bad("No journal files were opened due to insufficient permissions.").refused(json!({})).await;
    assert!(refused["hint"].as_str().unwrap().contains("systemd-journal"), "{refused}");
    assert_eq!(bad("Something else broke").refused(json!({})).await["error_code"], "unavailable");
    // No lines: some versions end like grep.
    let none = bad("").ok(json!({ "grep": "nothing", "unit": "ssh" })).await;
    assert_eq!(none["returned_count"], 0);
    let note = none["note"].as_str().unwrap();
    assert!(note.starts_with("no lines match unit, grep") && note.contains("no /var/log/journal"), "{note}");
    let journal =
        Journal::with(line(1, "mine")).says(0, "Hint: You are currently not seeing messages from other users.");
    assert!(journal.ok(json!({})).await["note"].as_str().unwrap().contains("group systemd-journal"));
}

#[tokio::test]
async fn without_a_journal_the_servers_own_log_answers_and_says_so() {
    let empty = TempDir::new().unwrap();
    let pi = Pi::on(machine(&empty));
    {
        use tracing_subscriber::layer::SubscriberExt;
        let log = tracing_subscriber::registry().with(pi.services.log.clone());
        tracing::subscriber::with_default(log, || {
            tracing::info!("all is well");
            tracing::error!("the Disk is full");
        });
    }
    let answer = pi.call("logs.query_journal", json!({})).await.ok();
    assert_eq!((&answer["source"], &answer["returned_count"]), (&json!("server"), &json!(2)));
    assert!(answer["note"].as_str().unwrap().contains("no journalctl"));
    assert_eq!(answer["entries"][0]["message"], "the Disk is full");
    let answer =
        pi.call("logs.query_journal", json!({ "priority": "err", "grep": "disk", "unit": "raspi-mcp" })).await.ok();
    assert_eq!((&answer["returned_count"], &answer["entries"][0]["priority"]), (&json!(1), &json!("err")));
    for args in [json!({ "unit": "ssh" }), json!({ "cursor": "s=1" }), json!({ "follow_seconds": 1 })] {
        let refused = pi.call("logs.query_journal", args).await.refused();
        assert_eq!(refused["error_code"], "capability_missing");
    }
    // The program is there and has nothing to read.
    let answer = Journal::with("").says(0, "No journal files were found.").ok(json!({})).await;
    assert_eq!(answer["source"], "server");
}

#[tokio::test]
async fn following_streams_every_line_and_ends_in_time() {
    let lines: String = (0..50).map(|number| line(1_000_000_000 + number, &format!("line {number}"))).collect();
    let mut journal = Journal::with(&lines).hangs();
    let seen: Arc<Mutex<Vec<Update>>> = Arc::default();
    let sink = Arc::clone(&seen);
    journal.pi.progress = Progress::to(Box::new(move |update| sink.lock().unwrap().push(update.clone())));
    let started = Instant::now();
    let answer = journal.ok(json!({ "follow_seconds": 1, "unit": "a" })).await;
    assert!(started.elapsed() >= Duration::from_secs(1));
    let args = journal.read("args");
    assert!(args.contains("--follow\n") && !args.contains("--since=@") && !args.contains("--reverse"), "{args}");
    let anchor = format!("--after-cursor=s=a;i={:x}\n", 1_000_000_000);
    assert!(args.contains(&anchor), "it begins after the newest line: {args}");
    assert_eq!(
        (&answer["returned_count"], &answer["next_cursor"]),
        (&json!(50), &json!(format!("s=a;i={:x}", 1_000_000_049u64)))
    );
    journal.is_gone().await;
    let seen = std::mem::take(&mut *seen.lock().unwrap());
    let told: Vec<&str> = seen.iter().flat_map(|update| update.message.lines()).collect();
    assert_eq!(told.len(), 50, "{told:#?}");
    assert!(told[49].ends_with(" a: line 49") && seen.iter().all(|update| update.phase == "follow"));
    // A full page ends it at once.
    let started = Instant::now();
    let answer = journal.ok(json!({ "follow_seconds": 300, "limit": 5, "cursor": "s=a;i=1" })).await;
    assert_eq!((&answer["returned_count"], &answer["has_more"]), (&json!(5), &json!(true)));
    assert!(started.elapsed() < Duration::from_secs(10));
}

#[tokio::test]
async fn a_call_that_is_given_up_takes_its_process_along() {
    let journal = Journal::with(line(1, "x")).hangs();
    let call = journal.pi.call("logs.query_journal", json!({ "follow_seconds": 300 }));
    let started = async {
        while journal.read("pid").is_empty() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::select! {
        _ = call => panic!("it cannot have ended"),
        () = soon(started) => {}
    }
    journal.is_gone().await;
}

#[tokio::test]
async fn an_empty_answer_says_why() {
    let bus = PrivateBus::start();
    let systemd = FakeSystemd::on(&bus).await;
    systemd.put("ssh.service", FakeUnit::active("OpenBSD Secure Shell server"));
    let journal = Journal::with("");
    let pi = Pi::on_bus(machine(&journal.root), bus.bus());
    let note = async |args: Value| {
        let answer = pi.call("logs.query_journal", args).await.ok();
        assert_eq!((&answer["returned_count"], &answer["source"]), (&json!(0), &json!("journal")));
        answer["note"].as_str().unwrap().to_owned()
    };
    let unknown = note(json!({"unit": "ghost"})).await;
    assert!(unknown.starts_with("systemd knows no unit 'ghost'"), "{unknown}");
    let in_memory = note(json!({"unit": "ssh"})).await;
    assert!(
        in_memory.starts_with("no lines match unit:") && in_memory.contains("begins with this boot"),
        "{in_memory}"
    );
    fs::create_dir_all(journal.root.path().join("var/log/journal")).unwrap();
    assert_eq!(
        note(json!({"priority": "err", "since": "2026-01-01T00:00:00Z"})).await,
        "no lines match since, priority: leave some of that out"
    );
    assert_eq!(note(json!({})).await, "there are no lines yet");
}
