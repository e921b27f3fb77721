//! A release that says what it drops, renames and adds is held against that in its trial, and one that says nothing against what was there.

use super::*;
use update::bundle::{BundleContent, Renamed, ServiceChanges};

/// What becomes of 1.1.0 in its first trial, and what was wrong with it, on a device on which `old.service` was active before.
async fn ends(says: impl FnOnce(&mut ServiceChanges)) -> (Option<Phase>, String) {
    let mut device = Device::at(0, |update| (update.check_interval_hours, update.automatic) = (6, true));
    let says = |plan: &mut BundleContent| says(&mut plan.changes.services);
    device.web.release_that("1.1.0", 11, "the second system\n", says);
    device.serve();
    device.job_begins().await;
    assert_eq!(device.job_stops().await.error(), None);
    device.restarted(1).await;
    // There is no systemd here: the service stands in the baseline alone.
    let file = device.folder().join("baseline.json");
    let mut before: serde_json::Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    before["units"] = json!(["old.service"]);
    std::fs::write(&file, before.to_string()).unwrap();
    // The old system has been judged as well: no service runs there either.
    sleep(3 * MINUTE / 2).await;
    let status = device.status().await;
    let reason = status.last_attempt.as_ref().map(|attempt| attempt.reason.clone());
    (runs(&status).1, reason.unwrap_or_default())
}

#[tokio::test(start_paused = true)]
async fn a_release_that_says_nothing_has_to_have_what_was_active() {
    let (phase, reason) = ends(|_| {}).await;
    assert_eq!(phase, Some(Phase::Armed), "its trial failed, and it waits");
    assert!(reason.contains("old.service"), "{reason}");
}

#[tokio::test(start_paused = true)]
async fn what_a_release_drops_is_not_missed() {
    let (phase, reason) = ends(|changes| changes.drops = vec!["old.service".into()]).await;
    assert_eq!(phase, Some(Phase::Committed), "{reason}");
}

#[tokio::test(start_paused = true)]
async fn what_a_release_renames_and_adds_has_to_be_there() {
    let renamed = Renamed { from: "old.service".into(), to: "young.service".into() };
    let (phase, reason) = ends(|changes| changes.renames = vec![renamed]).await;
    // By its name of before it is missing in the old system, too.
    assert_eq!(phase, Some(Phase::Armed), "its trial failed, and it waits");
    assert!(reason.contains("young.service") && !reason.contains("old.service"), "{reason}");
    let (phase, reason) = ends(|changes| {
        (changes.drops, changes.adds) = (vec!["old.service".into()], vec!["new.service".into()]);
    })
    .await;
    assert_eq!(phase, Some(Phase::RolledBack));
    assert!(reason.contains("new.service") && !reason.contains("old.service"), "{reason}");
}
