//! Whether the clock is right, on which connections with other machines depend.

use super::{Finding, Subject};
use base::os::clock;

/// `on_pc`: this is somebody's own server with a simulated board.
pub(super) fn check(subject: &Subject, on_pc: bool) -> Vec<Finding> {
    let about = "clock";
    vec![match clock::synchronized(&subject.root) {
        Some(true) => Finding::ok(about, "set from the network"),
        Some(false) => Finding::note(
            about,
            "not set from the network since the start: certificates, tokens and the audit's times depend on it",
            "wait for the network, or: timedatectl set-ntp true",
        ),
        None if on_pc => Finding::ok(about, "nothing says whether it is set from the network"),
        None => Finding::note(
            about,
            "nothing says whether it is set from the network",
            "systemd-timesyncd does; chrony and ntpd keep it to themselves",
        ),
    }]
}
