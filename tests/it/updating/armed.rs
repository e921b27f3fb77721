//! What is armed is a plan to restart: every way into that state, and the way out of each.

use super::*;
use crate::agent::{
    authorization,
    update::{install, request, restart},
};
use agent::operations as op;
use agent::{
    PowerAction,
    operations::{power::PowerRequest, update::RollBackRequest},
};
use update::{
    job::{JobState, UpdateOrder, WantedRelease},
    status::{RestartPlan, SlotState},
};

fn order() -> UpdateOrder {
    UpdateOrder {
        id: "ordered".into(),
        tool: "manage.update_server".into(),
        principal: "token:fleet".into(),
        args_sha256: base::canonical::sha256_hex(&json!({})),
        ask_id: None,
        wanted: WantedRelease { channel: "stable".into(), ..WantedRelease::default() },
        old_version: None,
    }
}

/// A device at whose channel 1.1.0 is, and where nobody does anything by itself.
fn quiet(change: impl FnOnce(&mut UpdateSettings)) -> Device {
    let mut device = Device::set(0, |settings| {
        settings.update.check_interval_hours = 0;
        change(&mut settings.update);
        settings.tools.enable.insert("system".into());
        for tool in ["system.reboot", "system.shutdown"] {
            settings.policy.insert(tool.into(), Mode::Allow);
        }
    });
    device.web.release("1.1.0", 11, "the second system\n");
    device
}

/// 1.1.0 is written and armed, by a console whose process is gone by then.
async fn armed(device: &Device, plan: RestartPlan) {
    let _still = Standstill::begin();
    let request = op::update::InstallRequest { restart: plan, ..request(&json!({}), None) };
    install(&device.link(), request, &device.bundle("1.1.0")).await.unwrap();
    let status = device.status().await;
    assert_eq!((status.restart, status.armed().is_some()), (Some(plan), true), "{status:?}");
}

fn power(action: PowerAction, delay_seconds: u32) -> PowerRequest {
    PowerRequest { action, delay_seconds, reason: None, authorization: authorization(&json!({}), None) }
}

/// Waits until 1.1.0 is committed by whoever serves.
async fn committed(device: &Device) {
    for _ in 0..10_000 {
        let status = device.status().await;
        if runs(&status) == (Some("1.1.0"), Some(Phase::Committed)) {
            return;
        }
        sleep(MINUTE).await;
    }
    panic!("{:?}", device.status().await);
}

#[tokio::test(start_paused = true)]
async fn a_restart_that_the_limit_refuses_comes_by_itself_within_the_limit() {
    let mut device = quiet(|_| {});
    device.serve();
    for count in 1..=4 {
        device.link().call::<op::power::SchedulePower>(power(PowerAction::Reboot, 1)).await.unwrap();
        device.restarted(count).await;
    }
    let services = Arc::clone(&device.server.as_ref().unwrap().0);
    device.updates().start(&services.machine, order()).unwrap();
    let job = device.job_stops().await;
    assert!(job.state == JobState::Armed && job.message.contains("by itself in about"), "{job:?}");
    let refused = device.now();
    sleep(HOUR / 2).await;
    assert_eq!(device.restarts(), 4, "the limit holds");
    device.restarted(5).await;
    assert!((0.9..1.2).contains(&(device.now() - refused)), "{}", device.now() - refused);
    committed(&device).await;
}

#[tokio::test(start_paused = true)]
async fn every_door_restarts_into_what_is_armed_already() {
    let mut device = quiet(|_| {});
    device.serve();
    armed(&device, RestartPlan::Waits).await;
    sleep(100 * HOUR).await;
    assert_eq!(device.restarts(), 0, "nobody has ordered it");
    let wanted = WantedRelease { channel: "stable".into(), ..WantedRelease::default() };
    let judged = device.updates().judge(&wanted).await.unwrap();
    assert!(judged.notes[0].contains("armed already"), "{judged:?}");
    let (planned, _) = device.updates().plan_of(&wanted).await.unwrap();
    assert_eq!(planned.offer.release.version, "1.1.0");
    let services = Arc::clone(&device.server.as_ref().unwrap().0);
    device.updates().start(&services.machine, order()).unwrap();
    let job = device.job_stops().await;
    assert_eq!((job.state, job.error()), (JobState::Armed, None), "{job:?}");
    device.restarted(1).await;
    committed(&device).await;
}

#[tokio::test(start_paused = true)]
async fn any_restart_tries_what_waits_for_an_order() {
    let mut device = quiet(|_| {});
    device.serve();
    armed(&device, RestartPlan::Waits).await;
    device.link().call::<op::power::SchedulePower>(power(PowerAction::Reboot, 1)).await.unwrap();
    device.restarted(1).await;
    committed(&device).await;
}

#[tokio::test(start_paused = true)]
async fn a_plan_outlives_whoever_made_it() {
    // No server at all: the console's process ended between arming and its order.
    let device = quiet(|_| {});
    armed(&device, RestartPlan::Soon).await;
    let at = device.now();
    device.restarted(1).await;
    assert!(device.now() - at < 0.1, "{}", device.now() - at);
}

#[tokio::test(start_paused = true)]
async fn a_plan_outlives_the_agent_and_a_cut_of_the_power() {
    for cuts in 1..=3 {
        let mut device = quiet(|_| {});
        armed(&device, RestartPlan::Soon).await;
        for _ in 0..cuts {
            device.power_cut().await;
        }
        let status = device.status().await;
        assert_eq!((status.restart, status.armed().is_some()), (Some(RestartPlan::Soon), true), "{status:?}");
        device.restarted(1).await;
        let status = device.status().await;
        assert!(status.slots.iter().any(|slot| slot.running && slot.state == SlotState::Trial), "{status:?}");
        assert_eq!(status.last_attempt.unwrap().boot_ids.len(), 1, "a cut is no trial");
    }
}

#[tokio::test(start_paused = true)]
async fn what_waits_for_an_order_waits_through_a_cut_of_the_power() {
    let mut device = quiet(|_| {});
    armed(&device, RestartPlan::Waits).await;
    // It is switched off each night.
    for _ in 0..40 {
        device.power_cut().await;
        assert_eq!(device.status().await.restart, Some(RestartPlan::Waits));
    }
    device.serve();
    sleep(100 * HOUR).await;
    assert_eq!((device.restarts(), device.status().await.restart), (0, Some(RestartPlan::Waits)));
    device.link().call::<op::update::RebootIntoUpdate>(restart(&json!({}))).await.unwrap();
    committed(&device).await;
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_restart_waits_for_an_order_and_an_order_is_enough() {
    let mut device = quiet(|_| {});
    device.serve();
    armed(&device, RestartPlan::Soon).await;
    let slow = op::update::RebootIntoRequest { delay_seconds: 60, ..restart(&json!({})) };
    device.link().call::<op::update::RebootIntoUpdate>(slow).await.unwrap();
    assert!(
        device
            .link()
            .call::<op::power::CancelPower>(op::power::CancelRequest { action: PowerAction::Reboot })
            .await
            .unwrap()
            .cancelled
    );
    let status = device.status().await;
    assert_eq!(status.restart, Some(RestartPlan::Waits));
    assert!(status.last_attempt.unwrap().reason.contains("cancelled"));
    device.serve();
    sleep(100 * HOUR).await;
    assert_eq!(device.restarts(), 0);
    // Another restart that is cancelled says nothing about it.
    device.link().call::<op::update::RebootIntoUpdate>(restart(&json!({}))).await.unwrap();
    device.restarted(1).await;
}

#[tokio::test(start_paused = true)]
async fn the_cancellation_of_another_restart_leaves_the_plan() {
    let device = quiet(|_| {});
    device.link().call::<op::power::SchedulePower>(power(PowerAction::Reboot, 600)).await.unwrap();
    armed(&device, RestartPlan::Soon).await;
    assert!(
        device
            .link()
            .call::<op::power::CancelPower>(op::power::CancelRequest { action: PowerAction::Reboot })
            .await
            .unwrap()
            .cancelled
    );
    assert_eq!(device.status().await.restart, Some(RestartPlan::Soon));
    device.restarted(1).await;
}

#[tokio::test(start_paused = true)]
async fn a_shutdown_in_place_of_the_restart_is_no_trial() {
    let mut device = quiet(|_| {});
    armed(&device, RestartPlan::Soon).await;
    device.link().call::<op::power::SchedulePower>(power(PowerAction::Shutdown, 1)).await.unwrap();
    sleep(Duration::from_secs(5)).await;
    device.power_cut().await;
    let attempt = device.status().await.last_attempt.unwrap();
    assert!(attempt.boot_ids.is_empty() && attempt.reason.contains("not tried"), "{attempt:?}");
    device.restarted(1).await;
}

#[tokio::test(start_paused = true)]
async fn a_plan_within_the_window_keeps_to_it_without_a_server() {
    let device = quiet(|update| update.window = windows("02:00-04:00"));
    sleep(5 * HOUR).await;
    armed(&device, RestartPlan::InWindow).await;
    sleep(20 * HOUR).await;
    assert_eq!(device.restarts(), 0, "the window is shut");
    device.restarted(1).await;
    assert!((26.0..26.2).contains(&device.now()), "{}", device.now());
}

#[tokio::test(start_paused = true)]
async fn a_plan_within_the_window_waits_for_a_clock_that_is_set() {
    let device = quiet(|update| update.window = windows("02:00-04:00"));
    device.clock_unset();
    armed(&device, RestartPlan::InWindow).await;
    sleep(60 * HOUR).await;
    assert_eq!(device.restarts(), 0, "whatever hour the clock shows");
    device.clock_set();
    device.restarted(1).await;
    assert!((74.0..74.3).contains(&device.now()), "{}", device.now());
}

#[tokio::test(start_paused = true)]
async fn what_is_planned_can_be_taken_back() {
    let mut device = quiet(|_| {});
    device.serve();
    armed(&device, RestartPlan::Soon).await;
    let back = RollBackRequest { dry_run: false, authorization: authorization(&json!({}), None) };
    device.link().call::<op::update::RollBack>(back).await.unwrap();
    sleep(100 * HOUR).await;
    assert_eq!((device.restarts(), device.status().await.restart), (0, None));
}

#[tokio::test(start_paused = true)]
async fn what_a_person_went_back_from_is_not_installed_by_itself_and_comes_by_order() {
    let mut device = Device::at(0, |update| (update.check_interval_hours, update.automatic) = (6, true));
    device.web.release("1.1.0", 11, "the second system\n");
    device.serve();
    device.job_begins().await;
    assert_eq!(device.job_stops().await.error(), None);
    committed(&device).await;
    let back = RollBackRequest { dry_run: false, authorization: authorization(&json!({}), None) };
    device.link().call::<op::update::RollBack>(back).await.unwrap();
    device.restarted(2).await;
    let before = device.jobs().newest().map(|job| job.order.id);
    sleep(100 * HOUR).await;
    let status = device.status().await;
    assert_eq!((device.restarts(), device.jobs().newest().map(|job| job.order.id)), (2, before), "{status:?}");
    assert_eq!(runs(&status), (Some("factory"), Some(Phase::Committed)));
    let found = device.updates().find("stable", None).await.unwrap();
    assert!(found.offer.is_some() && found.notes.iter().any(|note| note.contains("taken back by a person")));
    let services = Arc::clone(&device.server.as_ref().unwrap().0);
    device.updates().start(&services.machine, order()).unwrap();
    assert_eq!(device.job_stops().await.error(), None);
    device.restarted(3).await;
    committed(&device).await;
}
