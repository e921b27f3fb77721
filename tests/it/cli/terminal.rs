//! `raspi-mcp approve` on a terminal of the test's own: what was typed before the question is no answer to it.

use crate::agent::{Pi, ask};
use agent::operations as op;
use agent::{AgentLink, AskState, Client, bind, serve};
use rustix::{
    io::Errno,
    pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt},
    termios::{Winsize, tcsetwinsize},
};
use serde_json::json;
use std::{
    fs::OpenOptions,
    os::fd::OwnedFd,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};
use tokio_util::sync::{CancellationToken, DropGuard};

const PATIENCE: Duration = Duration::from_secs(60);

/// A person before a terminal, and an agent that serves in this process.
struct Desk {
    pi: Pi,
    agent: AgentLink,
    _stop: DropGuard,
}

/// A terminal with `raspi-mcp approve` on it.
pub struct Terminal {
    keys: OwnedFd,
    screen: String,
    child: Child,
}

impl Desk {
    fn new() -> Self {
        let (pi, stop) = (Pi::now(), CancellationToken::new());
        let listener = bind(&pi.settings.socket, false).unwrap();
        tokio::spawn(serve(listener, pi.agent(), stop.clone()));
        let agent = AgentLink::Socket(Client::new(&pi.settings.socket));
        Self { pi, agent, _stop: stop.drop_guard() }
    }

    async fn asks(&self, count: u32) -> Vec<String> {
        for pin in 0..count {
            let request = ask("gpio.write_pin", json!({"pin": pin, "value": "high"}));
            self.pi.server().call::<op::asks::OpenAsk>(request).await.unwrap();
        }
        // In the order that a person is asked.
        self.agent.get::<op::asks::ListAsks>().await.unwrap().into_iter().map(|ask| ask.id).collect()
    }

    async fn state(&self, id: &str) -> AskState {
        self.agent.call::<op::asks::AwaitAsk>(op::asks::AwaitRequest::new(id, Duration::ZERO)).await.unwrap().state
    }

    /// Starts it with `typed` in the terminal already.
    fn approve(&self, typed: &str) -> Terminal {
        let mut command = Command::new(env!("CARGO_BIN_EXE_raspi-mcp"));
        command
            .arg("--set")
            .arg(format!("places.agent_socket={}", self.pi.settings.socket.display()))
            .arg("approve")
            .env_clear()
            .env("HOME", self.pi.settings.state_dir.parent().unwrap());
        Terminal::with(command, typed)
    }
}

impl Terminal {
    /// Starts a command with `typed` in the terminal already.
    pub fn with(command: Command, typed: &str) -> Self {
        Self::of(command, typed, 60)
    }

    /// The same on a terminal of so many columns.
    pub fn of(mut command: Command, typed: &str, columns: u16) -> Self {
        let keys = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&keys).unwrap();
        unlockpt(&keys).unwrap();
        let name = ptsname(&keys, Vec::new()).unwrap().into_string().unwrap();
        let screen = OpenOptions::new().read(true).write(true).open(name).unwrap();
        tcsetwinsize(&screen, Winsize { ws_row: 24, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 }).unwrap();
        rustix::io::write(&keys, typed.as_bytes()).unwrap();
        command
            .stdin(Stdio::from(screen.try_clone().unwrap()))
            .stdout(Stdio::from(screen.try_clone().unwrap()))
            .stderr(Stdio::from(screen));
        let child = command.spawn().unwrap();
        rustix::fs::fcntl_setfl(&keys, rustix::fs::OFlags::NONBLOCK).unwrap();
        Self { keys, screen: String::new(), child }
    }

    /// Reads until `wanted` stands on the screen `times` times.
    pub async fn shows(&mut self, wanted: &str, times: usize) {
        let started = Instant::now();
        while self.screen.matches(wanted).count() < times {
            assert!(started.elapsed() < PATIENCE, "no {wanted:?} on:\n{}", self.screen);
            let mut buffer = [0; 4096];
            match rustix::io::read(&self.keys, &mut buffer) {
                Ok(length) => self.screen.push_str(&String::from_utf8_lossy(&buffer[..length])),
                Err(Errno::AGAIN) => tokio::task::yield_now().await,
                Err(error) => panic!("{error} after:\n{}", self.screen),
            }
        }
    }

    /// Waits until the program sleeps in its read: the question is there, and what came before is dropped.
    pub async fn listens(&self) {
        let started = Instant::now();
        let path = format!("/proc/{}/syscall", self.child.id());
        // read(0, ...): number 0 on x86-64, 63 on arm64.
        while !std::fs::read_to_string(&path)
            .is_ok_and(|call| call.starts_with("0 0x0 ") || call.starts_with("63 0x0 "))
        {
            assert!(started.elapsed() < PATIENCE, "it does not read:\n{}", self.screen);
            tokio::task::yield_now().await;
        }
    }

    pub fn types(&self, keys: &str) {
        rustix::io::write(&self.keys, keys.as_bytes()).unwrap();
    }

    /// Waits for its end; returns the screen as far as it was read.
    pub async fn ends(self) -> String {
        self.ends_with(0).await
    }

    /// Waits for its end with this exit code.
    pub async fn ends_with(mut self, code: i32) -> String {
        let started = Instant::now();
        let status = loop {
            match self.child.try_wait().unwrap() {
                Some(status) => break status,
                None => tokio::task::yield_now().await,
            }
            assert!(started.elapsed() < PATIENCE, "it goes on:\n{}", self.screen);
        };
        assert_eq!(status.code(), Some(code), "{}", self.screen);
        self.screen
    }
}

const QUESTION: &str = "decide later]";

#[tokio::test]
async fn what_was_typed_before_the_question_answers_nothing() {
    for typed in ["y\n", "y\ny\n", "y", "yes\nyes\nyes\n", "\ny\n"] {
        let desk = Desk::new();
        let ids = desk.asks(1).await;
        let mut terminal = desk.approve(typed);
        terminal.shows(QUESTION, 1).await;
        terminal.listens().await;
        assert_eq!(desk.state(&ids[0]).await, AskState::Pending, "{typed:?}");
        // With half a line dropped, Enter is Enter.
        terminal.types("\n");
        terminal.shows("left as it is", 1).await;
        assert_eq!(desk.state(&ids[0]).await, AskState::Pending, "{typed:?}");
        terminal.ends().await;
    }
}

#[tokio::test]
async fn an_answer_is_for_the_question_on_the_screen_and_not_for_the_next() {
    let desk = Desk::new();
    let ids = desk.asks(3).await;
    let mut terminal = desk.approve("");
    terminal.shows(QUESTION, 1).await;
    terminal.listens().await;
    // A paste of three lines.
    terminal.types("y\ny\ny\n");
    terminal.shows(QUESTION, 2).await;
    terminal.listens().await;
    assert_eq!([desk.state(&ids[1]).await, desk.state(&ids[2]).await], [AskState::Pending; 2]);
    terminal.types("n\n");
    terminal.shows(QUESTION, 3).await;
    terminal.listens().await;
    terminal.types("y\n");
    terminal.shows("approved: good for", 2).await;
    terminal.ends().await;
    let states = [desk.state(&ids[0]).await, desk.state(&ids[1]).await, desk.state(&ids[2]).await];
    assert_eq!(states, [AskState::Approved, AskState::Denied, AskState::Approved]);
}

#[tokio::test]
async fn an_answer_that_is_longer_than_any_is_none() {
    let desk = Desk::new();
    let ids = desk.asks(1).await;
    let mut terminal = desk.approve("");
    terminal.shows(QUESTION, 1).await;
    terminal.listens().await;
    terminal.types(&format!("y{}no\n", " ".repeat(100)));
    terminal.shows("left as it is", 1).await;
    terminal.ends().await;
    assert_eq!(desk.state(&ids[0]).await, AskState::Pending);
}
