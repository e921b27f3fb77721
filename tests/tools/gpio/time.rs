//! Times: levels that are taken back, leases that run out. On a clock that runs when everybody waits.

use super::pin;
use base::os::Root;
use contract::{
    access::presence::Presence,
    config::{GpioSettings, Places, Revert, Settings},
};
use hw::{
    board::{Board, Choice},
    gpio::{GpioLines, SimulatedGpio, lease::Owner, refusal::GpioRefusal},
    line::{Level, Pull, Take},
};
use std::{sync::Arc, time::Duration};
use tempfile::TempDir;
use tokio::time::sleep;

pub(super) const SECOND: Duration = Duration::from_secs(1);

pub(super) struct Desk {
    pub lines: Arc<GpioLines>,
    pub board: SimulatedGpio,
    places: Settings,
    _root: TempDir,
}

impl Desk {
    pub fn with(change: impl FnOnce(&mut GpioSettings)) -> Self {
        let root = TempDir::new().unwrap();
        let mut settings = Settings::default_for(&Places::below(root.path()));
        change(&mut settings.gpio);
        let board = Board::detect(Choice::Simulated, &Root::system()).unwrap();
        let lines =
            GpioLines::new(&settings.gpio, Default::default(), &Root::system(), &board.pins(), &settings.places);
        let wires = board.simulated.as_ref().unwrap().gpio.clone();
        Self { lines, board: wires, places: settings, _root: root }
    }
    pub fn new() -> Self {
        Self::with(|_| {})
    }

    /// The server is killed and started again, on the same board.
    pub fn after_a_kill(&self) -> Arc<GpioLines> {
        let mut board = Board::detect(Choice::Simulated, &Root::system()).unwrap();
        let mut wires = hw::board::SimulatedBoard::default();
        wires.gpio = self.board.clone();
        board.simulated = Some(Arc::new(wires));
        GpioLines::new(&self.places.gpio, Default::default(), &Root::system(), &board.pins(), &self.places.places)
    }
}

/// A caller over HTTP.
pub(super) fn http(principal: &str) -> Owner {
    Owner { principal: principal.into(), name: None, presence: None, pass: None }
}

#[tokio::test(start_paused = true)]
async fn a_level_with_a_duration_is_taken_back_though_nobody_calls() {
    let desk = Desk::new();
    let (owner, pin) = (http("a"), pin(17));
    let lasts = Some(60 * SECOND);
    desk.lines.write(&owner, pin, Level::Low, None, lasts).unwrap();
    desk.lines.write(&owner, pin, Level::High, Some(5 * SECOND), lasts).unwrap();
    sleep(4 * SECOND).await;
    assert_eq!(desk.board.level(pin), Level::High);
    sleep(2 * SECOND).await;
    assert_eq!(desk.board.level(pin), Level::Low);
    // A later write counts, also for what was to be taken back.
    desk.lines.write(&owner, pin, Level::High, Some(5 * SECOND), lasts).unwrap();
    desk.lines.write(&owner, pin, Level::High, None, lasts).unwrap();
    sleep(10 * SECOND).await;
    assert_eq!(desk.board.level(pin), Level::High);
}

#[tokio::test(start_paused = true)]
async fn a_pulse_on_a_pin_that_nobody_had_ends_its_lease() {
    let desk = Desk::new();
    // The duration is longer than the lease: the lease waits for it.
    desk.lines.write(&http("a"), pin(17), Level::High, Some(100 * SECOND), Some(SECOND)).unwrap();
    sleep(99 * SECOND).await;
    assert_eq!(desk.board.level(pin(17)), Level::High);
    sleep(2 * SECOND).await;
    assert_eq!((desk.board.level(pin(17)), desk.board.held()), (Level::Low, 0));
}

#[tokio::test(start_paused = true)]
async fn what_follows_a_duration_is_configured() {
    let desk = Desk::with(|gpio| gpio.revert = Revert::Invert);
    let owner = http("a");
    desk.lines.write(&owner, pin(17), Level::High, None, Some(60 * SECOND)).unwrap();
    desk.lines.write(&owner, pin(17), Level::High, Some(SECOND), None).unwrap();
    sleep(2 * SECOND).await;
    assert_eq!((desk.board.level(pin(17)), desk.board.held()), (Level::Low, 1));
}

#[tokio::test(start_paused = true)]
async fn a_lease_over_http_runs_out_unless_it_is_used() {
    let desk = Desk::with(|gpio| gpio.safe_low = [17].into());
    let (owner, pin) = (http("a"), pin(17));
    desk.lines.configure(&owner, pin, Take::Output { level: Level::High }, Some(10 * SECOND)).unwrap();
    for _ in 0..5 {
        sleep(8 * SECOND).await;
        // A read of somebody else's is no use of it.
        desk.lines.read(&http("b"), pin).unwrap();
        desk.lines.read(&owner, pin).unwrap();
    }
    assert!(
        matches!(desk.lines.write(&http("b"), pin, Level::Low, None, None), Err(GpioRefusal::Lent { to, .. }) if to == "a")
    );
    assert_eq!(desk.board.level(pin), Level::High);
    sleep(11 * SECOND).await;
    assert_eq!(desk.board.level(pin), Level::Low);
    desk.lines.write(&http("b"), pin, Level::High, None, Some(SECOND)).unwrap();
}

#[tokio::test(start_paused = true)]
async fn what_is_lent_to_a_connection_that_has_ended_is_refused() {
    let desk = Desk::new();
    let presence = Presence::default();
    let owner = Owner { principal: "stdio".into(), name: None, presence: Some(presence.clone()), pass: None };
    desk.lines.write(&owner, pin(17), Level::High, None, None).unwrap();
    // The connection ends while one of its calls is still on its way.
    presence.leave();
    desk.lines.left(&presence);
    for time in [None, Some(600 * SECOND)] {
        assert!(matches!(desk.lines.write(&owner, pin(17), Level::High, time, time), Err(GpioRefusal::Gone)));
    }
    assert_eq!((desk.board.held(), desk.board.level(pin(17))), (0, Level::Low));
}

#[tokio::test(start_paused = true)]
async fn what_a_killed_server_drove_is_put_right_by_the_next_one_which_says_so() {
    let desk = Desk::with(|gpio| gpio.safe_high = [22].into());
    desk.lines.begin();
    let owner = http("a");
    for number in [17, 22] {
        desk.lines.write(&owner, pin(number), Level::High, None, None).unwrap();
    }
    desk.lines.write(&owner, pin(22), Level::Low, None, None).unwrap();
    desk.lines.configure(&owner, pin(5), Take::Input { pull: Some(Pull::Up) }, None).unwrap();
    // SIGKILL: the kernel closes the lines, and this driver leaves an output an output.
    for number in [5, 17, 22] {
        desk.board.kill_holder(pin(number));
    }
    assert_eq!((desk.board.level(pin(17)), desk.board.held()), (Level::High, 0));

    let next = desk.after_a_kill();
    next.begin();
    assert_eq!(desk.board.level(pin(17)), Level::Low, "not driven any more");
    assert_eq!(desk.board.level(pin(22)), Level::High, "its safe level");
    assert_eq!(next.recovered(), [pin(17), pin(22)]);
    // After a stop there is nothing to put right.
    next.end();
    let third = desk.after_a_kill();
    third.begin();
    assert!(third.recovered().is_empty());
}

#[tokio::test(start_paused = true)]
async fn what_was_put_right_once_is_not_put_right_again() {
    let desk = Desk::new();
    desk.lines.begin();
    desk.lines.write(&http("a"), pin(17), Level::High, None, None).unwrap();
    desk.board.kill_holder(pin(17));
    let second = desk.after_a_kill();
    second.begin();
    assert_eq!(second.recovered(), [pin(17)]);
    // It drives nothing, and is killed as well: the pin may be another program's by now.
    let third = desk.after_a_kill();
    third.begin();
    assert!(third.recovered().is_empty());
}

#[tokio::test(start_paused = true)]
async fn what_could_not_be_put_right_is_tried_again_at_the_next_start() {
    let desk = Desk::new();
    desk.lines.begin();
    desk.lines.write(&http("a"), pin(17), Level::High, None, None).unwrap();
    desk.board.kill_holder(pin(17));
    desk.board.fail(Some("Input/output error"));
    let second = desk.after_a_kill();
    second.begin();
    assert!(second.recovered().is_empty(), "it says what was put right, and nothing else");
    desk.board.fail(None);
    // What it drives meanwhile does not make it forget.
    second.write(&http("a"), pin(22), Level::High, None, None).unwrap();
    desk.board.kill_holder(pin(22));
    let third = desk.after_a_kill();
    third.begin();
    assert_eq!((third.recovered(), desk.board.level(pin(17))), (vec![pin(17), pin(22)], Level::Low));
}

#[tokio::test(start_paused = true)]
async fn a_pulse_upon_a_pulse_ends_where_the_first_one_would_have() {
    let desk = Desk::new();
    let owner = http("a");
    desk.lines.write(&owner, pin(17), Level::Low, None, Some(60 * SECOND)).unwrap();
    for number in [17, 22] {
        desk.lines.write(&owner, pin(number), Level::High, Some(5 * SECOND), Some(60 * SECOND)).unwrap();
    }
    sleep(3 * SECOND).await;
    for number in [17, 22] {
        desk.lines.write(&owner, pin(number), Level::High, Some(5 * SECOND), None).unwrap();
    }
    sleep(4 * SECOND).await;
    assert_eq!((desk.board.level(pin(17)), desk.board.level(pin(22))), (Level::High, Level::High), "it lasts anew");
    sleep(2 * SECOND).await;
    // Not high for ever, though it was high when the second began.
    assert_eq!((desk.board.level(pin(17)), desk.board.level(pin(22))), (Level::Low, Level::Low));
    assert_eq!(desk.board.held(), 1, "the one that nobody had is nobody's again");
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_recorded_is_not_driven() {
    let root = TempDir::new().unwrap();
    let mut settings = Settings::default_for(&Places::below(root.path()));
    std::fs::write(root.path().join("file"), "").unwrap();
    settings.places.runtime_dir = root.path().join("file/below");
    let board = Board::detect(Choice::Simulated, &Root::system()).unwrap();
    let lines = GpioLines::new(&settings.gpio, Default::default(), &Root::system(), &board.pins(), &settings.places);
    let refused = lines.write(&http("a"), pin(17), Level::High, None, None);
    assert!(matches!(refused, Err(GpioRefusal::Record(_))), "{refused:?}");
    assert_eq!(board.simulated.unwrap().gpio.held(), 0);
}
