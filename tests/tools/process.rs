//! `process.*` on this very machine: the test looks at processes it has made.

use crate::support::served::{Answer, Pi};
use agent::{
    SignalName,
    processes::{Processes, RealProcesses},
};
use base::{error::ErrorCode, os::Root};
use contract::{config::AgentChoice, meta::Role};
use serde_json::{Value, json};
use std::{
    net::TcpListener,
    os::unix::process::ExitStatusExt,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

/// Nothing here takes this long.
const PATIENCE: Duration = Duration::from_secs(30);

/// A process of the test's own, which ends with it.
struct Sleeper(Child);

impl Sleeper {
    fn new() -> Self {
        let child = Command::new("/bin/sleep")
            .arg("600")
            .env("API_TOKEN", "hunter2")
            .env("PLAIN", "to be seen")
            .stdin(Stdio::null())
            .spawn()
            .unwrap();
        let asleep = || std::fs::read_to_string(format!("/proc/{}/stat", child.id())).unwrap().contains(") S ");
        let started = Instant::now();
        while !asleep() {
            assert!(started.elapsed() < PATIENCE, "sleep does not sleep");
            std::thread::yield_now();
        }
        Self(child)
    }
    fn pid(&self) -> u32 {
        self.0.id()
    }
}

impl Drop for Sleeper {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

async fn list(pi: &Pi, args: Value) -> Value {
    pi.call("process.list_processes", args).await.ok().clone()
}

fn pids(list: &Value) -> Vec<u64> {
    list["processes"].as_array().unwrap().iter().map(|process| process["pid"].as_u64().unwrap()).collect()
}

#[tokio::test]
async fn a_page_of_those_that_run() {
    let pi = Pi::start().await;
    let sleeper = Sleeper::new();
    let all = list(&pi, json!({"limit": 1000, "detail": true})).await;
    let mine = all["processes"].as_array().unwrap().iter().find(|process| process["pid"] == sleeper.pid()).unwrap();
    assert_eq!(
        (&mine["name"], &mine["status"], &mine["ppid"]),
        (&json!("sleep"), &json!("sleeping"), &json!(std::process::id()))
    );
    assert_eq!((&mine["cmdline"], &mine["num_threads"]), (&json!(["/bin/sleep", "600"]), &json!(1)));
    assert!(mine["exe"].as_str().unwrap().contains("/bin/") && mine["memory_rss"].as_u64() > Some(0));
    let now = time::OffsetDateTime::now_utc().unix_timestamp() as f64;
    assert!((now - mine["create_time"].as_f64().unwrap()).abs() < 10.0, "{mine}");
    assert!(mine["cpu_percent"].as_f64().unwrap() < 50.0);

    let first = list(&pi, json!({"limit": 2})).await;
    let second = list(&pi, json!({"limit": 2, "offset": 2})).await;
    assert_eq!((first["returned_count"].as_u64(), first["has_more"].as_bool()), (Some(2), Some(true)));
    assert_eq!(first["pagination"]["next_offset"], 2);
    assert!(pids(&first)[1] < pids(&second)[0]);
    let beyond = list(&pi, json!({"offset": u32::MAX})).await;
    assert_eq!((beyond["returned_count"].as_u64(), beyond["has_more"].as_bool()), (Some(0), Some(false)));
}

#[tokio::test]
async fn filters_and_orders() {
    let pi = Pi::start().await;
    let (one, two) = (Sleeper::new(), Sleeper::new());
    let ours = |args: Value| {
        let (pi, wanted) = (&pi, [u64::from(one.pid()), u64::from(two.pid())]);
        async move {
            let found = pids(&list(pi, args).await);
            found.into_iter().filter(|pid| wanted.contains(pid)).collect::<Vec<_>>()
        }
    };
    let both = vec![u64::from(one.pid().min(two.pid())), u64::from(one.pid().max(two.pid()))];
    assert_eq!(ours(json!({"filter": {"name_pattern": "sl*p"}, "limit": 1000})).await, both);
    let down =
        json!({"filter": {"name_pattern": "sleep", "status": ["sleeping"]}, "sort_order": "desc", "limit": 1000});
    assert_eq!(ours(down).await, both.iter().rev().copied().collect::<Vec<_>>());
    for nothing in [
        json!({"name_pattern": "sleeper"}),
        json!({"username": "nobody-knows"}),
        json!({"name_pattern": "sleep", "min_memory_mb": 100_000.0}),
        json!({"name_pattern": "sleep", "min_cpu_percent": 5000.0}),
        json!({"name_pattern": "sleep", "status": ["zombie", "stopped"]}),
        json!({"name_pattern": "[s]leep"}),
    ] {
        assert_eq!(ours(json!({"filter": nothing, "limit": 1000})).await, [0; 0], "{nothing}");
    }
    for by in ["pid", "name", "username", "cpu_percent", "memory_rss", "memory_percent", "create_time"] {
        let sorted = list(&pi, json!({"sort_by": by, "sort_order": "desc", "limit": 1000})).await;
        let values: Vec<&Value> = sorted["processes"].as_array().unwrap().iter().map(|process| &process[by]).collect();
        if let Some(numbers) = values.iter().map(|value| value.as_f64()).collect::<Option<Vec<_>>>() {
            assert!(numbers.windows(2).all(|pair| pair[0] >= pair[1] - 0.2), "{by}: {numbers:?}");
        }
    }
}

#[tokio::test]
async fn processor_time_is_measured_against_an_earlier_call() {
    let pi = Pi::start().await;
    assert_eq!(list(&pi, json!({})).await["cpu_interval_seconds"], Value::Null, "nothing to compare with");
    let busy = Command::new("/bin/sh").args(["-c", "while :; do :; done"]).spawn().unwrap();
    let busy = Sleeper(busy);
    // By the clock, since that is what is measured; no longer than what counts as an earlier reading.
    let started = Instant::now();
    let seen = loop {
        let seen = list(&pi, json!({"filter": {"name_pattern": "sh", "min_cpu_percent": 5.0}, "limit": 1000})).await;
        let found = pids(&seen).contains(&busy.pid().into());
        if found && !seen["cpu_interval_seconds"].is_null() || started.elapsed() > PATIENCE {
            break seen;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    };
    assert!(pids(&seen).contains(&busy.pid().into()), "{seen}");
    assert!(seen["cpu_interval_seconds"].as_f64().unwrap() >= 0.25);
}

#[tokio::test]
async fn details_of_one() {
    let pi = Pi::start().await;
    let sleeper = Sleeper::new();
    let seen = pi.call("process.get_process_details", json!({"pid": sleeper.pid(), "memory_maps": true})).await;
    let seen = seen.ok();
    assert_eq!(seen["environment"]["PLAIN"], "to be seen");
    assert!(!seen.to_string().contains("hunter2"), "a secret left: {seen}");
    assert!(
        seen["memory"]["pss"].as_u64() <= seen["memory"]["rss"].as_u64() && seen["io_counters"]["read_count"].is_u64()
    );
    assert!(seen["memory_maps"].as_array().unwrap().iter().any(|map| map["path"].as_str().unwrap().contains("sleep")));
    assert!(seen["cpu_interval_seconds"].as_f64() > Some(0.0) && seen["cpu_times"]["user"].is_number());
    let null = seen["open_files"].as_array().unwrap().iter().find(|file| file["fd"] == 0).unwrap();
    assert_eq!((&null["path"], &null["mode"]), (&json!("/dev/null"), &json!("r")));

    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let me = pi.call("process.get_process_details", json!({"pid": std::process::id()})).await;
    let sockets = me.ok()["connections"].as_array().unwrap();
    let ours = sockets.iter().find(|socket| socket["local_port"] == port).expect("the listener");
    assert_eq!((&ours["family"], &ours["type"]), (&json!("AF_INET"), &json!("SOCK_STREAM")));
    assert_eq!((&ours["local_address"], &ours["status"]), (&json!("127.0.0.1"), &json!("LISTEN")));
}

#[tokio::test]
async fn what_is_no_process_and_no_argument() {
    let pi = Pi::start().await;
    let gone = {
        let mut child = Command::new("/bin/true").spawn().unwrap();
        child.wait().unwrap();
        child.id()
    };
    let error = pi.call("process.get_process_details", json!({"pid": gone})).await;
    assert_eq!(error.failed("not_found")["details"]["pid"], gone);
    for (args, path) in [
        (json!({"pid": 0}), "/pid"),
        (json!({"pid": -1}), "/pid"),
        (json!({"pid": "1"}), "/pid"),
        (json!({"pid": 4_194_305}), "/pid"),
        (json!({}), "/pid"),
    ] {
        pi.call("process.get_process_details", args).await.refused(path);
    }
    for (args, path) in [
        (json!({"filter": {"name_pattern": ""}}), "/filter/name_pattern"),
        (json!({"filter": {"status": ["dead"]}}), "/filter/status/0"),
        (json!({"filter": {"min_cpu_percent": -1}}), "/filter/min_cpu_percent"),
        (json!({"filter": {"nonsense": 1}}), "/filter/nonsense"),
        (json!({"limit": 0}), "/limit"),
        (json!({"limit": 1001}), "/limit"),
        (json!({"offset": -1}), "/offset"),
        (json!({"sort_by": "colour"}), "/sort_by"),
    ] {
        pi.call("process.list_processes", args).await.refused(path);
    }
}

#[tokio::test]
async fn without_an_agent_reads_say_what_is_missing() {
    let pi = Pi::with(|settings| settings.agent = AgentChoice::Socket).await;
    let sleeper = Sleeper::new();
    pi.call("process.get_process_details", json!({"pid": sleeper.pid()})).await.ok();
    // The first process is root's: to anybody else it is closed.
    let first = pi.call("process.get_process_details", json!({"pid": 1})).await;
    let first = first.ok();
    if !rustix::process::geteuid().is_root() {
        assert!(first["unavailable"]["environment"].as_str().unwrap().contains("agent"), "{first}");
    }
    assert_eq!(first["pid"], 1);
}

/// A server whose signals go to a simulated machine.
async fn writable() -> Pi {
    Pi::with(|settings| {
        settings.tools.enable.insert("process".into());
    })
    .await
}

async fn signal(pi: &Pi, args: Value) -> Answer {
    pi.call("process.send_signal", args).await
}

#[tokio::test]
async fn a_simulated_machines_processes_get_signals() {
    let pi = writable().await;
    let tried = signal(&pi, json!({"pid": 4242, "dry_run": true})).await;
    assert_eq!(
        tried.ok(),
        &json!({"pid": 4242, "name": "simulated", "signal": "TERM", "sent": false, "dry_run": true})
    );
    assert!(tried.meta().get("changed").is_none_or(|changed| changed == false));
    signal(&pi, json!({"pid": 4242, "signal": "HUP"})).await.ok();
    let sent = signal(&pi, json!({"pid": 4242, "signal": "KILL"})).await;
    assert_eq!((&sent.ok()["sent"], &sent.meta()["simulated"]), (&json!(true), &json!(true)));
    signal(&pi, json!({"pid": 4242})).await.failed("not_found");
    for (pid, why) in [(1, "first"), (2, "kernel"), (101, "process.protected")] {
        let error = signal(&pi, json!({"pid": pid, "signal": "KILL"})).await;
        assert!(error.failed("permission_denied")["message"].as_str().unwrap().contains(why));
    }
    for bad in [json!("TREM"), json!(9), json!("kill"), json!("STOP")] {
        signal(&pi, json!({"pid": 4243, "signal": bad})).await.refused("/signal");
    }
    signal(&pi, json!({"pid": 4243})).await.ok();
}

#[tokio::test]
async fn nobody_sends_signals_who_may_only_read() {
    let pi = Pi::with(|settings| {
        settings.tools.enable.insert("process".into());
        settings.access.stdio_role = Role::ReadOnly;
    })
    .await;
    signal(&pi, json!({"pid": 4242})).await.failed("permission_denied");
    Pi::start().await.call("process.send_signal", json!({"pid": 4242})).await.failed("permission_denied");
}

#[test]
fn a_real_process_is_held_by_more_than_its_number() {
    let processes = RealProcesses { root: Root::system() };
    let mut sleeper = Sleeper::new();
    let held = processes.hold(sleeper.pid()).unwrap();
    assert_eq!((held.target().name.as_str(), held.target().is_kernel), ("sleep", false));
    held.send(SignalName::Term).unwrap();
    assert_eq!(sleeper.0.wait().unwrap().signal(), Some(15));
    // Its number is free now, and whoever gets it is not reached.
    assert_eq!(held.send(SignalName::Kill).unwrap_err().code, ErrorCode::NotFound);
    assert_eq!(processes.hold(sleeper.pid()).err().unwrap().code, ErrorCode::NotFound);
}
