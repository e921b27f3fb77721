//! `raspi-mcp agent`, `approve` and `audit` as programs, on a machine of their own.

use agent::operations as op;
use agent::{AgentLink, AskRequest, Client};
use serde_json::json;
use std::{
    fs,
    path::PathBuf,
    process::{Output, Stdio},
    time::Duration,
};
use tempfile::TempDir;
use tokio::{
    io::{AsyncBufReadExt, BufReader},
    process::{Child, Command},
};

/// Longer than anything here takes; who waits longer has found a hang.
const PATIENCE: Duration = Duration::from_secs(20);

/// A folder with a configuration that keeps everything inside.
struct Machine(TempDir);

impl Machine {
    fn new() -> Self {
        let dir = TempDir::new().unwrap();
        let at = |name: &str| dir.path().join(name).display().to_string();
        let config = format!(
            "board = \"simulated\"\nagent = \"socket\"\n[tools]\nenable = [\"system\"]\n[places]\nstate_dir = {:?}\n\
             runtime_dir = {:?}\nagent_state_dir = {:?}\nagent_socket = {:?}\n",
            at("state"),
            at("run"),
            at("agent"),
            at("run/agent.sock")
        );
        fs::write(dir.path().join("raspi-mcp.toml"), config).unwrap();
        Self(dir)
    }

    fn at(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_raspi-mcp"));
        command.env_clear().env("HOME", self.0.path()).kill_on_drop(true);
        command.arg("--config").arg(self.at("raspi-mcp.toml")).args(args);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    async fn run(&self, args: &[&str]) -> Output {
        tokio::time::timeout(PATIENCE, self.command(args).output()).await.expect("it ends").unwrap()
    }

    /// The agent, once it listens.
    async fn agent(&self) -> Child {
        let mut child = self.command(&["agent"]).spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let listening = async {
            while let Some(line) = lines.next_line().await.unwrap() {
                if line.contains("agent listening") {
                    // Kept open, or its next line would find nobody to read it.
                    tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
                    return;
                }
            }
            panic!("it ended without listening");
        };
        tokio::time::timeout(PATIENCE, listening).await.expect("it listens");
        child
    }

    fn link(&self) -> AgentLink {
        AgentLink::Socket(Client::new(&self.at("run/agent.sock")))
    }
}

fn said(output: &Output) -> (Option<i32>, String) {
    let text = [output.stdout.as_slice(), output.stderr.as_slice()].concat();
    (output.status.code(), String::from_utf8(text).unwrap())
}

#[tokio::test]
async fn the_agent_listens_answers_and_ends_when_told() {
    let machine = Machine::new();
    let mut agent = machine.agent().await;
    let link = machine.link();
    assert!(link.get::<op::status::GetStatus>().await.unwrap().simulated);

    let second = machine.run(&["agent"]).await;
    let (code, text) = said(&second);
    assert_eq!(code, Some(1), "{text}");
    assert!(text.contains("another agent uses"), "{text}");

    let pid = rustix::process::Pid::from_raw(i32::try_from(agent.id().unwrap()).unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    let status = tokio::time::timeout(PATIENCE, agent.wait()).await.expect("it ends").unwrap();
    assert!(status.success(), "{status}");
    assert!(!machine.at("run/agent.sock").exists());
}

#[tokio::test]
async fn an_agent_with_a_place_in_its_environment_says_that_it_does_not_read_it_and_what_to_do() {
    let machine = Machine::new();
    let mut command = machine.command(&["agent"]);
    command.env("RASPI_MCP__PLACES__AGENT_SOCKET", machine.at("elsewhere.sock"));
    let mut agent = command.spawn().unwrap();
    let mut lines = BufReader::new(agent.stderr.take().unwrap()).lines();
    let told = async {
        let mut told = String::new();
        loop {
            let line = lines.next_line().await.unwrap().expect("it goes on");
            if line.contains("agent listening") {
                return (told, line);
            }
            told += &line;
        }
    };
    let (told, listening) = tokio::time::timeout(PATIENCE, told).await.expect("it listens");
    assert!(told.contains("RASPI_MCP__PLACES__AGENT_SOCKET is not read"), "{told}");
    assert!(told.contains("set places in the image or in /etc/raspi-mcp, which both halves read"), "{told}");
    assert!(listening.contains(machine.at("run/agent.sock").to_str().unwrap()), "{listening}");
}

#[tokio::test]
async fn a_server_whose_places_are_not_its_agents_says_which_at_start_and_doctor_names_them() {
    let machine = Machine::new();
    let _agent = machine.agent().await;
    let state = machine.at("other-state").display().to_string();
    let mut command = machine.command(&["--set", "http.enabled=false", "serve"]);
    command.env("RASPI_MCP__PLACES__STATE_DIR", &state);
    let mut server = command.spawn().unwrap();
    let mut lines = BufReader::new(server.stderr.take().unwrap()).lines();
    let differ =
        format!("places.state_dir is {state} for the server and {} for the agent", machine.at("state").display());
    let told = async {
        let (mut variable, mut difference) = (false, false);
        while !(variable && difference) {
            let line = lines.next_line().await.unwrap().expect("it goes on");
            variable |= line.contains("the agent does not read RASPI_MCP__PLACES__STATE_DIR");
            difference |= line.contains(&differ);
        }
        // Kept open, or its next line would find nobody to read it.
        tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
    };
    tokio::time::timeout(PATIENCE, told).await.expect("it says both");

    // This command has no such variable: the server that runs does.
    while !machine.at("run/mcp.sock").exists() {
        tokio::task::yield_now().await;
    }
    let (code, text) = said(&machine.run(&["doctor", "--json"]).await);
    let report: serde_json::Value = serde_json::from_str(&text).unwrap();
    let places = report["findings"].as_array().unwrap().iter().find(|finding| finding["about"] == "places");
    assert_eq!((code, &places.expect("it is named")["says"]), (Some(1), &json!(differ)), "{text}");
}

#[tokio::test]
async fn a_killed_agent_is_followed_by_one_that_knows_what_was_scheduled() {
    let machine = Machine::new();
    let mut agent = machine.agent().await;
    let args = json!({"delay_seconds": 600});
    let request = AskRequest {
        marks: Default::default(),
        tool: "system.reboot".into(),
        summary: "reboot".into(),
        args_sha256: base::canonical::sha256_hex(&args),
        args,
        principal: "stdio".into(),
        ..Default::default()
    };
    let asked = machine.link().call::<op::asks::OpenAsk>(request.clone()).await.unwrap();
    machine
        .link()
        .call::<op::asks::AnswerAsk>(op::asks::AnswerRequest { id: asked.id.clone(), approve: true })
        .await
        .unwrap();
    let reboot = op::power::PowerRequest {
        action: agent::PowerAction::Reboot,
        delay_seconds: 600,
        reason: None,
        authorization: agent::Authorization {
            principal: "stdio".into(),
            args_sha256: request.args_sha256,
            ask_id: Some(asked.id),
        },
    };
    let scheduled = machine.link().call::<op::power::SchedulePower>(reboot).await.unwrap();
    agent.kill().await.unwrap();
    assert_eq!(machine.link().get::<op::status::GetStatus>().await.unwrap_err().code.symbol(), "unavailable");

    let _agent = machine.agent().await;
    let status = machine.link().get::<op::status::GetStatus>().await.unwrap();
    assert_eq!(status.power, Some(scheduled));
}

#[tokio::test]
async fn a_pipe_cannot_approve_but_may_look() {
    let machine = Machine::new();
    let (code, text) = said(&machine.run(&["approve", "--list"]).await);
    assert_eq!(code, Some(4), "no agent: {text}");
    let _agent = machine.agent().await;
    let (code, text) = said(&machine.run(&["approve"]).await);
    assert_eq!(code, Some(5), "{text}");
    assert!(text.contains("on a terminal"), "{text}");
    let (code, text) = said(&machine.run(&["approve", "--list"]).await);
    assert_eq!((code, text.as_str()), (Some(0), "nothing waits for an approval\n"));
}

#[tokio::test]
async fn the_audit_of_a_server_is_shown_and_verified_and_tampering_ends_with_1() {
    let machine = Machine::new();
    let _agent = machine.agent().await;
    let store = raspi_mcp::store::Store::open(&machine.at("state/store.db")).unwrap();
    let audit = raspi_mcp::audit::Audit::new(store, 1 << 20, Some(machine.link()));
    for n in 0..3 {
        audit.write(crate::access::call("gpio.write_pin", n)).await.unwrap();
    }
    // Writing to the agent is a task of its own; verify asks both.
    while machine.link().get::<op::status::GetStatus>().await.unwrap().audit_head.is_none_or(|head| head.seq < 4) {
        tokio::task::yield_now().await;
    }
    let (code, text) = said(&machine.run(&["audit", "verify"]).await);
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains("the audit is whole: 4 records, 1 to 4"), "{text}");
    assert!(text.contains("compared with what the agent saw"), "{text}");
    let (code, text) = said(&machine.run(&["audit", "show", "--limit", "2"]).await);
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains("gpio.write_pin") && text.ends_with("2 of 3 records\n"), "{text}");
    let (_, text) = said(&machine.run(&["audit", "show", "--json", "--outcome", "permission_denied"]).await);
    let record: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(record["seq"], 2);

    let db = rusqlite::Connection::open(machine.at("state/store.db")).unwrap();
    db.execute_batch("DELETE FROM audit WHERE seq = 4").unwrap();
    let (code, text) = said(&machine.run(&["audit", "verify", "--json"]).await);
    let report: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!((code, &report["ok"], &report["break_at"]), (Some(1), &json!(false), &json!(4)), "{text}");
}
