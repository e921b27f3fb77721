//! Rotations of the root of trust over years: each half keeps the newer roots, and either memory is lost now and then.

use super::*;
use std::fs;

/// A device that looks at its channel every six hours and installs by itself, and was there for `rotations`.
async fn rotated(rotations: u32) -> Device {
    let mut device = Device::at(0, |update| (update.check_interval_hours, update.automatic) = (6, true));
    device.web.publish();
    device.serve();
    for _ in 0..rotations {
        device.web.rotate();
        sleep(12 * HOUR).await;
    }
    assert_eq!(device.server_has(), (2..=u64::from(rotations) + 1).collect::<Vec<_>>());
    device
}

impl Device {
    /// The versions of the roots that the server's half has stored.
    fn server_has(&self) -> Vec<u64> {
        let files = fs::read_dir(self.folder()).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut found: Vec<u64> =
            files.filter_map(|name| name.strip_prefix("root.")?.strip_suffix(".signed")?.parse().ok()).collect();
        found.sort_unstable();
        found
    }

    /// A factory reset, a file system that was made anew, a restore on a new card: what the server's half kept is gone.
    pub(super) fn loses_data_partition(&mut self) {
        self.stop();
        fs::remove_dir_all(self.folder()).unwrap();
    }

    /// The power fails, and what partition 7 has cannot be read after it.
    pub(super) async fn loses_state_partition(&mut self) {
        self.power_off().await;
        let area = self.settings.places.agent_state_dir.join("card/agent-state.img");
        let size = fs::metadata(&area).unwrap().len();
        fs::File::create(&area).unwrap().set_len(size).unwrap();
        self.power_on();
    }

    /// Publishes a release, and waits until it has proved itself.
    async fn takes(&mut self, version: &str, counter: u64) {
        let before = self.restarts();
        self.web.release(version, counter, &format!("the system {version}\n"));
        let job = timeout(24 * HOUR, self.job_begins()).await.expect("a round within a day");
        assert_eq!(job.order.wanted.version.as_deref(), Some(version));
        let job = self.job_stops().await;
        assert_eq!(job.error(), None, "{job:?}");
        self.restarted(before + 1).await;
        sleep(MINUTE).await;
        assert_eq!(runs(&self.status().await), (Some(version), Some(Phase::Committed)));
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_forgot_every_rotation_gets_the_roots_from_the_agent() {
    for rotations in 1..=3 {
        let mut device = rotated(rotations).await;
        device.loses_data_partition();
        device.serve();
        device.takes("1.1.0", 11).await;
        // The next rotation as well.
        device.web.rotate();
        device.takes("1.2.0", 12).await;
        assert_eq!(device.server_has(), (2..=u64::from(rotations) + 2).collect::<Vec<_>>());
    }
}

#[tokio::test(start_paused = true)]
async fn an_agent_that_forgot_every_rotation_gets_the_roots_from_the_server() {
    for rotations in 1..=3 {
        let mut device = rotated(rotations).await;
        device.loses_state_partition().await;
        device.serve();
        device.takes("1.1.0", 11).await;
        device.web.rotate();
        device.takes("1.2.0", 12).await;
    }
}

#[tokio::test(start_paused = true)]
async fn where_both_forgot_the_channel_has_them() {
    let mut device = rotated(2).await;
    device.loses_data_partition();
    device.loses_state_partition().await;
    device.serve();
    device.takes("1.1.0", 11).await;
    assert_eq!(device.server_has(), [2, 3]);
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_read_in_the_servers_memory_is_replaced_by_what_the_agent_has() {
    for (version, damage) in [(2, &b"no root"[..]), (3, b""), (2, b"\xff\xfe")] {
        let mut device = rotated(2).await;
        device.stop();
        fs::write(device.folder().join(format!("root.{version}.signed")), damage).unwrap();
        device.serve();
        device.takes("1.1.0", 11).await;
        assert_eq!(device.server_has(), [2, 3]);
    }
}

#[tokio::test(start_paused = true)]
async fn of_two_roots_with_one_number_the_agents_counts() {
    let mut device = rotated(1).await;
    device.stop();
    // The publisher made root 2 twice. The keys of the first one sign the channel.
    let other = device.web.another_root();
    fs::write(device.folder().join("root.2.signed"), other).unwrap();
    device.serve();
    device.takes("1.1.0", 11).await;
    device.web.rotate();
    device.takes("1.2.0", 12).await;
    assert_eq!(device.server_has(), [2, 3]);
}

#[tokio::test(start_paused = true)]
async fn a_root_that_is_held_is_accepted_again_and_another_one_of_its_number_is_not() {
    let device = rotated(3).await;
    let link = device.link();
    for version in 2..=4_u64 {
        let text = fs::read_to_string(device.folder().join(format!("root.{version}.signed"))).unwrap();
        assert_eq!(link.call::<op::update::TrustRoot>(text.clone()).await.unwrap(), version);
        let next = op::update::NextRootRequest { after: version - 1 };
        assert_eq!(link.call::<op::update::GetNextRoot>(next).await.unwrap(), Some(text));
    }
    for after in [0, 4, u64::MAX] {
        let next = op::update::NextRootRequest { after };
        assert_eq!(link.call::<op::update::GetNextRoot>(next).await.unwrap(), None);
    }
    let other = String::from_utf8(device.web.another_root()).unwrap();
    let refused = link.call::<op::update::TrustRoot>(other).await.unwrap_err();
    assert_eq!(refused.code, ErrorCode::VerificationFailed);
    assert!(refused.message.contains("another root of trust of version 2"), "{refused:?}");
}
