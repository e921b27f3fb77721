//! The kernel's side, on pseudoterminals: settings, exclusive use, a hang-up, what is no serial port.

use crate::support::served::{Door, Pi, Wire};
use contract::config::{AgentChoice, BoardChoice, SerialPortSetting};
use rustix::{
    io::Errno,
    pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt},
    termios::tcgetattr,
};
use serde_json::{Value, json};
use std::{fs::File, os::fd::OwnedFd};

/// A pseudoterminal: the end that the test has, and the name of the other one below /dev.
pub struct Pty {
    pub far: OwnedFd,
    pub name: String,
}

impl Pty {
    pub fn new() -> Self {
        let far = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
        grantpt(&far).unwrap();
        unlockpt(&far).unwrap();
        let path = ptsname(&far, Vec::new()).unwrap().into_string().unwrap();
        Self { far, name: path.strip_prefix("/dev/").unwrap().to_owned() }
    }

    pub fn send(&self, bytes: &[u8]) {
        assert_eq!(rustix::io::write(&self.far, bytes), Ok(bytes.len()));
    }
}

/// A server on a board of the kernel that may use those ports.
pub async fn server(ports: &[&str]) -> (Pi, Wire) {
    let ports = ports.iter().map(|name| SerialPortSetting { name: (*name).to_owned(), writable: true }).collect();
    let pi = Pi::standard(|settings| {
        (settings.board, settings.agent) = (BoardChoice::Linux, AgentChoice::Socket);
        settings.tools.enable.insert("serial".into());
        settings.limits.reads_per_minute = 100_000;
        settings.serial.ports = ports;
    })
    .await;
    let wire = pi.on(Door::Stdio).await;
    (pi, wire)
}

async fn ok(wire: &mut Wire, tool: &str, args: Value) -> Value {
    wire.call(tool, args).await.ok().clone()
}

#[tokio::test]
async fn bytes_pass_both_ways_as_they_are() {
    let pty = Pty::new();
    let (_pi, mut wire) = server(&[&pty.name]).await;
    let listed = ok(&mut wire, "serial.list_ports", json!({"port": pty.name})).await;
    assert!(listed["ports"][0]["allowed"] == true, "{listed}");
    ok(&mut wire, "serial.open", json!({"port": pty.name})).await;
    // Bytes that a terminal which is not raw would take for commands or translate.
    let all: Vec<u8> = (0..=255).collect();
    pty.send(&all);
    let read = ok(&mut wire, "serial.read", json!({"port": pty.name, "max_bytes": 256})).await;
    assert_eq!(read["bytes_read"], 256, "{read}");
    let letters = read["base64"].as_str().unwrap().to_owned();
    ok(&mut wire, "serial.write", json!({"port": pty.name, "base64": letters})).await;
    let mut back = [0; 300];
    let count = rustix::io::read(&pty.far, &mut back).unwrap();
    assert_eq!(&back[..count], all);
}

#[tokio::test]
async fn the_settings_are_the_terminals_and_what_it_cannot_do_is_said() {
    let pty = Pty::new();
    let (_pi, mut wire) = server(&[&pty.name]).await;
    ok(&mut wire, "serial.open", json!({"port": pty.name, "baud": 250_000, "stop_bits": 2})).await;
    assert_eq!(tcgetattr(&pty.far).unwrap().output_speed(), 250_000, "a speed without a name");
    // A pseudoterminal has eight bits and no parity.
    let error = wire.call("serial.open", json!({"port": pty.name, "data_bits": 7})).await;
    assert_eq!(error.failed("failed_precondition")["details"]["fault"], "unsupported");
}

#[tokio::test]
async fn nobody_else_opens_it_meanwhile_and_everybody_afterwards() {
    let pty = Pty::new();
    let path = format!("/dev/{}", pty.name);
    let (_pi, mut wire) = server(&[&pty.name]).await;
    // A terminal program has locked it.
    let program = File::options().read(true).write(true).open(&path).unwrap();
    rustix::fs::flock(&program, rustix::fs::FlockOperation::NonBlockingLockExclusive).unwrap();
    let held = wire.call("serial.open", json!({"port": pty.name})).await;
    assert_eq!(held.failed("failed_precondition")["details"]["fault"], "held");
    drop(program);
    ok(&mut wire, "serial.open", json!({"port": pty.name})).await;
    let other = File::options().read(true).write(true).open(&path);
    // Root may open what is exclusive; the lock is there for it as well.
    match other {
        Ok(file) => {
            let locked = rustix::fs::flock(&file, rustix::fs::FlockOperation::NonBlockingLockExclusive);
            assert_eq!(locked, Err(Errno::WOULDBLOCK));
        }
        Err(fault) => assert_eq!(fault.raw_os_error(), Some(Errno::BUSY.raw_os_error())),
    }
    ok(&mut wire, "serial.close", json!({"port": pty.name})).await;
    let free = File::options().read(true).write(true).open(&path).unwrap();
    rustix::fs::flock(&free, rustix::fs::FlockOperation::NonBlockingLockExclusive).unwrap();
}

#[tokio::test]
async fn the_other_end_hangs_up() {
    let pty = Pty::new();
    let (_pi, mut wire) = server(&[&pty.name]).await;
    ok(&mut wire, "serial.open", json!({"port": pty.name})).await;
    let Pty { far, name } = pty;
    rustix::io::write(&far, b"last words").unwrap();
    let read = ok(&mut wire, "serial.read", json!({"port": name, "until": "words"})).await;
    assert_eq!(read["text"], "last words");
    let id = wire.ask("tools/call", json!({"name": "serial.read", "arguments": {"port": name, "timeout_ms": 60_000}}));
    drop(far);
    let answer = crate::support::served::soon(wire.answer_to(id)).await;
    assert_eq!(answer.failed("unavailable")["details"]["fault"], "hung_up");
}

#[tokio::test]
async fn what_is_no_serial_port_is_not_even_opened() {
    let (_pi, mut wire) = server(&["null", "tty", "ptmx", "shm", "no-such-port"]).await;
    for (port, code, fault) in [
        ("null", "failed_precondition", "not_serial"),
        ("tty", "failed_precondition", "not_serial"),
        ("ptmx", "failed_precondition", "not_serial"),
        ("shm", "failed_precondition", "not_serial"),
        ("no-such-port", "capability_missing", "no_port"),
    ] {
        let answer = wire.call("serial.open", json!({"port": port})).await;
        assert_eq!(answer.failed(code)["details"]["fault"], fault, "{port}");
    }
}

/// A shell that has the pseudoterminal as its own, as somebody who is logged in.
#[tokio::test]
async fn the_terminal_of_somebody_is_left_to_them() {
    let pty = Pty::new();
    let (_pi, mut wire) = server(&[&pty.name]).await;
    let file = File::options().read(true).write(true).open(format!("/dev/{}", pty.name)).unwrap();
    // The leader of a session gets the first terminal that it opens.
    let script = format!("exec setsid sh -c 'exec 0<>/dev/{} && read line'", pty.name);
    let mut shell = std::process::Command::new("sh").args(["-c", &script]).spawn().unwrap();
    let answer = async {
        loop {
            let answer = wire.call("serial.open", json!({"port": pty.name})).await;
            if answer.is_refusal("failed_precondition") {
                return answer;
            }
            wire.call("serial.close", json!({"port": pty.name})).await.ok();
        }
    };
    let answer = crate::support::served::soon(answer).await;
    let error = answer.failed("failed_precondition");
    assert_eq!(error["details"]["fault"], "system");
    assert!(error["message"].as_str().unwrap().contains("the terminal of "), "{error}");
    drop((pty, file));
    shell.kill().unwrap();
    shell.wait().unwrap();
}

#[tokio::test]
async fn an_end_that_does_not_read_ends_a_write_in_time_and_the_port_is_free() {
    let pty = Pty::new();
    let (_pi, mut wire) = server(&[&pty.name]).await;
    ok(&mut wire, "serial.open", json!({"port": pty.name})).await;
    let args = json!({"port": pty.name, "text": "x".repeat(4096), "drain": true, "timeout_ms": 50});
    let full = async {
        loop {
            let answer = wire.call("serial.write", args.clone()).await;
            if answer.is_refusal("timeout") {
                return answer;
            }
        }
    };
    let answer = crate::support::served::soon(full).await;
    let error = answer.failed("timeout");
    let sent = error["details"]["bytes_written"].as_u64().unwrap();
    let message = format!("serial port {} sent {sent} of 4096 bytes in 50 ms; {} were dropped", pty.name, 4096 - sent);
    assert_eq!((&error["message"], &error["details"]["fault"]), (&json!(message), &json!("slow")));
    // What it had taken was dropped, so that there is room again.
    ok(&mut wire, "serial.write", json!({"port": pty.name, "text": "again"})).await;
    ok(&mut wire, "serial.close", json!({"port": pty.name})).await;
    let free = File::options().read(true).write(true).open(format!("/dev/{}", pty.name)).unwrap();
    rustix::fs::flock(&free, rustix::fs::FlockOperation::NonBlockingLockExclusive).unwrap();
}
