//! The real program, started as a client would.

use super::{Door, Wire, soon};
use std::process::Stdio;
use tempfile::TempDir;
use tokio::{
    io::{AsyncBufReadExt, BufReader},
    process::{Child, Command},
};

/// A running `raspi-mcp`. Killed when dropped.
pub struct Process {
    pub child: Child,
    root: TempDir,
    /// Where it listens for HTTP.
    pub url: Option<String>,
    pub log: Option<tokio::task::JoinHandle<String>>,
}

/// `raspi-mcp` with its folders below `root` and a simulated board.
pub fn command(root: &TempDir, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_raspi-mcp"));
    let at = |name: &str| root.path().join(name);
    command.env_clear().kill_on_drop(true).args(args);
    command.env("RASPI_MCP__BOARD", "simulated").env("RASPI_MCP__AGENT", "inprocess");
    command.env("RASPI_MCP__PLACES__STATE_DIR", at("state")).env("RASPI_MCP__PLACES__RUNTIME_DIR", at("run"));
    command.env("RASPI_MCP__PLACES__AGENT_STATE_DIR", at("agent"));
    command.env("RASPI_MCP__PLACES__AGENT_SOCKET", at("run/agent.sock"));
    command.env("RASPI_MCP__SOCKET__PATH", at("run/mcp.sock"));
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

impl Process {
    /// `serve --stdio`.
    pub fn stdio(args: &[&str]) -> (Self, Wire) {
        let root = TempDir::new().unwrap();
        let mut child = command(&root, &[&["serve", "--stdio"], args].concat()).spawn().unwrap();
        let wire = Wire::lines(Door::Stdio, child.stdout.take().unwrap(), child.stdin.take().unwrap());
        (Self { child, root, url: None, log: None }, wire)
    }

    /// `serve --http 127.0.0.1:0`; returns once it listens on both its doors.
    pub async fn http(args: &[&str]) -> Self {
        Self::http_in(TempDir::new().unwrap(), args).await
    }

    /// The same in a folder with something in it. With TLS the URL says so.
    pub async fn http_in(root: TempDir, args: &[&str]) -> Self {
        let mut child = command(&root, &[&["serve", "--http", "127.0.0.1:0"], args].concat()).spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let (mut url, mut text) = (None, String::new());
        while let Some(line) = soon(lines.next_line()).await.unwrap() {
            if let Some((_, found)) = line.split_once("listening on http") {
                let found = found.split("/mcp").next().unwrap();
                url = Some(format!("http{found}"));
            }
            text.push_str(&line);
            text.push('\n');
            if line.contains("mcp.sock") {
                break;
            }
        }
        assert!(url.is_some(), "it never listened:\n{text}");
        let log = tokio::spawn(async move {
            while let Ok(Some(line)) = lines.next_line().await {
                text.push_str(&line);
                text.push('\n');
            }
            text
        });
        Self { child, root, url, log: Some(log) }
    }

    /// Another run in the same folder, after this one has ended.
    pub async fn again(self, args: &[&str]) -> Self {
        Self::http_in(self.root, args).await
    }

    pub fn socket(&self) -> std::path::PathBuf {
        self.root.path().join("run/mcp.sock")
    }

    pub fn path(&self, name: &str) -> std::path::PathBuf {
        self.root.path().join(name)
    }

    /// Resident memory, in KiB.
    pub fn resident_kib(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id().expect("it runs"))).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
        line.trim().trim_end_matches(" kB").parse().unwrap()
    }

    /// What systemd does to stop a service.
    pub fn terminate(&self) {
        let pid = i32::try_from(self.child.id().expect("it runs")).unwrap();
        let pid = rustix::process::Pid::from_raw(pid).unwrap();
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    }

    /// Waits for its end; returns its exit code.
    pub async fn ended(&mut self) -> Option<i32> {
        soon(self.child.wait()).await.unwrap().code()
    }
}
