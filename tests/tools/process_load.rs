//! Processor time at the first call, on a machine whose processes a test moves.

use crate::support::{
    pi::Pi,
    trees::{Copied, machine},
};
use serde_json::{Value, json};
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// Process 7 has worked so many ticks, 8 a hundred thousand when it was young; the machine is up so many seconds.
fn at(copy: &Copied, uptime: &str, ticks: u64) {
    let stat = |pid: u32, name: &str, ticks: u64| {
        let zeros = "0 ".repeat(28);
        format!("{pid} ({name}) S 1 {pid} {pid} 0 -1 4194304 0 0 0 0 {ticks} 0 0 0 20 0 1 0 0 1000 10 {zeros}\n")
    };
    copy.write("proc/uptime", format!("{uptime} 0.00\n"));
    copy.write("proc/7/stat", stat(7, "busy", ticks)).write("proc/7/cmdline", "busy\0");
    copy.write("proc/8/stat", stat(8, "tired", 100_000)).write("proc/8/cmdline", "tired\0");
}

/// Calls while the machine goes on, and how long it took.
async fn timed(pi: &Pi, tool: &str, args: Value, moves: impl Future<Output = ()>) -> (Value, Duration) {
    let began = Instant::now();
    let (answer, ()) = tokio::join!(pi.call(tool, args), moves);
    (answer.ok(), began.elapsed())
}

#[tokio::test(start_paused = true)]
async fn whoever_asks_for_it_waits_a_quarter_of_a_second_once() {
    let copy = Copied::of("pi-5");
    for args in [json!({"sort_by": "cpu_percent", "sort_order": "desc"}), json!({"filter": {"min_cpu_percent": 50.0}})]
    {
        at(&copy, "10000.00", 1000);
        let pi = Pi::on(machine(copy.root()));
        let moves = async {
            sleep(Duration::from_millis(100)).await;
            at(&copy, "10000.25", 1020);
        };
        let (list, took) = timed(&pi, "process.list_processes", args.clone(), moves).await;
        let first = &list["processes"][0];
        assert_eq!((&first["name"], &first["cpu_percent"]), (&json!("busy"), &json!(80.0)), "not who worked long ago");
        assert_eq!((&list["cpu_interval_seconds"], took), (&json!(0.25), Duration::from_millis(250)));
        assert!(list.get("note").is_none(), "{list}");

        at(&copy, "10000.30", 1025);
        let (again, took) = timed(&pi, "process.list_processes", args, async {}).await;
        assert_eq!((&again["cpu_interval_seconds"], took), (&json!(0.3), Duration::ZERO), "no later call waits");
    }
}

#[tokio::test(start_paused = true)]
async fn whoever_does_not_ask_waits_for_nothing_and_is_told() {
    let copy = Copied::of("pi-5");
    at(&copy, "10000.00", 1000);
    let pi = Pi::on(machine(copy.root()));
    let (list, took) = timed(&pi, "process.list_processes", json!({}), async {}).await;
    assert_eq!((list.get("cpu_interval_seconds"), took), (None, Duration::ZERO));
    assert_eq!(list["processes"][1]["cpu_percent"], 10.0, "the mean of its life");
    assert!(list["note"].as_str().unwrap().contains("since each process started"), "{list}");
    let none = json!({"filter": {"name_pattern": "nobody"}});
    let (list, _) = timed(&pi, "process.list_processes", none, async {}).await;
    assert_eq!(list["note"], "none of the 2 processes here matches the filter");
    let (list, _) = timed(&pi, "process.list_processes", json!({"offset": 9}), async {}).await;
    assert_eq!(list["note"], "offset 9 is past the last of 2: begin at 0");
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_cancelled_does_not_wait() {
    let copy = Copied::of("pi-5");
    at(&copy, "10000.00", 1000);
    let pi = Pi::on(machine(copy.root()));
    pi.cancel.cancel();
    let began = Instant::now();
    let refusal = pi.call("process.list_processes", json!({"sort_by": "cpu_percent"})).await.refused();
    assert_eq!((&refusal["error_code"], began.elapsed()), (&json!("cancelled"), Duration::ZERO));
}
