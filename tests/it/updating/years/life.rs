//! The life of one device.

use super::{
    super::*,
    plan::{self, Event, Random},
};
use std::{collections::BTreeSet, fs, os::unix::fs::symlink};
use update::{channel::window::Windows, health::Baseline, status::SlotState};

const DAY: Duration = Duration::from_secs(86_400);
/// After the last event, with power and a network.
const AFTERWARDS: u64 = 20;

struct Life {
    device: Device,
    /// The versions that crash their server.
    sick: BTreeSet<String>,
    newest_good: String,
    /// The counter of the newest version that was committed, as far as the device remembers.
    committed: u64,
    outages: u32,
    /// For how many reasons the owner's check fails.
    failing_checks: u32,
    /// How often the channel has moved.
    moves: u32,
    /// For the report.
    updates: u32,
    trials_failed: BTreeSet<String>,
}

/// Lives through what the seed has, and reports it; or what is wrong at its end.
pub fn lived(seed: u64) -> Result<String, String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
    runtime.block_on(async {
        let mut random = Random::of(seed);
        let mut life = Life::new(&mut random);
        let begun = Instant::now();
        let plan = plan::of(&mut random);
        let count = plan.len();
        for (hour, event) in plan {
            life.until(begun + HOUR * u32::try_from(hour).unwrap()).await?;
            life.happens(&event).await.map_err(|why| format!("hour {hour}, {event:?}: {why}"))?;
        }
        life.network(true);
        life.device.web.clock(life.seconds());
        life.device.web.publish();
        life.until(Instant::now() + DAY * u32::try_from(AFTERWARDS).unwrap()).await?;
        life.judged().await?;
        Ok(format!(
            "{count} events, {} updates, given up: {:?}, runs {}",
            life.updates, life.trials_failed, life.newest_good
        ))
    })
}

impl Life {
    fn new(random: &mut Random) -> Self {
        let windows = match random.below(3) {
            0 => Windows::default(),
            1 => windows("02:00-04:00"),
            _ => windows("sat,sun 01:00-05:00"),
        };
        let dead_man = [0, 48][usize::try_from(random.below(2)).unwrap()];
        let health_commands = if random.below(2) == 0 { Vec::new() } else { vec![checks::PROGRAM.into()] };
        let device = Device::lasting(3 * 366 * 86_400, random.below(24), |settings| {
            let update = &mut settings.update;
            (update.check_interval_hours, update.automatic) = (24, true);
            (update.window, update.dead_man_hours) = (windows, dead_man);
            update.health_commands = health_commands;
        });
        let mut life = Self {
            device,
            sick: BTreeSet::new(),
            newest_good: String::new(),
            committed: 0,
            outages: 0,
            failing_checks: 0,
            moves: 0,
            updates: 0,
            trials_failed: BTreeSet::new(),
        };
        life.device.web.publish();
        life.channel_moves();
        life
    }

    fn seconds(&self) -> u64 {
        u64::try_from(self.device.true_ms()).unwrap() / 1000
    }

    fn address(&self) -> PathBuf {
        self.device.dir.path().join(format!("channel-{}", self.moves))
    }

    fn network(&self, there: bool) {
        let _ = fs::remove_file(self.address());
        if there {
            symlink(self.device.web.folder.path(), self.address()).unwrap();
        }
    }

    /// The owner's configuration has another address from now on.
    fn channel_moves(&mut self) {
        self.device.stop();
        let _ = fs::remove_file(self.address());
        self.moves += 1;
        let mut settings = (*self.device.settings).clone();
        settings.update.url = self.address().display().to_string();
        self.device.settings = Arc::new(settings);
        self.network(self.outages == 0);
    }

    /// Time goes on until then, and the device does what it does by itself.
    async fn until(&mut self, at: Instant) -> Result<(), String> {
        let mut moments = 0;
        loop {
            let mut starts = self.device.agent().starts();
            starts.mark_unchanged();
            self.looks().await?;
            let (jobs, mut changes) = match &self.device.server {
                Some(_) => (true, self.device.jobs().changes()),
                None => (false, tokio::sync::watch::channel(0).1),
            };
            let waits =
                |kept: JobRecord| kept.message.contains("once update.window") || kept.message.starts_with("waits ");
            let works = jobs && self.device.jobs().runs() && !self.device.jobs().newest().is_some_and(waits);
            moments = if works { moments + 1 } else { 0 };
            tokio::select! {
                () = tokio::time::sleep_until(at) => return Ok(()),
                changed = starts.changed() => {
                    changed.map_err(|_| "the agent is gone".to_owned())?;
                    // A real machine's server starts with it.
                    self.device.stop();
                }
                () = moment(moments), if works => {}
                changed = changes.changed(), if jobs && !works => changed.map_err(|_| "the server is gone".to_owned())?,
            }
        }
    }

    /// What the machine's start, or a commit, brings about: the server runs, except in a sick release.
    async fn looks(&mut self) -> Result<(), String> {
        let status = self.device.status().await;
        let Some(running) = status.slots.iter().find(|slot| slot.running) else {
            return Err(format!("it runs from neither slot: {status:?}"));
        };
        let version = running.version.clone().unwrap_or_default();
        if running.state == SlotState::Trial && self.sick.contains(&version) {
            self.device.stop();
            return Ok(());
        }
        if self.device.server.is_none() {
            self.device.serve();
        }
        if running.state == SlotState::Good {
            let counter = running.counter.unwrap_or(0);
            if counter < self.committed {
                return Err(format!("it went back from {} to {version}: {status:?}", self.committed));
            }
            if counter > self.committed {
                (self.committed, self.updates) = (counter, self.updates + 1);
            }
            if self.sick.contains(&version) {
                return Err(format!("a sick release was committed: {status:?}"));
            }
        }
        // While the old system is being judged, the release that failed is in the list until the verdict.
        let judges = status.slots.iter().any(|slot| !slot.running && slot.state == SlotState::Trial);
        for blocked in status.blocked.into_iter().filter(|_| !judges) {
            if !self.sick.contains(&blocked.version) {
                return Err(format!("a good release is blocked: {blocked:?}"));
            }
            self.trials_failed.insert(blocked.version);
        }
        Ok(())
    }

    async fn happens(&mut self, event: &Event) -> Result<(), String> {
        self.device.web.clock(self.seconds());
        match *event {
            Event::Release { number, sick } => {
                let version = format!("1.{number}.0");
                self.device.web.release(&version, 10 + number, &format!("the system {version}\n"));
                if sick {
                    self.sick.insert(version);
                } else {
                    self.newest_good = version;
                }
            }
            Event::Rotation => self.device.web.rotate(),
            Event::Signed => self.device.web.publish(),
            Event::PowerCut => self.device.power_cut().await,
            Event::Night(long) => {
                self.device.power_off().await;
                sleep(long).await;
                self.device.power_on();
            }
            Event::Flickers(times, each) => {
                for _ in 0..times {
                    self.device.power_cut().await;
                    self.until(Instant::now() + each).await?;
                }
            }
            Event::OutageBegins => {
                self.outages += 1;
                self.network(false);
            }
            Event::OutageEnds => {
                self.outages -= 1;
                self.network(self.outages == 0);
            }
            Event::CheckFails => {
                self.failing_checks += 1;
                self.device.owners_check.fails(true);
            }
            Event::CheckSucceeds => {
                self.failing_checks -= 1;
                self.device.owners_check.fails(self.failing_checks > 0);
            }
            Event::DataLost => {
                fs::create_dir_all(self.device.folder()).unwrap();
                self.device.loses_data_partition();
            }
            Event::StateLost => {
                self.device.loses_state_partition().await;
                // It does not know any more what it has committed, nor what was blocked.
                self.committed = 0;
            }
            Event::ChannelMoves => self.channel_moves(),
            Event::NetworkMoves => self.network_moves(),
            Event::ServerRestarts => self.device.stop(),
            Event::ClockWrong(hours) => self.device.starts_with_clock(hours).await,
            Event::ClockSet => self.device.clock_set(),
        }
        self.looks().await
    }

    /// What worked before was another interface, which is gone.
    fn network_moves(&self) {
        let file = self.device.folder().join("baseline.json");
        if let Ok(Some(before)) = Baseline::load(&file) {
            Baseline { interfaces: BTreeSet::from(["wlan7".to_owned()]), ..before }.save(&file).unwrap();
        }
    }

    async fn judged(&self) -> Result<(), String> {
        let status = self.device.status().await;
        let (version, _) = runs(&status);
        if version != Some(&*self.newest_good) || !status.waits_for.is_empty() {
            let job = self.device.jobs().newest();
            return Err(format!("it runs {version:?} and not {}: {status:?}; its job: {job:?}", self.newest_good));
        }
        Ok(())
    }
}

/// A moment in which the agent's own thread can write: paused time does not know that it is busy. What takes long waits for something else;
/// until then little time passes, also on a computer that has no time for that thread.
async fn moment(number: u32) {
    {
        let _still = Standstill::begin();
        #[expect(clippy::disallowed_methods)]
        tokio::task::spawn_blocking(|| std::thread::sleep(Duration::from_millis(10))).await.unwrap();
    }
    sleep(match number {
        0..300 => Duration::from_millis(250),
        300..900 => Duration::from_secs(1),
        _ => MINUTE,
    })
    .await;
}
