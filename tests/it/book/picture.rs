//! README.md's picture is a conversation that takes place: with the real program on a simulated board, and a person at a terminal.
//! `BLESS=1` (`ci/picture`) draws it anew; without, the test says when another conversation takes place.

mod draw;

use super::{here, page};
use crate::{
    allow::walk::program,
    cli::terminal::Terminal,
    support::served::{Door, Wire, soon},
};
use draw::{Line, draw};
use regex_lite::Regex;
use serde_json::{Value, json};
use std::fs;
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, BufReader};

const PICTURE: &str = "docs/picture.svg";
/// Of the owner's terminal: what is printed there fits beside its mark.
const COLUMNS: u16 = 76;

/// One conversation, as its lines come.
struct Conversation {
    root: TempDir,
    assistant: Wire,
    lines: Vec<Line>,
}

impl Conversation {
    fn note(&mut self, text: &str) {
        self.lines.extend([Line::Gap, Line::Note(text.to_owned())]);
    }

    /// What is sent, and what is shown of the answer: an error whole, a result by these fields.
    async fn calls(&mut self, tool: &str, args: Value, fields: &[&str]) {
        self.lines.push(Line::Call(format!("{tool} {args}")));
        let answer = self.assistant.request(tool, args).await.message;
        self.answered(&answer, fields);
    }

    fn answered(&mut self, answer: &Value, fields: &[&str]) {
        if let Some(error) = answer.get("error") {
            let part = |name: &str| error["data"][name].as_str().unwrap_or_default().to_owned();
            self.lines.push(Line::Refusal(format!("{}: {}", part("error_code"), part("message"))));
            self.lines.push(Line::Refusal(part("hint")));
            return;
        }
        let result = answer["result"].as_object().expect("a result is an object");
        let value = |name: &&str| result[*name].to_string().replace(",\"", ", \"");
        let shown: Vec<String> = fields.iter().map(|name| format!("\"{name}\":{}", value(name))).collect();
        let more = if shown.len() < result.len() { ", ..." } else { "" };
        self.lines.push(Line::Answer(format!("{{{}{more}}}", shown.join(", "))));
    }

    /// A command of the owner and what it prints, without the name of this test's folder.
    async fn owner(&mut self, args: &[&str]) {
        let output = soon(program(&self.root, args).output()).await.unwrap();
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{args:?}: {said}{}", String::from_utf8_lossy(&output.stderr));
        self.lines.push(Line::Owner(format!("raspi-mcp {}", args.join(" "))));
        let said = said.lines().filter(|line| !line.starts_with("written: "));
        self.lines.extend(said.map(|line| Line::Printed(line.to_owned())));
    }
}

/// Starts the server as `./ci/serve` does.
async fn begin() -> (Conversation, tokio::process::Child) {
    let root = TempDir::new().unwrap();
    for folder in ["", "state", "run", "config"] {
        let folder = root.path().join(folder);
        fs::create_dir_all(&folder).unwrap();
        if rustix::process::geteuid().is_root() {
            std::os::unix::fs::chown(folder, Some(65534), Some(65534)).unwrap();
        }
    }
    let mut server = program(&root, &["serve", "--http", "127.0.0.1:0"]).spawn().unwrap();
    let mut lines = BufReader::new(server.stderr.take().unwrap()).lines();
    let url = loop {
        let line = soon(lines.next_line()).await.unwrap().expect("it listens");
        if let Some((_, found)) = line.split_once("listening on http") {
            break format!("http{}/api/mcp", found.split("/mcp").next().unwrap());
        }
    };
    tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
    (Conversation { root, assistant: Wire::http(Door::Api, url), lines: Vec::new() }, server)
}

async fn conversation() -> Vec<Line> {
    let (mut talk, mut server) = begin().await;
    talk.note("The assistant looks for a sensor: reads are allowed from the start");
    talk.calls("i2c.scan_bus", json!({ "bus": 1 }), &["addresses"]).await;
    talk.calls("sensors.read", json!({ "quantity": "temperature" }), &["readings"]).await;
    talk.note("It tries to switch a pin, and is refused");
    let pin = json!({ "pin": 17, "value": "high" });
    talk.calls("gpio.write_pin", pin.clone(), &[]).await;
    talk.note("The owner allows this pin, and the same call succeeds");
    talk.owner(&["allow", "gpio.write_pin", "--pin", "17", "--for", "loopback"]).await;
    talk.calls("gpio.write_pin", pin, &["pin", "value"]).await;
    talk.note("A reboot needs a person's approval for each call");
    talk.owner(&["allow", "system.reboot", "--for", "loopback"]).await;
    approved(&mut talk).await;
    talk.note("Every call is in a log that shows tampering");
    talk.owner(&["audit", "verify"]).await;
    server.kill().await.unwrap();
    talk.lines
}

/// A call that waits until the owner has said yes at a terminal.
async fn approved(talk: &mut Conversation) {
    let args = json!({ "delay_seconds": 60 });
    talk.lines.push(Line::Call(format!("system.reboot {args}")));
    let call = talk.assistant.request("system.reboot", args);
    let root = &talk.root;
    let person = async {
        // The terminal reads once something waits.
        while !String::from_utf8_lossy(&soon(program(root, &["approve", "--list"]).output()).await.unwrap().stdout)
            .contains("system.reboot")
        {}
        let mut terminal = Terminal::of(program(root, &["approve"]).into_std(), "", COLUMNS);
        terminal.shows("system.reboot", 1).await;
        terminal.listens().await;
        terminal.shows("once?", 1).await;
        terminal.types("y\n");
        terminal.shows("approved", 1).await;
        terminal.ends().await
    };
    let (answer, screen) = tokio::join!(call, person);
    let answer = answer.message;
    talk.lines.push(Line::Owner("raspi-mcp approve".to_owned()));
    let shown = screen.lines().map(str::trim_end).filter(|line| !line.is_empty());
    let shown: Vec<Line> = shown.map(|line| Line::Printed(line.to_owned())).collect();
    talk.lines.extend(shown);
    talk.answered(&answer, &["scheduled"]);
}

/// Without what differs each time: times, numbers of asks, hashes.
fn stable(picture: &str) -> String {
    let picture = Regex::new(r"\d{4}-\d\d-\d\dT[0-9:.]+Z").unwrap().replace_all(picture, "TIME").into_owned();
    let picture = Regex::new(r"\b[0-9A-HJKMNP-TV-Z]{6}\b").unwrap().replace_all(&picture, "ASK").into_owned();
    Regex::new(r"\d+ s\b|\d+ records|[0-9a-f]{16,}").unwrap().replace_all(&picture, "VALUE").into_owned()
}

#[tokio::test]
async fn the_picture_is_what_takes_place() {
    let now = draw(&conversation().await);
    let file = here().join(PICTURE);
    let is_current = file.exists() && stable(&page(PICTURE)) == stable(&now);
    if !is_current && std::env::var_os("BLESS").is_some() {
        fs::write(&file, &now).unwrap();
    }
    assert!(is_current, "{PICTURE} shows another conversation; ./ci/picture draws it anew:\n{now}");
}

#[test]
fn another_answer_is_another_picture() {
    let picture = |text: &str| stable(&draw(&[Line::Answer(text.to_owned())]));
    assert_eq!(picture("at 2026-11-27T06:44:37.504Z"), picture("at 2027-01-01T00:00:00.000Z"));
    assert_ne!(picture("{\"pin\":17}"), picture("{\"pin\":18}"));
}
