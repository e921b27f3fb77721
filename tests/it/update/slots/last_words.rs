//! What the kernel leaves of a trial that died, from the files of a machine's pstore to what is recorded of the last update.

use super::machine::{FREE, Machine, NOW, candidate, failed};
use ::update::{
    Slot,
    boot::{BootFlow, Evidence, ResetCause},
    simulated::SimulatedBootChain,
    slots::{self, BootState, Case, LONGEST_LOG},
};
use base::{
    error::ToolError,
    os::{Root, pstore},
};
use std::{fs, sync::Arc};
use tempfile::TempDir;

const CRASH: &str = "sys/fs/pstore/dmesg-ramoops-0";
const CONSOLE: &str = "sys/fs/pstore/console-ramoops-0";
const MOVED: &str = "var/lib/systemd/pstore/console-ramoops-0";

/// A boot chain on a machine whose kernel keeps its last words.
struct Telling {
    flow: Arc<dyn BootFlow>,
    root: Root,
}

impl BootFlow for Telling {
    fn name(&self) -> &'static str {
        self.flow.name()
    }
    fn evidence(&self) -> Evidence {
        Evidence { last_words: pstore::last_words(&self.root, 4096), ..self.flow.evidence() }
    }
    fn arm(&self, target: Slot) -> Result<(), ToolError> {
        self.flow.arm(target)
    }
    fn disarm(&self) -> Result<(), ToolError> {
        self.flow.disarm()
    }
    fn commit(&self, slot: Slot) -> Result<(), ToolError> {
        self.flow.commit(slot)
    }
    fn trial_argument(&self) -> Option<&str> {
        self.flow.trial_argument()
    }
}

struct Bench {
    pi: Machine,
    files: TempDir,
}

impl Bench {
    fn new(chain: SimulatedBootChain) -> Self {
        let files = TempDir::new().unwrap();
        let mut pi = Machine::new(chain);
        pi.flow = Arc::new(Telling { flow: pi.flow.clone(), root: Root::at(files.path()) });
        pi.settle();
        Self { pi, files }
    }

    fn put(&self, file: &str, words: impl AsRef<[u8]>) {
        let path = self.files.path().join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, words).unwrap();
    }

    fn armed(&mut self) {
        self.pi.install(&candidate(2)).unwrap();
    }

    /// Restarts into what is armed, which dies for that reason before its agent starts.
    fn dies(&mut self, why: ResetCause) -> Case {
        self.pi.does(slots::restarting(self.pi.state(), &self.pi.seen(), true, "update", FREE, NOW)).unwrap();
        self.pi.board.restart(ResetCause::Watchdog);
        self.pi.boot(why)
    }

    fn log(&self) -> Option<&str> {
        self.pi.state().last_attempt.as_ref().unwrap().log_tail.as_deref()
    }
}

fn both(test: impl Fn(Bench)) {
    for chain in [SimulatedBootChain::Tryboot, SimulatedBootChain::Uboot] {
        test(Bench::new(chain));
    }
}

#[test]
fn a_crash_before_the_agent_is_what_the_last_update_says() {
    both(|mut bench| {
        bench.put(CONSOLE, "[ 5.0] reboot: Restarting system");
        bench.armed();
        bench.put(CRASH, "Panic#1 Part1\n<4>[ 1.5] Kernel panic - not syncing: VFS: Unable to mount root fs\n");
        bench.put(CONSOLE, "[ 1.5] the console's words");
        assert_eq!(bench.dies(ResetCause::Watchdog), Case::TrialDied);
        assert!(bench.log().unwrap().ends_with("VFS: Unable to mount root fs"), "{:?}", bench.log());
        // It is there for as long as nobody erases it: once is enough, and what came next says more.
        assert_eq!(bench.pi.settle(), Case::ArmedWaits);
        bench.put(CONSOLE, "[ 9.9] it hangs here");
        assert_eq!(bench.dies(ResetCause::Restart), Case::TrialDied);
        assert_eq!(bench.log(), Some("[ 9.9] it hangs here"));
        // The third leaves nothing, and the version is given up: what was said stays.
        assert_eq!(bench.dies(ResetCause::Watchdog), Case::TrialDied);
        assert!(bench.pi.state().update.is_none());
        assert_eq!(bench.log(), Some("[ 9.9] it hangs here"));
    });
}

#[test]
fn words_that_were_there_before_the_trial_are_not_its() {
    both(|mut bench| {
        bench.put(CRASH, "last month's panic");
        bench.put(CONSOLE, "what ran before");
        bench.armed();
        assert_eq!(bench.dies(ResetCause::Watchdog), Case::TrialDied);
        assert_eq!(bench.log(), None);
        // The next trial's own system finds the old one's words, and moves them.
        bench.put(CONSOLE, "the old slot restarts");
        assert_eq!(bench.pi.restart_into_trial(), Case::TrialBegins);
        fs::remove_file(bench.files.path().join(CONSOLE)).unwrap();
        bench.put(MOVED, "the old slot restarts");
        assert_eq!(bench.pi.boot(ResetCause::Watchdog), Case::RolledBack);
        assert_eq!(bench.log(), None);
        assert_eq!(bench.pi.restart_into_trial(), Case::TrialBegins);
        bench.put(MOVED, "and hangs");
        assert_eq!(bench.pi.boot(ResetCause::Watchdog), Case::RolledBack);
        assert_eq!(bench.log(), Some("and hangs"));
    });
}

#[test]
fn memory_without_power_said_nothing() {
    both(|mut bench| {
        bench.armed();
        bench.put(MOVED, "of nobody knows which boot");
        assert_eq!(bench.pi.restart_into_trial(), Case::TrialBegins);
        bench.put(CRASH, "noise");
        assert_eq!(bench.pi.boot(ResetCause::PowerOn), Case::RolledBack);
        assert_eq!(bench.log(), None);
    });
}

#[test]
fn a_log_that_was_read_in_the_trial_says_more() {
    both(|mut bench| {
        for (log, said) in [(Some("its log"), "its log"), (None, "its console")] {
            bench.pi.install(&candidate(if log.is_some() { 2 } else { 3 })).unwrap();
            assert_eq!(bench.pi.restart_into_trial(), Case::TrialBegins);
            let BootState::Trial(trial) = &bench.pi.standing else { panic!() };
            let step = slots::condemn(bench.pi.state(), trial, failed("sick", false, log));
            bench.pi.does(step).unwrap();
            bench.put(CONSOLE, "its console");
            assert_eq!(bench.pi.boot(ResetCause::Watchdog), Case::RolledBack);
            assert_eq!(bench.log(), Some(said));
            fs::remove_file(bench.files.path().join(CONSOLE)).unwrap();
            bench.pi.does(slots::judge_old(bench.pi.state(), &bench.pi.seen(), slots::OldSystem::Online, NOW)).unwrap();
            bench.pi.healthy().unwrap();
        }
    });
}

#[test]
fn a_person_who_ended_a_trial_is_not_overruled_when_its_time_is_up() {
    let Bench { mut pi, files: _files } = Bench::new(SimulatedBootChain::Tryboot);
    pi.install(&candidate(2)).unwrap();
    pi.restart_into_trial();
    for (reason, by_person, log) in
        [("time", false, None), ("rolled back by pi", true, Some("a log")), ("time", false, None)]
    {
        let BootState::Trial(trial) = &pi.standing else { panic!() };
        let step = slots::condemn(pi.state(), trial, failed(reason, by_person, log));
        pi.does(step).unwrap();
    }
    let verdict = pi.state().update.as_ref().unwrap().verdict.clone().unwrap();
    assert_eq!((verdict.reason.as_str(), verdict.by_person), ("rolled back by pi", true));
    assert_eq!(verdict.log_tail.as_deref(), Some("a log"));
}

#[test]
fn a_crash_of_a_megabyte_that_is_no_text_costs_four_kilobytes() {
    both(|mut bench| {
        bench.armed();
        let mut crash = "\u{fffd}line of a crash\n".repeat(1 << 16).into_bytes();
        crash.extend_from_slice(b"\xff\xfe\0\x1b[31mthe \xc3 end\x1b[0m, token=hunter2hunter2\n");
        bench.put(CRASH, crash);
        bench.dies(ResetCause::Watchdog);
        let log = bench.log().unwrap();
        assert!(log.len() <= LONGEST_LOG && log.len() > LONGEST_LOG / 2, "{}", log.len());
        assert!(log.starts_with('\u{fffd}') && log.contains("the \u{fffd} end, token="), "{log}");
        assert!(!log.contains("hunter2") && !log.contains(['\0', '\u{1b}']), "{log}");
        // Nor is a folder, a dangling link or a FIFO one.
        for file in [CRASH, CONSOLE] {
            let _ = fs::remove_file(bench.files.path().join(file));
        }
        fs::create_dir(bench.files.path().join(CRASH)).unwrap();
        std::os::unix::fs::symlink("nowhere", bench.files.path().join(CONSOLE)).unwrap();
        assert_eq!(bench.pi.seen().last_words, [""; 0]);
    });
}

#[test]
fn outside_of_an_update_nobody_listens_and_nothing_is_written() {
    // U-Boot writes at each start.
    let mut bench = Bench::new(SimulatedBootChain::Tryboot);
    bench.put(CRASH, "a panic of a Sunday");
    bench.pi.boot(ResetCause::Watchdog);
    bench.pi.healthy().unwrap();
    bench.pi.disk.take_events();
    bench.put(CONSOLE, "and another boot");
    assert_eq!(bench.pi.boot(ResetCause::Watchdog), Case::Normal);
    assert!(bench.pi.state().last_attempt.is_none());
    assert_eq!(bench.pi.disk.take_events(), []);
}
