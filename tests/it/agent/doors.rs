//! A flood of connections at the socket that is everybody's, and those who come in by a door of their own.

use super::*;
use ::agent::Client;
use ::hw::board::{Board, Choice};
use base::{error::ErrorCode, os::doors::beside};
use std::{
    os::unix::{fs::PermissionsExt, net::UnixStream},
    path::{Path, PathBuf},
    sync::atomic::{AtomicBool, AtomicU64},
    time::Instant,
};
use tokio_util::sync::CancellationToken;

/// An agent as its unit runs it, with a server of another user, until dropped.
struct Running {
    settings: AgentSettings,
    stop: CancellationToken,
    task: tokio::task::JoinHandle<Result<(), ToolError>>,
}

impl Running {
    async fn new(folder: &Path) -> Self {
        let own = rustix::process::getegid().as_raw();
        let etc = folder.join("etc");
        std::fs::create_dir_all(&etc).unwrap();
        std::fs::write(etc.join("passwd"), format!("raspi-mcp:x:4711:{own}::/:/bin/false\n")).unwrap();
        std::fs::write(etc.join("group"), format!("raspi-mcp-approver:x:{own}:ann\n")).unwrap();
        let mut settings = Pi::settings_in(folder);
        settings.server_uid = Some(rustix::process::getuid().as_raw() + 1);
        settings.root = Root::at(folder);
        let (ready, is_ready) = tokio::sync::oneshot::channel();
        let (running, stop) = (settings.clone(), CancellationToken::new());
        let stopped = stop.clone();
        let task = tokio::spawn(async move {
            let board = Board::detect(Choice::Simulated, &running.root).unwrap();
            agent::run(running, &board, stopped, move || ready.send(()).unwrap_or_default()).await
        });
        is_ready.await.unwrap();
        Self { settings, stop, task }
    }

    async fn end(self) {
        self.stop.cancel();
        self.task.await.unwrap().unwrap();
    }
}

/// Somebody who connects and closes without end, without waiting for a place, on threads of their own.
pub struct Flood {
    goes_on: Arc<AtomicBool>,
    full: Arc<AtomicU64>,
    threads: Vec<std::thread::JoinHandle<u64>>,
}

/// How long calls go on until the queue was full once: that depends on what else the computer does.
const LONGEST_FLOOD: Duration = Duration::from_secs(30);

impl Flood {
    pub fn at(path: &Path) -> Self {
        let (goes_on, full) = (Arc::new(AtomicBool::new(true)), Arc::new(AtomicU64::new(0)));
        let one = |path: PathBuf| {
            let (goes_on, full) = (Arc::clone(&goes_on), Arc::clone(&full));
            std::thread::spawn(move || {
                let mut connected = 0;
                while goes_on.load(Ordering::Relaxed) {
                    match connect_now(&path) {
                        Ok(_) => connected += 1,
                        Err(rustix::io::Errno::AGAIN) => drop(full.fetch_add(1, Ordering::Relaxed)),
                        Err(error) => panic!("{error}"),
                    }
                }
                connected
            })
        };
        let threads = (0..2).map(|_| one(path.to_owned())).collect();
        Self { goes_on, full, threads }
    }

    /// Whether a test that began then has seen enough: the queue was full, or never is.
    pub fn is_enough(&self, began: Instant) -> bool {
        self.full.load(Ordering::Relaxed) > 0 || began.elapsed() > LONGEST_FLOOD
    }

    /// Connections that were made, and those for which the queue had no place.
    pub fn end(self) -> (u64, u64) {
        self.goes_on.store(false, Ordering::Relaxed);
        let connected = self.threads.into_iter().map(|thread| thread.join().unwrap()).sum();
        (connected, self.full.load(Ordering::Relaxed))
    }
}

fn connect_now(path: &Path) -> rustix::io::Result<UnixStream> {
    use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with};
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    connect(&socket, &SocketAddrUnix::new(path)?)?;
    Ok(socket.into())
}

#[tokio::test]
async fn a_halt_and_the_list_of_asks_get_through_a_flood_of_connections_within_a_second() {
    let dir = tempdir().unwrap();
    let agent = Running::new(dir.path()).await;
    let socket = agent.settings.socket.clone();
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let doors = ["root", "server", "approvers"].map(|name| beside(&socket, name));
    assert_eq!((mode(&socket), [0, 1, 2].map(|at| mode(&doors[at]))), (0o666, [0o600, 0o660, 0o660]));
    let flood = Flood::at(&socket);
    let (mut slowest, started, mut round) = (Duration::ZERO, Instant::now(), 0);
    while round < 50 || !flood.is_enough(started) {
        round += 1;
        let began = Instant::now();
        // A client of its own each time, as each command is.
        let link = AgentLink::Socket(Client::new(&socket));
        match round % 2 {
            0 => drop(link.call::<op::halt::SetHalt>(op::halt::HaltRequest::default()).await.unwrap()),
            _ => drop(link.get::<op::asks::ListAsks>().await.unwrap()),
        }
        slowest = slowest.max(began.elapsed());
    }
    let (connected, full) = flood.end();
    println!("slowest of {round} after {slowest:?}; {connected} connections of the flood, {full} found the queue full");
    assert!(slowest < Duration::from_secs(1), "{slowest:?}");
    assert!(full > 0, "the queue was never full: {connected}");
    agent.end().await;
    assert!(doors.iter().all(|door| !door.exists()), "the files go with the agent");
}

#[tokio::test]
async fn a_full_queue_is_not_told_as_an_agent_that_does_not_run() {
    let dir = tempdir().unwrap();
    let socket = dir.path().join("agent.sock");
    let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    let mut held = Vec::new();
    while let Ok(stream) = connect_now(&socket) {
        held.push(stream);
    }
    let began = Instant::now();
    let error = AgentLink::Socket(Client::new(&socket)).get::<op::status::GetStatus>().await.unwrap_err();
    assert!(began.elapsed() < Duration::from_secs(7), "{:?}", began.elapsed());
    assert_eq!(error.code, ErrorCode::Unavailable);
    assert!(error.message.contains("runs") && error.message.contains("queue"), "{error}");
    assert!(!error.hint.as_deref().unwrap().contains("systemctl start"), "{error}");
    // An agent that starts meanwhile does not take its place.
    let conflict = ::agent::bind(&socket, false).unwrap_err();
    assert_eq!(conflict.code, ErrorCode::Conflict);
}
