//! A committed release whose root is damaged on the card: the older one runs, and gets the release from the channel again.

use super::*;
use crate::agent::update::healthy;
use ::update::{
    Slot,
    slots::counter::{Counted, Counter},
    status::SlotState,
};
use std::{fs::OpenOptions, os::unix::fs::FileExt};

const NOTE: &str = "its root is damaged on the card: found by dm-verity";

impl Device {
    fn card(&self, area: &str) -> std::fs::File {
        let path = self.settings.places.agent_state_dir.join("card").join(area);
        OpenOptions::new().read(true).write(true).open(path).unwrap()
    }
}

/// The slot that the update went into.
fn slot_b(status: &UpdateStatus) -> (bool, SlotState, Option<&str>, Option<&str>) {
    let slot = status.slots.iter().find(|slot| slot.slot == Slot::B).unwrap();
    (slot.running, slot.state, slot.version.as_deref(), slot.note.as_deref())
}

#[tokio::test(start_paused = true)]
async fn the_damaged_release_comes_back_from_the_channel_by_itself() {
    let mut device = Device::at(0, |update| (update.check_interval_hours, update.automatic) = (6, true));
    device.web.release("1.1.0", 11, &"the second system\n".repeat(30_000));
    device.serve();
    device.job_begins().await;
    assert_eq!(device.job_stops().await.error(), None);
    device.restarted(1).await;
    sleep(MINUTE).await;
    assert_eq!(slot_b(&device.status().await), (true, SlotState::Good, Some("1.1.0"), None));
    let good = std::fs::read(device.settings.places.agent_state_dir.join("card/root-b.img")).unwrap();

    device.power_off().await;
    // What the initramfs finds, and that its slot is left: this firmware leaves one that does not start.
    device.card("root-b.img").write_all_at(&[0xff; 512], 40_000).unwrap();
    device.card("agent-state.img").write_all_at(b"B", Counter::Damage.at()).unwrap();
    device.card("boot-b.img").write_all_at(&[0; 512], 0).unwrap();
    device.power_on();
    let status = device.status().await;
    assert_eq!(slot_b(&status), (false, SlotState::Bad, Some("1.1.0"), Some(NOTE)));
    assert!(status.faults.contains(&format!("slot B: {NOTE}")), "{:?}", status.faults);
    assert!(status.blocked.is_empty());

    // The server of a simulated machine reports on trials only.
    device.link().call::<op::update::ReportHealth>(healthy()).await.unwrap();
    assert_eq!(slot_b(&device.status().await).3, Some(NOTE), "not that it did not start");
    device.serve();
    let job = device.job_begins().await;
    assert_eq!(job.order.wanted.version.as_deref(), Some("1.1.0"));
    assert_eq!(device.job_stops().await.error(), None, "{:?}", device.jobs().newest());
    device.restarted(1).await;
    sleep(MINUTE).await;
    let status = device.status().await;
    assert_eq!(slot_b(&status), (true, SlotState::Good, Some("1.1.0"), None));
    assert_eq!(runs(&status), (Some("1.1.0"), Some(Phase::Committed)));
    let now = std::fs::read(device.settings.places.agent_state_dir.join("card/root-b.img")).unwrap();
    assert!(now == good, "every block was compared, also where the record said that it is there");
}

#[tokio::test(start_paused = true)]
async fn starts_are_counted_until_the_machine_has_run_for_days() {
    let device = Device::at(0, |_| {});
    let counted = || {
        let mut sector = [0; 512];
        device.card("agent-state.img").read_exact_at(&mut sector, Counter::Starts.at()).unwrap();
        let count = |letter| sector.iter().filter(|byte| **byte == letter).count() as u32;
        Counted { a: count(b'A'), b: count(b'B') }
    };
    device.card("agent-state.img").write_all_at(b"AAB", Counter::Starts.at()).unwrap();
    sleep(8 * 24 * HOUR - MINUTE).await;
    assert_eq!(counted(), Counted { a: 2, b: 1 });
    sleep(2 * MINUTE).await;
    assert_eq!(counted(), Counted::default());
}
