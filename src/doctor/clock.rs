//! Whether the clock is right, on which connections with other machines depend.

use super::{Finding, Subject};
use base::os::clock;

pub(super) fn check(subject: &Subject) -> Vec<Finding> {
    let about = "clock";
    vec![match clock::synchronized(&subject.root) {
        Some(true) => Finding::ok(about, "set from the network"),
        Some(false) => Finding::note(
            about,
            "not set from the network since the start: certificates, tokens and the audit's times depend on it",
            "wait for the network, or: timedatectl set-ntp true",
        ),
        None => Finding::note(
            about,
            "nothing says whether it is set from the network",
            "systemd-timesyncd does; chrony and ntpd keep it to themselves",
        ),
    }]
}
