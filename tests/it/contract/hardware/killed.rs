//! What a server leaves when it is killed, on the kernel's own drivers: with a process to kill. The simulated board's state is
//! in that process; its twin is in `tests/tools/gpio`.

use super::{Assertion, Bench};
use hw::model::BoardKind;
use serde_json::{Value, json};
use std::{
    env,
    io::{BufRead, BufReader, Write},
    path::Path,
    process::{Command, Stdio},
    time::Duration,
};

/// The word that makes the runner a server that is to be killed: `hardware --victim BOARD FOLDER`.
pub const VICTIM: &str = "--victim";
const READY: &str = "driving";

pub const ASSERTIONS: &[Assertion] = &[Assertion {
    name: "killed::what_runs_on_is_stopped_by_the_next_server_which_says_so",
    applies: |hand| hand.kind != BoardKind::Simulated && hand.scope.is_some() && hand.lines.is_some(),
    run: |bench| Box::pin(what_runs_on_is_stopped_by_the_next_server_which_says_so(bench)),
}];

/// Pins that the victim uses: one with hardware PWM, one with software PWM, one that it drives.
fn pins(bench: &Bench) -> (u8, u8, u8) {
    let (scope, lines) = (bench.hand.scope.as_deref().unwrap(), bench.hand.lines.as_deref().unwrap());
    (scope.hardware()[0], scope.software()[0], lines.free()[1])
}

/// Drives three pins until it is killed.
// Of `tests/hardware.rs` alone.
#[allow(dead_code)]
pub fn victim(board: &str, home: &str) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let bench = Bench::living_in(board, Path::new(home));
        let (hardware, software, driven) = pins(&bench);
        for pin in [hardware, software] {
            let args = json!({"pin": pin, "frequency_hz": 20, "duty_cycle_percent": 25});
            bench.call("gpio.set_pwm", args).await.ok();
        }
        bench.call("gpio.write_pin", json!({"pin": driven, "value": "high"})).await.ok();
        println!("{READY}");
        std::io::stdout().flush().unwrap();
        tokio::time::sleep(Duration::from_secs(600)).await;
    });
}

async fn what_runs_on_is_stopped_by_the_next_server_which_says_so(bench: &Bench) {
    let scope = bench.hand.scope.as_deref().unwrap();
    let (hardware, software, driven) = pins(bench);
    let home = tempfile::tempdir().unwrap();
    let mut victim = Command::new(env::current_exe().unwrap())
        .args([VICTIM, &bench.board])
        .arg(home.path())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = BufReader::new(victim.stdout.take().unwrap()).lines();
    assert!(said.any(|line| line.unwrap() == READY), "the victim came to drive its pins");
    assert!(scope.signal(hardware).is_some());
    // SIGKILL: nothing of ours runs any more.
    victim.kill().unwrap();
    victim.wait().unwrap();
    assert!(scope.signal(hardware).is_some(), "the kernel lets a channel run on");
    assert_eq!(scope.signal(software), None, "software ends with its process");

    let next = Bench::living_in(&bench.board, home.path());
    assert_eq!(scope.signal(hardware), None);
    let list = next.call("gpio.list_pins", json!({})).await.ok();
    let recovered: Vec<u64> = list["recovered"].as_array().unwrap().iter().map(|pin| pin.as_u64().unwrap()).collect();
    for pin in [hardware, software, driven] {
        assert!(recovered.contains(&pin.into()), "GPIO {pin} among {recovered:?}");
    }
    let entry = next.call("gpio.read_pin", json!({"pin": software})).await.ok();
    assert_eq!((entry.get("lease"), entry.get("pwm")), (None, None::<&Value>), "{entry}");
    // And they can be had again.
    let args = json!({"pin": hardware, "frequency_hz": 20, "duty_cycle_percent": 50});
    assert_eq!(next.call("gpio.set_pwm", args).await.ok()["source"], "hardware");
}
