//! Real processes, ended by SIGKILL at every point that touches the target: the next one goes on, and ends armed with the right content.
//!
//! This program is started again as the agent or as the server half ([`an_agent`], [`a_server`]), with what it is to do in its environment.

use super::*;
use crate::agent::{Pi, authorization, update::install};
use ::agent::operations as op;
use ::agent::{
    Agent, AgentLink, BootableCard, CardPort, Client, Platform, UpdateTool, bind, machine::SimulatedMachine,
    operations::update::InstallRequest, serve,
};
use ::update::{
    Slot,
    disk::{Area, FolderDisk},
    install::{
        InstallStream,
        hooks::{InstallObserver, Point, Unwatched},
    },
    simulated,
    status::{RestartPlan, SlotState},
};
use contract::meta::Mode;
use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Stdio,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};
use tempfile::TempDir;
use tokio::{
    io::{AsyncBufReadExt, BufReader},
    process::{Child, Command},
};
use tokio_util::sync::CancellationToken;

const FOLDER: &str = "KILL_FOLDER";
const POINT: &str = "KILL_POINT";
const COUNT: &str = "KILL_COUNT";
const PATIENCE: Duration = Duration::from_secs(60);
const BOOT: usize = 256 << 10;
const ROOT: usize = 4 << 20;

fn request() -> InstallRequest {
    let authorization = Some(authorization(&serde_json::json!({}), None));
    InstallRequest { tool: UpdateTool::UpdateServer, authorization, restart: RestartPlan::Waits }
}

/// The release that is installed: the root changes in every block.
fn bundle() -> Vec<u8> {
    let boot = simulated::boot_image(BOOT, "2.0.0").unwrap();
    a_bundle("2.0.0", 2, &boot, &root(), &[11, 12])
}

fn root() -> Vec<u8> {
    with_tree(&an_image(ROOT, 2), ROOT)
}

fn end_myself() {
    let own = rustix::process::getpid();
    let _ = rustix::process::kill_process(own, rustix::process::Signal::KILL);
}

/// Ends this process when that point is passed for the so manieth time.
struct KillAt(Point, AtomicU32);

impl InstallObserver for KillAt {
    fn passed(&self, point: Point) {
        if point == self.0 && self.1.fetch_sub(1, Ordering::SeqCst) == 1 {
            end_myself();
        }
    }
}

fn told(name: &str) -> Option<String> {
    env::var(name).ok().filter(|value| !value.is_empty())
}

/// The agent's process.
#[tokio::test]
#[ignore = "started by the tests below"]
async fn an_agent() {
    let Some(folder) = told(FOLDER).map(PathBuf::from) else { return };
    let mut settings = Pi::settings_in(&folder);
    settings.policy.namespaces.insert("manage".into());
    settings.policy.modes.insert("manage.update_server".into(), Mode::Allow);
    settings.update.product = PRODUCT.into();
    settings.update.trust = "/trust.json".into();
    // Killed and begun again more often than any machine should.
    settings.update.installs_per_day = 100;
    let point = told(POINT).and_then(|name| Point::ALL.into_iter().find(|point| point.name() == name));
    let count = told(COUNT).and_then(|count| count.parse().ok()).unwrap_or(1);
    let watch: Arc<dyn InstallObserver> = match point {
        Some(point) => Arc::new(KillAt(point, AtomicU32::new(count))),
        None => Arc::new(Unwatched),
    };
    let card = BootableCard::simulated(&folder.join("card"))
        .map(|card| BootableCard { hardware: vec![HARDWARE.into()], ..card });
    let machine = Arc::new(SimulatedMachine::new("boot"));
    let clock = Arc::new(|| NOW as i64 * 1000);
    let platform = Platform { update: CardPort { card, watch }, ..Platform::new(clock, machine) };
    let socket = settings.socket.clone();
    let agent = Agent::start(settings, platform).unwrap();
    let listener = bind(&socket, false).unwrap();
    println!("\nlistening");
    serve(listener, agent, CancellationToken::new()).await;
}

/// The server half's process: sends so many blocks, and is gone.
#[tokio::test]
#[ignore = "started by the tests below"]
async fn a_server() {
    let Some(folder) = told(FOLDER).map(PathBuf::from) else { return };
    let left: usize = told(COUNT).and_then(|count| count.parse().ok()).unwrap_or(0);
    let bundle = bundle();
    let (envelope, index) = (envelope(&bundle), opened(&bundle).1);
    let stream = link(&folder).install(request()).await.unwrap();
    let (mut install, _) = InstallStream::begin(stream, &bundle[..envelope.index_at as usize]).await.unwrap();
    install.index(&bundle[envelope.index_at as usize..envelope.blocks_at as usize]).await.unwrap();
    for n in install.wanted().await.unwrap().iter().take(left) {
        let block = index.block(n);
        install.block(n, &bundle[block.stored.start as usize..block.stored.end as usize]).await.unwrap();
    }
    end_myself();
}

fn link(folder: &Path) -> AgentLink {
    AgentLink::Socket(Client::new(&folder.join("run/agent.sock")))
}

/// A folder with a machine in it, and processes on it.
struct Machine(TempDir);

impl Machine {
    fn new() -> Self {
        let dir = TempDir::new().unwrap();
        fs::write(dir.path().join("trust.json"), a_root()).unwrap();
        Self(dir)
    }

    fn process(&self, test: &str, point: &str, count: usize) -> Child {
        let mut command = Command::new(env::current_exe().unwrap());
        command.args(["--exact", test, "--ignored", "--nocapture"]).env(FOLDER, self.0.path());
        command.env(POINT, point).env(COUNT, count.to_string()).kill_on_drop(true);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap()
    }

    /// An agent that listens.
    async fn agent(&self, point: &str, count: usize) -> Child {
        let mut child = self.process("update::kill::an_agent", point, count);
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let listening = async {
            while let Some(line) = lines.next_line().await.unwrap() {
                if line == "listening" {
                    // What it says later must find a reader.
                    tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
                    return;
                }
            }
            panic!("the agent ended before it listened");
        };
        tokio::time::timeout(PATIENCE, listening).await.expect("it listens");
        child
    }

    /// Goes on with a well agent, and finds the new slot armed and right. Gives how many blocks were sent.
    async fn goes_on(&self) -> usize {
        let _agent = self.agent("", 0).await;
        let link = link(self.0.path());
        let state = |status: &update::status::UpdateStatus| status.slots[1].state;
        let sent = if state(&link.get::<op::update::GetUpdateStatus>().await.unwrap()) == SlotState::Armed {
            link.get::<op::update::ResumeUpdate>().await.unwrap();
            0
        } else {
            install(&link, request(), &bundle()).await.unwrap().1.len()
        };
        assert_eq!(state(&link.get::<op::update::GetUpdateStatus>().await.unwrap()), SlotState::Armed);
        let disk = FolderDisk::at(self.0.path().join("card"));
        let content = |area| fs::read(disk.path(area)).unwrap();
        assert_eq!(content(Area::Root(Slot::B))[..ROOT], root());
        assert_eq!(content(Area::Boot(Slot::B)), simulated::boot_image(BOOT, "2.0.0").unwrap());
        sent
    }
}

async fn ends(mut child: Child) {
    let status = tokio::time::timeout(PATIENCE, child.wait()).await.expect("it ends").unwrap();
    use std::os::unix::process::ExitStatusExt;
    assert_eq!(status.signal(), Some(9), "it was not killed: {status}");
}

#[tokio::test]
async fn an_agent_killed_at_any_point_goes_on_from_there() {
    let all = {
        let machine = Machine::new();
        machine.goes_on().await
    };
    let mut cases: Vec<(Point, usize)> = Point::ALL.into_iter().map(|point| (point, 1)).collect();
    cases.extend([2, 50, all - 20].map(|count| (Point::WroteBlock, count)));
    for (point, count) in cases {
        let machine = Machine::new();
        let agent = machine.agent(point.name(), count).await;
        let bundle = bundle();
        let link = link(machine.0.path());
        let (result, ()) = tokio::join!(install(&link, request(), &bundle), ends(agent));
        assert!(result.is_err(), "{}: it was not killed", point.name());
        let sent = machine.goes_on().await;
        // Blocks that were written before are not asked for again.
        if point == Point::WroteBlock {
            assert!(sent <= all - count, "{count} written, and {sent} of {all} sent again");
        }
        if point > Point::Flushed {
            assert!(sent <= all / 8, "{}: {sent} of {all} sent again", point.name());
        }
    }
}

#[tokio::test]
async fn a_server_half_killed_midway_is_followed_by_another() {
    for count in [0, 1, 100] {
        let machine = Machine::new();
        let mut agent = machine.agent("", 0).await;
        ends(machine.process("update::kill::a_server", "", count)).await;
        // The agent of before is still there; it noticed, or is told by the next one's patience.
        let link = link(machine.0.path());
        loop {
            match link.install(request()).await {
                Ok(_) => break,
                Err(error) if error.code == base::error::ErrorCode::Conflict => tokio::task::yield_now().await,
                Err(error) => panic!("{error}"),
            }
        }
        // Gone, not only killed: the next one finds what it holds free.
        agent.kill().await.unwrap();
        let sent = machine.goes_on().await;
        assert!(sent > 0);
    }
}
