//! The dead man's clock in the server: who is told when, and how often.

use super::*;
use crate::agent::update::{healthy, install, request, restart};
use agent::operations as op;
use serde_json::json;

/// A device that has committed 1.1.0 just now, and an owner who wants to hear of it within six hours. Nobody else looks at the channel.
async fn committed() -> Device {
    let mut device = Device::set(0, |settings| {
        (settings.update.check_interval_hours, settings.update.dead_man_hours) = (0, 6);
        // The switch needs no permission.
        deny(settings, "manage.rollback");
    });
    device.web.release("1.1.0", 11, "the second system\n");
    let bundle = device.bundle("1.1.0");
    let (link, args) = (device.link(), json!({}));
    {
        let _still = Standstill::begin();
        install(&link, request(&args, None), &bundle).await.unwrap();
    }
    link.call::<op::update::RebootIntoUpdate>(restart(&args)).await.unwrap();
    device.restarted(1).await;
    assert!(link.call::<op::update::ReportHealth>(healthy()).await.unwrap().committed);
    assert_eq!(runs(&device.status().await), (Some("1.1.0"), Some(Phase::Committed)));
    device
}

#[tokio::test(start_paused = true)]
async fn who_hears_the_channel_in_time_stays() {
    let mut device = committed().await;
    device.serve();
    sleep(5 * HOUR).await;
    assert_eq!(device.heard(), None, "nobody has looked yet");
    sleep(2 * HOUR).await;
    assert!(device.heard().is_some_and(|at| (6.0..6.1).contains(&at)), "its own look: {:?}", device.heard());
    // Once heard is enough, whatever comes then.
    device.channel(false);
    sleep(300 * HOUR).await;
    assert_eq!((device.told(), device.restarts()), (0, 1));
    assert_eq!(runs(&device.status().await), (Some("1.1.0"), Some(Phase::Committed)));
}

#[tokio::test(start_paused = true)]
async fn who_hears_nobody_goes_back_once() {
    let mut device = committed().await;
    device.channel(false);
    device.serve();
    sleep(6 * HOUR - MINUTE).await;
    assert_eq!((device.told(), device.restarts()), (0, 1), "too early");
    sleep(2 * MINUTE).await;
    assert_eq!(device.told(), 1);
    device.restarted(2).await;
    // Into the system before: on trial, and then however that ends.
    sleep(300 * HOUR).await;
    assert_eq!(device.told(), 1);
    assert_eq!(device.heard(), None);
    // Nor after the server's restart.
    device.serve();
    sleep(300 * HOUR).await;
    assert_eq!(device.told(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_channel_that_is_there_with_an_index_that_nobody_signed_was_not_heard() {
    let mut device = committed().await;
    let index = device.web.folder.path().join("stable/index.signed");
    let mut bytes = std::fs::read(&index).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    std::fs::write(&index, bytes).unwrap();
    device.serve();
    sleep(6 * HOUR + MINUTE).await;
    assert_eq!((device.told(), device.heard()), (1, None));
}

#[tokio::test(start_paused = true)]
async fn an_agent_that_has_no_time_is_told_again_until_it_has() {
    let mut device = committed().await;
    device.web.release("1.2.0", 12, "x");
    device.channel(false);
    device.serve();
    // Somebody at the console begins an install, and leaves it lying.
    let lies = device.begun("1.2.0").await;
    sleep(7 * HOUR).await;
    assert!(device.told() > 1, "it said that it is busy");
    assert_eq!(device.restarts(), 1);
    device.leave(lies).await;
    device.restarted(2).await;
    assert!(device.now() < 7.5, "{}", device.now());
    let told = device.told();
    sleep(100 * HOUR).await;
    assert_eq!(device.told(), told, "and then no more");
}

#[tokio::test(start_paused = true)]
async fn a_device_from_the_drawer_gets_an_hour_to_hear_somebody() {
    let mut device = committed().await;
    device.channel(false);
    sleep(1000 * HOUR).await;
    device.serve();
    sleep(HOUR / 2).await;
    assert_eq!(device.told(), 0, "its network is not even up");
    device.channel(true);
    sleep(100 * HOUR).await;
    assert_eq!((device.told(), device.restarts()), (0, 1));
    assert!(device.heard().is_some());

    let mut device = committed().await;
    device.channel(false);
    sleep(1000 * HOUR).await;
    device.serve();
    sleep(HOUR + MINUTE).await;
    assert_eq!(device.told(), 1);
}

#[tokio::test(start_paused = true)]
async fn without_the_owners_word_nobody_is_told() {
    let mut device = Device::at(0, |update| update.dead_man_hours = 0);
    device.web.publish();
    device.channel(false);
    device.serve();
    sleep(1000 * HOUR).await;
    assert_eq!((device.told(), device.restarts()), (0, 0));
}

/// A device that has committed 1.1.0, and has heard its channel since.
async fn heard() -> Device {
    let mut device = committed().await;
    device.serve();
    sleep(7 * HOUR).await;
    assert!(device.status().await.channel_reached, "its own look is recorded");
    device.channel(false);
    device
}

/// It stays on 1.1.0 for two months, and nothing is blocked.
async fn stays(device: &mut Device) {
    for _ in 0..20 {
        device.serve();
        sleep(72 * HOUR).await;
    }
    assert_eq!((device.told(), device.restarts()), (0, 1));
    let status = device.status().await;
    assert_eq!(runs(&status), (Some("1.1.0"), Some(Phase::Committed)));
    assert!(status.blocked.is_empty(), "{status:?}");
}

#[tokio::test(start_paused = true)]
async fn months_after_it_was_heard_a_lost_data_partition_sends_nobody_back() {
    let mut device = heard().await;
    std::fs::remove_dir_all(device.folder()).unwrap();
    stays(&mut device).await;
}

#[tokio::test(start_paused = true)]
async fn months_after_it_was_heard_another_channels_name_sends_nobody_back() {
    let mut device = heard().await;
    device.channel(true);
    Arc::make_mut(&mut device.settings).update.channel = "stabel".into();
    stays(&mut device).await;
    assert!(device.status().await.channel_reached);
}

#[tokio::test(start_paused = true)]
async fn a_lost_record_of_the_slots_sends_nobody_back() {
    let mut device = heard().await;
    device.loses_state_partition().await;
    device.serve();
    sleep(1000 * HOUR).await;
    assert_eq!((device.told(), device.restarts()), (0, 0), "of this agent");
}

#[tokio::test(start_paused = true)]
async fn what_was_heard_counts_for_that_version_and_not_for_the_next_one() {
    let mut device = heard().await;
    device.channel(true);
    device.web.release("1.2.0", 12, "the third system\n");
    let bundle = device.bundle("1.2.0");
    let (link, args) = (device.link(), json!({}));
    device.stop();
    {
        let _still = Standstill::begin();
        install(&link, request(&args, None), &bundle).await.unwrap();
    }
    assert!(link.get::<op::update::ChannelReached>().await.unwrap(), "what is armed beside it changes nothing");
    link.call::<op::update::RebootIntoUpdate>(restart(&args)).await.unwrap();
    device.restarted(2).await;
    assert!(!link.get::<op::update::ChannelReached>().await.unwrap(), "a version on trial has no commit");
    assert!(link.call::<op::update::ReportHealth>(healthy()).await.unwrap().committed);
    assert!(!device.status().await.channel_reached);
    device.channel(false);
    device.serve();
    device.restarted(3).await;
    assert_eq!(device.told(), 1);
}

#[tokio::test(start_paused = true)]
async fn the_agent_goes_back_for_no_server_that_forgot_what_was_heard() {
    let mut device = heard().await;
    device.stop();
    let authorization =
        agent::Authorization { principal: agent::DEAD_MAN.into(), args_sha256: String::new(), ask_id: None };
    sleep(100 * HOUR).await;
    let asked = op::update::RollBackRequest { dry_run: false, authorization };
    let refused = device.link().call::<op::update::RollBack>(asked).await.unwrap_err();
    assert_eq!(refused.code, ErrorCode::PermissionDenied, "{refused:?}");
}
