//! Rounds: the device looks at its channel by itself, and does what its owner's configuration says.

use super::*;
use agent::operations as op;

/// Every six hours, and what is found is installed.
fn automatic(update: &mut UpdateSettings) {
    (update.check_interval_hours, update.automatic) = (6, true);
}

#[tokio::test(start_paused = true)]
async fn what_a_round_finds_is_installed_within_the_window_and_not_before() {
    let mut device = Device::at(12, |update| {
        automatic(update);
        update.window = windows("02:00-04:00");
    });
    device.web.release("1.1.0", 11, "the second system\n");
    device.serve();
    // Some minutes after the start: not all devices of a fleet at once.
    sleep(MINUTE / 2).await;
    assert_eq!(device.heard(), None);
    sleep(10 * MINUTE).await;
    assert!(device.heard().is_some_and(|at| (12.0..12.2).contains(&at)), "{:?}", device.heard());
    assert_eq!(device.jobs().newest(), None, "the window is shut");

    let job = device.job_begins().await;
    assert!((26.0..26.1).contains(&device.hours(job.started_ms)), "{}", device.hours(job.started_ms));
    assert_eq!((job.order.principal.as_str(), job.order.tool.as_str()), ("update.automatic", "manage.update_server"));
    assert_eq!(job.order.wanted.version.as_deref(), Some("1.1.0"));
    assert_eq!(job.order.old_version.as_deref(), Some(env!("CARGO_PKG_VERSION")));
    let job = device.job_stops().await;
    assert_eq!(job.error(), None, "{job:?}");
    device.restarted(1).await;
    assert!(device.now() < 26.2, "{}", device.now());
    sleep(MINUTE).await;
    assert_eq!(runs(&device.status().await), (Some("1.1.0"), Some(Phase::Committed)));
    // And that is it: nothing newer is there.
    sleep(100 * HOUR).await;
    assert_eq!((device.jobs().newest().unwrap().order.id, device.restarts()), (job.order.id, 1));
    assert!(device.heard().is_some_and(|at| device.now() - at < 6.1), "the rounds go on");
}

#[tokio::test(start_paused = true)]
async fn no_install_begins_within_a_window_by_a_clock_that_nobody_set() {
    let mut device = Device::at(2, |update| {
        automatic(update);
        update.window = windows("02:00-04:00");
    });
    device.clock_unset();
    device.web.release("1.1.0", 11, "the second system\n");
    device.serve();
    sleep(HOUR).await;
    assert!(device.heard().is_some(), "the channel is asked all the same");
    assert_eq!(device.jobs().newest(), None, "three o'clock, if that is true");
    device.clock_set();
    let job = device.job_begins().await;
    assert!(device.hours(job.started_ms) < 3.5, "{}", device.hours(job.started_ms));
    assert_eq!(device.job_stops().await.error(), None);
    device.restarted(1).await;
    assert!(device.now() < 4.0, "{}", device.now());
}

#[tokio::test(start_paused = true)]
async fn nothing_is_installed_and_nobody_asked_unless_the_owner_wants_it() {
    let mut device = Device::at(0, |update| update.check_interval_hours = 6);
    device.web.release("1.1.0", 11, "x");
    device.serve();
    sleep(100 * HOUR).await;
    assert!(device.heard().is_some_and(|at| at > 90.0), "{:?}", device.heard());
    assert_eq!((device.jobs().newest(), device.restarts()), (None, 0));

    let mut device = Device::at(0, |update| update.check_interval_hours = 0);
    device.web.release("1.1.0", 11, "x");
    device.serve();
    sleep(100 * HOUR).await;
    assert_eq!((device.heard(), device.jobs().newest()), (None, None));
}

#[tokio::test(start_paused = true)]
async fn what_is_taken_back_while_it_waits_for_the_window_is_not_begun() {
    let mut device = Device::at(12, |update| {
        automatic(update);
        update.window = windows("02:00-04:00");
    });
    device.web.release("1.1.0", 11, "x");
    device.serve();
    sleep(8 * HOUR).await;
    assert!(device.heard().is_some());
    device.web.change(|index| index.paused = Some("a bad week".into()));
    sleep(24 * HOUR).await;
    assert_eq!(device.jobs().newest(), None, "not even begun and refused");
    // What is there at the hour counts.
    device.web.change(|index| index.paused = None);
    device.web.release("1.1.1", 12, "mended\n");
    let job = device.job_begins().await;
    assert_eq!(job.order.wanted.version.as_deref(), Some("1.1.1"));
    assert!((50.0..52.0).contains(&device.hours(job.started_ms)), "{}", device.hours(job.started_ms));
}

/// Begins in the window, and has to wait for the hours in which it may fetch.
pub(super) fn late_lines(update: &mut UpdateSettings) {
    automatic(update);
    update.window = windows("02:00-04:00");
    update.download_window = windows("06:00-07:00");
}

#[tokio::test(start_paused = true)]
async fn a_download_that_outlasts_the_window_restarts_the_device_in_the_next_one() {
    let mut device = Device::at(0, late_lines);
    device.web.release("1.1.0", 11, "the second system\n");
    device.serve();
    let job = device.job_begins().await;
    assert!((2.0..2.1).contains(&device.hours(job.started_ms)), "{}", device.hours(job.started_ms));
    let job = device.job_stops().await;
    assert_eq!(job.phase, Phase::Armed, "{job:?}");
    assert!((6.0..7.0).contains(&device.now()), "{}", device.now());
    // A server that ends meanwhile does not do it all again: each arming counts.
    sleep(HOUR).await;
    device.serve();
    sleep(10 * HOUR).await;
    assert_eq!(device.restarts(), 0, "by day");
    let job = device.jobs().newest().unwrap();
    assert_eq!((job.resumed, job.phase, job.message.contains("update.window")), (1, Phase::Armed, true), "{job:?}");
    device.restarted(1).await;
    assert!((26.0..26.1).contains(&device.now()), "{}", device.now());
    sleep(MINUTE).await;
    let status = device.status().await;
    assert_eq!(runs(&status), (Some("1.1.0"), Some(Phase::Committed)), "{status:?}");
}

/// A device on which 1.1.0 was taken back while it waited for its restart.
async fn taken_back() -> Device {
    use agent::operations::update::RollBackRequest;
    let mut device = Device::at(0, late_lines);
    device.web.release("1.1.0", 11, "x");
    device.serve();
    device.job_begins().await;
    device.job_stops().await;
    assert!(!device.jobs().can_cancel(), "it is armed");
    let authorization = crate::agent::authorization(&serde_json::json!({}), None);
    device.link().call::<op::update::RollBack>(RollBackRequest { dry_run: false, authorization }).await.unwrap();
    device.updates().news();
    let job = timeout(HOUR, device.jobs().settled()).await.expect("its end").unwrap();
    assert!(job.message.contains("taken back"), "{job:?}");
    assert_eq!(runs(&device.status().await), (None, Some(Phase::RolledBack)), "what the factory made");
    device
}

#[tokio::test(start_paused = true)]
async fn what_waits_for_its_restart_can_be_taken_back() {
    let device = taken_back().await;
    sleep(2 * HOUR).await;
    device.jobs().free().unwrap();
    assert_eq!(device.restarts(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_version_that_was_given_up_does_not_keep_rounds_from_an_interface_that_is_gone() {
    let mut device = taken_back().await;
    // It had another network when that update was armed.
    let file = device.folder().join("baseline.json");
    let mut before: serde_json::Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    before["interfaces"] = serde_json::json!(["wlan7"]);
    std::fs::write(&file, before.to_string()).unwrap();
    device.serve();
    device.web.release("1.1.1", 12, "mended\n");
    let job = timeout(24 * HOUR, device.job_begins()).await.expect("a round within a day");
    assert_eq!(job.order.wanted.version.as_deref(), Some("1.1.1"));
}

#[tokio::test(start_paused = true)]
async fn what_failed_is_tried_again_later_each_time_and_a_newer_one_at_once() {
    // The agent lets no update in, so each try fails at once.
    let mut device = Device::set(0, |settings| {
        automatic(&mut settings.update);
        deny(settings, "manage.update_server");
    });
    device.web.release("1.1.0", 11, "x");
    device.serve();
    let tries = device.jobs_within(100 * HOUR).await;
    let first = tries[0].started_ms;
    let after: Vec<f64> =
        tries.iter().map(|job| (device.hours(job.started_ms) - device.hours(first)).round()).collect();
    assert_eq!(after, [0.0, 6.0, 18.0, 42.0, 66.0, 90.0], "then once a day");
    assert!(tries.iter().all(|job| job.error_code.as_deref() == Some("permission_denied")), "{tries:#?}");
    device.web.release("1.1.1", 12, "mended\n");
    let tries = device.jobs_within(7 * HOUR).await;
    assert_eq!(tries.len(), 1, "{tries:#?}");
    assert_eq!(tries[0].order.wanted.version.as_deref(), Some("1.1.1"));
}

#[tokio::test(start_paused = true)]
async fn a_channel_that_was_away_is_heard_in_the_next_round() {
    let mut device = Device::at(0, automatic);
    device.web.release("1.1.0", 11, "the second system\n");
    device.channel(false);
    device.serve();
    sleep(5 * HOUR).await;
    assert_eq!((device.heard(), device.jobs().newest()), (None, None));
    device.channel(true);
    let job = device.job_begins().await;
    assert!(device.hours(job.started_ms) < 6.3, "{}", device.hours(job.started_ms));
    assert_eq!(device.job_stops().await.error(), None);
}

#[tokio::test(start_paused = true)]
async fn a_device_that_moves_to_another_network_before_the_trial_is_held_against_that_one() {
    let mut device = Device::at(0, late_lines);
    device.web.release("1.1.0", 11, "the second system\n");
    device.serve();
    device.job_begins().await;
    device.job_stops().await;
    device.restarted(1).await;
    // What worked before the restart was a Wi-Fi. It hangs on a cable now, in the trial and in the old system that comes back after it.
    let file = device.folder().join("baseline.json");
    let mut before: serde_json::Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    before["interfaces"] = serde_json::json!(["wlan7"]);
    std::fs::write(&file, before.to_string()).unwrap();
    device.restarted(2).await;
    device.restarted(3).await;
    sleep(5 * MINUTE).await;
    let status = device.status().await;
    assert_eq!(runs(&status), (Some("1.1.0"), Some(Phase::Committed)), "{status:?}");
    assert!(status.blocked.is_empty());
    // And updates go on.
    device.web.release("1.2.0", 12, "the third system\n");
    let job = timeout(48 * HOUR, device.job_begins()).await.expect("a round within two days");
    assert_eq!(job.order.wanted.version.as_deref(), Some("1.2.0"));
}
