//! Two readings make an interval: from an earlier call where there is one of the right age, else by waiting.

use crate::support::trees::Copied;
use base::os::activity::Activity;
use std::time::Duration;
use tokio::time::{Instant, advance};

fn stat(busy: u64, idle: u64) -> String {
    format!("cpu  {busy} 0 0 {idle} 0 0 0 0 0 0\n")
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn the_first_caller_waits_a_quarter_of_a_second() {
    let pi = Copied::of("pi-4b");
    let started = Instant::now();
    let interval = Activity::default().measure(&pi.root()).await.unwrap();
    assert_eq!(started.elapsed(), Duration::from_millis(250));
    assert_eq!((interval.seconds(), interval.cpu_percent()), (0.25, 0.0));
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn the_next_one_compares_with_the_first_and_waits_for_nothing() {
    let (pi, activity) = (Copied::of("pi-4b"), Activity::default());
    pi.write("proc/stat", stat(100, 900));
    activity.measure(&pi.root()).await.unwrap();
    advance(Duration::from_secs(10)).await;
    pi.write("proc/stat", stat(400, 1600));
    let asked = Instant::now();
    let interval = activity.measure(&pi.root()).await.unwrap();
    assert_eq!(asked.elapsed(), Duration::ZERO);
    assert_eq!((interval.seconds(), interval.cpu_percent()), (10.25, 30.0));
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn asking_all_the_time_never_waits_again() {
    let (pi, activity) = (Copied::of("pi-4b"), Activity::default());
    activity.measure(&pi.root()).await.unwrap();
    advance(Duration::from_millis(250)).await;
    let started = Instant::now();
    for _ in 0..100 {
        let interval = activity.measure(&pi.root()).await.unwrap();
        assert!((0.5..1.2).contains(&interval.seconds()), "{}", interval.seconds());
        advance(Duration::from_millis(100)).await;
    }
    assert_eq!(started.elapsed(), Duration::from_secs(10));
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn a_reading_of_more_than_a_minute_ago_is_history() {
    let (pi, activity) = (Copied::of("pi-4b"), Activity::default());
    activity.measure(&pi.root()).await.unwrap();
    advance(Duration::from_millis(59_750)).await;
    assert_eq!(activity.measure(&pi.root()).await.unwrap().seconds(), 60.0);
    advance(Duration::from_millis(60_001)).await;
    assert_eq!(activity.measure(&pi.root()).await.unwrap().seconds(), 0.25);
}
