//! An install that was left (its server ended, its job was cancelled) while the agent still writes what it has of it.

use super::*;
use serde_json::json;
use update::job::{UpdateOrder, WantedRelease};

fn order(principal: &str) -> UpdateOrder {
    UpdateOrder {
        id: format!("of-{principal}"),
        tool: "manage.update_server".into(),
        principal: principal.into(),
        args_sha256: base::canonical::sha256_hex(&json!({})),
        ask_id: None,
        wanted: WantedRelease { channel: "stable".into(), ..WantedRelease::default() },
        old_version: None,
    }
}

#[tokio::test(start_paused = true)]
async fn the_next_one_of_the_same_caller_waits_for_it_and_others_are_told() {
    let mut device = Device::at(0, |_| {});
    device.web.release("1.1.0", 11, "x");
    device.serve();
    let left = device.begun("1.1.0").await;

    let services = Arc::clone(&device.server.as_ref().unwrap().0);
    device.updates().start(&services.machine, order("somebody else")).unwrap();
    let job = timeout(MINUTE, device.jobs().settled()).await.expect("an end").unwrap();
    assert_eq!(job.error_code.as_deref(), Some("conflict"), "{job:?}");
    assert!(job.message.contains("token:fleet is installing version 1.1.0"), "{}", job.message);

    device.updates().start(&services.machine, order("token:fleet")).unwrap();
    sleep(Duration::from_secs(5)).await;
    assert!(device.jobs().runs(), "{:?}", device.jobs().newest());
    device.leave(left).await;
    // From here on the agent is at work: only until the job looks again, the time goes on.
    let still = Standstill::begin();
    tokio::time::advance(Duration::from_millis(250)).await;
    assert_eq!(device.job_stops().await.error(), None);
    drop(still);
    device.restarted(1).await;
}
