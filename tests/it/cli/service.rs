//! `raspi-mcp serve` and `agent` as services: what systemd hears, and when.

use crate::support::served::{PATIENCE, process::command};
use std::{
    path::{Path, PathBuf},
    process::{ExitStatus, Stdio},
};
use tempfile::TempDir;
use tokio::{
    net::{TcpStream, UnixDatagram, UnixStream},
    process::Child,
};

struct Service {
    child: Child,
    manager: UnixDatagram,
    root: TempDir,
}

impl Service {
    /// Starts it as systemd would, with a watchdog of this many microseconds. `{root}` is its folder.
    fn start(args: &[&str], watchdog: Option<&str>) -> Self {
        let root = TempDir::new().unwrap();
        let here = root.path().display().to_string();
        let args: Vec<String> = args.iter().map(|arg| arg.replace("{root}", &here)).collect();
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        let path = root.path().join("notify");
        let manager = UnixDatagram::bind(&path).unwrap();
        let mut command = command(&root, &args);
        command.env("NOTIFY_SOCKET", path).envs(watchdog.map(|limit| ("WATCHDOG_USEC", limit)));
        command.stdout(Stdio::null()).stderr(Stdio::null());
        Self { child: command.spawn().unwrap(), manager, root }
    }

    async fn hears(&self) -> String {
        let mut buffer = [0; 4096];
        let length = tokio::time::timeout(PATIENCE, self.manager.recv(&mut buffer)).await.expect("a word").unwrap();
        String::from_utf8(buffer[..length].to_vec()).unwrap()
    }

    fn at(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    /// Ends it as systemd would; everything it said from then on.
    async fn stopped(mut self) -> Vec<String> {
        let pid = rustix::process::Pid::from_raw(i32::try_from(self.child.id().unwrap()).unwrap()).unwrap();
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
        let status = self.ended().await;
        assert!(status.success(), "{status}");
        self.heard()
    }

    async fn ended(&mut self) -> ExitStatus {
        tokio::time::timeout(PATIENCE, self.child.wait()).await.expect("it ends").unwrap()
    }

    /// Everything it said that was not looked at yet.
    fn heard(&self) -> Vec<String> {
        let mut words = Vec::new();
        let mut buffer = [0; 4096];
        while let Ok(length) = self.manager.try_recv(&mut buffer) {
            words.push(String::from_utf8(buffer[..length].to_vec()).unwrap());
        }
        words
    }
}

/// What `STATUS=` says.
fn status(words: &str) -> &str {
    words.lines().find_map(|line| line.strip_prefix("STATUS=")).expect("a status")
}

#[tokio::test]
async fn a_server_is_ready_once_all_its_doors_are_open_and_says_when_it_goes() {
    let service = Service::start(&["serve", "--http", "127.0.0.1:0"], None);
    let ready = service.hears().await;
    assert!(ready.starts_with("READY=1\n"), "{ready}");
    let doors = status(&ready).strip_prefix("listening on ").unwrap();
    let (http, socket) = doors.split_once(" and ").unwrap();
    assert_eq!(Path::new(socket), service.at("run/mcp.sock"));
    UnixStream::connect(socket).await.expect("the socket takes connections");
    let address = http.strip_prefix("http://").unwrap().strip_suffix("/mcp").unwrap();
    TcpStream::connect(address).await.expect("so does HTTP");

    let last = service.stopped().await;
    assert_eq!(last.len(), 1, "no watchdog, no signs of life: {last:?}");
    assert!(last[0].starts_with("STOPPING=1\n"), "{last:?}");
}

#[tokio::test]
async fn an_agent_is_ready_once_its_socket_is_there() {
    // The agent believes no variable: flags it is.
    let places = ["--set", "places.agent_state_dir={root}/agent", "--set", "places.agent_socket={root}/agent.sock"];
    let service = Service::start(&[&["agent", "--set", "board=simulated"], &places[..]].concat(), None);
    let ready = service.hears().await;
    assert!(ready.starts_with("READY=1\n"), "{ready}");
    let socket = status(&ready).strip_prefix("listening on ").unwrap();
    UnixStream::connect(socket).await.expect("it takes connections");
    let last = service.stopped().await;
    assert!(last.len() == 1 && last[0].starts_with("STOPPING=1\n"), "{last:?}");
}

#[tokio::test]
async fn a_watched_server_shows_that_it_lives_until_it_has_gone() {
    let service = Service::start(&["serve", "--http", "127.0.0.1:0"], Some("20000"));
    assert!(service.hears().await.starts_with("READY=1\n"));
    for _ in 0..3 {
        assert_eq!(service.hears().await, "WATCHDOG=1");
    }
    let last = service.stopped().await;
    let signs = last.iter().filter(|words| *words == "WATCHDOG=1").count();
    assert_eq!(last.iter().filter(|words| words.starts_with("STOPPING=1")).count(), 1, "{last:?}");
    assert_eq!(signs + 1, last.len(), "{last:?}");
}

#[tokio::test]
async fn a_server_whose_door_is_taken_is_never_ready() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let mut service = Service::start(&["serve", "--http", &taken.local_addr().unwrap().to_string()], None);
    assert_eq!(service.ended().await.code(), Some(1));
    assert_eq!(service.heard(), Vec::<String>::new());
}

#[tokio::test]
async fn a_stdio_server_is_its_clients_and_no_service() {
    let mut service = Service::start(&["serve", "--stdio"], Some("20000"));
    // Its client hangs up.
    drop(service.child.stdin.take());
    assert!(service.ended().await.success());
    assert_eq!(service.heard(), Vec::<String>::new());
}
