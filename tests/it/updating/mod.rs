//! What the server does about updates by itself, hour after hour: a server and an agent on a simulated machine, and a channel in a folder.
//!
//! Time is tokio's own, paused: it goes on to the next timer when there is nothing else to do, and both halves' clocks go with it.
//! What runs on tokio's threads counts as something to do; the agent's install does not, since its thread is its own. A test that waits
//! for one holds the time still for so long ([`Device::job_stops`]).

mod armed;
mod changes;
mod checks;
mod damage;
mod dead_man;
mod left;
mod outages;
mod roots;
mod rounds;
mod still;
mod years;

pub use still::Standstill;

use crate::{
    agent::update::request,
    manage::web::{Web, looks_at},
    update::envelope,
};
use agent::operations as op;
use agent::{self, Agent, AgentLink, AgentSettings, CardPort, UpdateTool, machine::SimulatedMachine};
use base::{
    clock::Wall,
    error::ErrorCode,
    os::{Root, bus::DBus},
};
use contract::{
    config::{Places, Settings, sections::update::UpdateSettings},
    meta::Mode,
};
use hw::{
    board::{Board, Choice},
    machine::Machine,
};
use raspi_mcp::{audit::Audit, log::Ring, services::Services, store::Store};
use serde_json::json;
use std::{
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
    time::Duration,
};
use tempfile::TempDir;
use tokio::{
    runtime::Handle,
    time::{Instant, sleep, timeout},
};
use tokio_util::sync::CancellationToken;
use update::{
    channel::{
        recall,
        window::{Window, Windows},
    },
    install::InstallStream,
    job::{JobRecord, Jobs},
    status::{Phase, UpdateStatus},
};
use update_client::UpdateClient;

const MINUTE: Duration = Duration::from_secs(60);
const HOUR: Duration = Duration::from_secs(3600);
/// Whatever happens by itself happens within so long, or never.
const EVER: Duration = Duration::from_secs(20 * 86_400);

/// A device at its publisher's.
struct Device {
    web: Web,
    agent: Option<Arc<Agent>>,
    settings: Arc<Settings>,
    clock: agent::Clock,
    /// Milliseconds that it is ahead of the time.
    ahead: Arc<AtomicI64>,
    /// Midnight of its first day, in milliseconds since 1970 UTC; the zone is UTC.
    midnight_ms: i64,
    owners_check: Arc<checks::OwnersCheck>,
    dir: TempDir,
    server: Option<(Arc<Services>, CancellationToken)>,
}

impl Device {
    /// At `hour` o'clock of a day to come. Its server does not run yet.
    fn at(hour: u64, change: impl FnOnce(&mut UpdateSettings)) -> Self {
        Self::set(hour, |settings| change(&mut settings.update))
    }

    fn set(hour: u64, change: impl FnOnce(&mut Settings)) -> Self {
        let midnight = Self::next_midnight();
        Self::of(Web::at(midnight), midnight, hour, change)
    }

    /// One whose publisher's root of trust holds for so many seconds.
    fn lasting(seconds: u64, hour: u64, change: impl FnOnce(&mut Settings)) -> Self {
        let midnight = Self::next_midnight();
        Self::of(Web::lasting(midnight, seconds), midnight, hour, change)
    }

    fn next_midnight() -> u64 {
        (crate::manage::web::now() / 86_400 + 1) * 86_400
    }

    fn of(web: Web, midnight: u64, hour: u64, change: impl FnOnce(&mut Settings)) -> Self {
        let dir = TempDir::new().unwrap();
        let root = Root::at(dir.path());
        let mut settings = Settings::default_for(&Places::below(dir.path()));
        looks_at(&mut settings, web.folder.path());
        std::fs::copy(web.folder.path().join("root.signed"), dir.path().join("root.signed")).unwrap();
        settings.update.trust = "/root.signed".into();
        settings.socket.enabled = false;
        change(&mut settings);

        let (runtime, begin) = (Handle::current(), Instant::now());
        let midnight_ms = midnight as i64 * 1000;
        let begin_ms = midnight_ms + hour as i64 * 3_600_000;
        let ahead = Arc::new(AtomicI64::new(0));
        let skew = Arc::clone(&ahead);
        let clock: agent::Clock = Arc::new(move || {
            // The agent's thread of an install asks as well.
            let _within = runtime.enter();
            begin_ms + begin.elapsed().as_millis() as i64 + skew.load(Ordering::Relaxed)
        });
        let owners_check = Arc::default();
        let agent = Some(Self::agent_of(&settings, &root, &clock, "first boot", &owners_check));
        Self { web, agent, settings: Arc::new(settings), clock, ahead, midnight_ms, owners_check, dir, server: None }
    }

    fn agent_of(
        settings: &Settings,
        root: &Root,
        clock: &agent::Clock,
        boot: &str,
        owners_check: &Arc<checks::OwnersCheck>,
    ) -> Arc<Agent> {
        let of_agent = AgentSettings::of(settings, true, root.clone());
        let port = CardPort::of(&of_agent);
        let machine = Arc::new(SimulatedMachine::new(boot));
        let runner = Arc::new(checks::WithOwnersCheck(Arc::clone(owners_check)));
        let platform = agent::Platform { update: port, runner, ..agent::Platform::new(Arc::clone(clock), machine) };
        Agent::start(of_agent, platform).unwrap()
    }

    /// The power fails and comes back: both halves are gone, and a new agent finds what is on the card.
    async fn power_cut(&mut self) {
        self.power_off().await;
        self.power_on();
    }

    async fn power_off(&mut self) {
        self.stop();
        let gone = Arc::downgrade(&self.agent.take().expect("an agent"));
        while gone.strong_count() > 0 {
            sleep(Duration::from_millis(10)).await;
        }
    }

    fn power_on(&mut self) {
        let root = Root::at(self.dir.path());
        let boot = format!("boot at {}", self.true_ms());
        self.agent = Some(Self::agent_of(&self.settings, &root, &self.clock, &boot, &self.owners_check));
    }

    fn agent(&self) -> &Arc<Agent> {
        self.agent.as_ref().expect("an agent")
    }

    /// Starts the server, in the place of one that runs.
    fn serve(&mut self) {
        self.stop();
        let root = Root::at(self.dir.path());
        let board = Board::detect(Choice::Simulated, &root).unwrap();
        let (machine, link, clock) = (
            Machine { bus: DBus::at("unix:path=/nowhere"), ..Machine::new(root, board, None) },
            self.link(),
            Arc::clone(&self.clock),
        );
        let (settings, wall) = (&self.settings, Wall::of(move || clock()));
        let store = Store::open(&self.dir.path().join("store.db")).unwrap();
        let audit = Audit::new(store.clone(), settings.audit.max_bytes, None);
        let updates = UpdateClient::of(settings, &machine, link.clone(), wall);
        let services = Services::new(Arc::clone(settings), Arc::new(machine), link, store, audit, Ring::new(10));
        let services = Arc::new(Services { updates, ..services });
        let stop = CancellationToken::new();
        services.updates.begin(&services.machine, stop.clone());
        self.server = Some((services, stop));
    }

    fn stop(&mut self) {
        if let Some((_, stop)) = self.server.take() {
            stop.cancel();
        }
    }

    fn link(&self) -> AgentLink {
        AgentLink::InProcess(Arc::clone(self.agent()))
    }

    fn updates(&self) -> &UpdateClient {
        &self.server.as_ref().expect("a server").0.updates
    }

    fn jobs(&self) -> &Jobs {
        self.updates().jobs()
    }

    async fn status(&self) -> UpdateStatus {
        self.link().get::<op::update::GetUpdateStatus>().await.unwrap()
    }

    /// Nobody has set the clock in this boot, and systemd-timesyncd says so.
    fn clock_unset(&self) {
        std::fs::create_dir_all(self.dir.path().join("run/systemd/timesync")).unwrap();
    }

    /// It starts with a clock that is so many hours ahead, or behind, and nobody sets it.
    async fn starts_with_clock(&mut self, hours: i64) {
        self.power_off().await;
        self.ahead.store(hours * 3_600_000, Ordering::Relaxed);
        let _ = std::fs::remove_file(self.dir.path().join("run/systemd/timesync/synchronized"));
        self.clock_unset();
        self.power_on();
    }

    /// Milliseconds since 1970 UTC, whatever its clock says.
    fn true_ms(&self) -> i64 {
        (self.clock)() - self.ahead.load(Ordering::Relaxed)
    }

    /// A time server answered.
    fn clock_set(&self) {
        self.ahead.store(0, Ordering::Relaxed);
        std::fs::write(self.dir.path().join("run/systemd/timesync/synchronized"), "").unwrap();
    }

    /// Hours since midnight of the first day.
    fn hours(&self, at_ms: i64) -> f64 {
        (at_ms - self.midnight_ms) as f64 / 3_600_000.0
    }

    fn now(&self) -> f64 {
        self.hours((self.clock)())
    }

    /// When the channel was last heard, in hours as above.
    fn heard(&self) -> Option<f64> {
        let seen = recall(&self.folder(), "stable")?;
        Some(self.hours(seen.checked_ms))
    }

    fn folder(&self) -> PathBuf {
        self.settings.places.state_dir.join("updates")
    }

    /// The next job that begins by itself.
    async fn job_begins(&self) -> JobRecord {
        let mut changes = self.jobs().changes();
        let begins = async {
            while !self.jobs().runs() {
                changes.changed().await.unwrap();
            }
            self.jobs().newest().unwrap()
        };
        timeout(EVER, begins).await.expect("a job that begins by itself")
    }

    /// The job that runs, once it has ended or waits for the hour of its restart. The time goes on where it waits to fetch.
    async fn job_stops(&self) -> JobRecord {
        let mut changes = self.jobs().changes();
        let mut still = None;
        loop {
            let kept = self.jobs().newest().expect("a job");
            if !self.jobs().runs() || kept.message.contains("once update.window") {
                return kept;
            }
            if kept.message.starts_with("waits ") {
                still = None;
            } else if still.is_none() {
                still = Some(Standstill::begin());
            }
            changes.changed().await.unwrap();
        }
    }

    /// The jobs that begin within `time`, each as it ended. For those that fail before anything is written.
    async fn jobs_within(&self, time: Duration) -> Vec<JobRecord> {
        let (mut changes, over) = (self.jobs().changes(), sleep(time));
        tokio::pin!(over);
        let mut found: Vec<JobRecord> = Vec::new();
        loop {
            tokio::select! {
                () = &mut over => return found,
                changed = changes.changed() => changed.unwrap(),
            }
            let kept = self.jobs().newest().expect("a job");
            match found.last_mut() {
                Some(last) if last.order.id == kept.order.id => *last = kept,
                _ => found.push(kept),
            }
        }
    }

    fn bundle(&self, version: &str) -> Vec<u8> {
        std::fs::read(self.web.folder.path().join(format!("{version}.bundle"))).unwrap()
    }

    /// An install of that version that somebody (`token:fleet`) has begun, and does not go on with.
    async fn begun(&self, version: &str) -> InstallStream {
        let _still = Standstill::begin();
        let bundle = self.bundle(version);
        let stream = self.link().install(request(&json!({}), None)).await.unwrap();
        InstallStream::begin(stream, &bundle[..envelope(&bundle).index_at as usize]).await.unwrap().0
    }

    /// Leaves it, and waits until the agent has noticed.
    async fn leave(&self, install: InstallStream) {
        let _still = Standstill::begin();
        install.cancel().await.unwrap();
        // Any head will do: only who has the seat hears what is wrong with it.
        while let Err(error) = self.link().judge_bundle(UpdateTool::UpdateServer, b"no head").await {
            if error.code != ErrorCode::Conflict {
                return;
            }
            tokio::task::yield_now().await;
        }
    }

    /// Waits for the machine's restart number `count`.
    async fn restarted(&self, count: u32) {
        let mut starts = self.agent().starts();
        timeout(EVER, starts.wait_for(|starts| *starts > count)).await.expect("a restart").unwrap();
    }

    /// How often the machine has restarted.
    fn restarts(&self) -> u32 {
        *self.agent().starts().borrow() - 1
    }

    /// How often the agent was told to go back.
    fn told(&self) -> usize {
        // What was done, and what was refused.
        let log = |name| std::fs::read_to_string(self.settings.places.agent_state_dir.join(name)).unwrap_or_default();
        ["operations.ndjson", "attempts.ndjson"].map(|name| log(name).matches("\"roll_back\"").count()).iter().sum()
    }

    /// The publisher's folder goes away, or comes back.
    fn channel(&self, there: bool) {
        let (here, away) = (self.web.folder.path().join("stable"), self.web.folder.path().join("away"));
        if there { std::fs::rename(away, here) } else { std::fs::rename(here, away) }.unwrap();
    }
}

/// The version that runs, and how the last attempt stands.
fn runs(status: &UpdateStatus) -> (Option<&str>, Option<Phase>) {
    let running = status.slots.iter().find(|slot| slot.running).unwrap();
    (running.version.as_deref(), status.last_attempt.as_ref().map(|attempt| attempt.phase))
}

fn windows(text: &str) -> Windows {
    Windows(vec![Window::parse(text).unwrap()])
}

fn deny(settings: &mut Settings, tool: &str) {
    settings.policy.insert(tool.into(), Mode::Deny);
}
