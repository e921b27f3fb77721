//! The board, and whether the server's account may use the kernel's interfaces.

use super::{Finding, Subject};
use base::os::groups;
use hw::{
    board::{Board, Conflict},
    devices::{DeviceFile, Devices},
    model::BoardKind,
};
use std::{collections::BTreeSet, os::unix::fs::MetadataExt};

/// One kind of interface.
struct Interface {
    about: &'static str,
    devices: fn(&Devices) -> &[DeviceFile],
    /// The group with access.
    group: &'static str,
    /// The file below a device that a user needs; empty for the device itself.
    file: &'static str,
    /// How to enable it on a Raspberry Pi.
    missing: &'static str,
}

const INTERFACES: &[Interface] = &[
    Interface {
        about: "gpio",
        devices: |devices| &devices.gpio,
        group: "gpio",
        file: "",
        missing: "a Raspberry Pi has it by itself: look at dmesg for pinctrl",
    },
    Interface {
        about: "i2c",
        devices: |devices| &devices.i2c,
        group: "i2c",
        file: "",
        missing: "write dtparam=i2c_arm=on into config.txt, restart, and load the module i2c-dev",
    },
    Interface {
        about: "camera",
        devices: |devices| &devices.video,
        group: "video",
        file: "",
        missing: "connect one; a camera on the ribbon needs camera_auto_detect=1 in config.txt",
    },
    Interface {
        about: "pwm",
        devices: |devices| &devices.pwm,
        group: "gpio",
        file: "export",
        missing: "write dtoverlay=pwm into config.txt and restart; without it PWM is made by software",
    },
];

pub(super) fn check(subject: &Subject, board: &Result<Board, Conflict>, devices: &Devices) -> Vec<Finding> {
    let board = match board {
        Ok(board) => board,
        Err(conflict) => {
            return vec![Finding::wrong(
                "board",
                conflict.to_string(),
                "set board in the configuration, or leave it out",
            )];
        }
    };
    let (about, says) = ("board", format!("{}: {}", board.model, board.reason));
    if board.is_simulated() && !subject.root.has("proc/device-tree/compatible") {
        return vec![Finding::ok(about, format!("{says} (a PC); for other hardware set board = \"linux\""))];
    }
    if board.is_simulated() {
        let mend = "nothing, if that is meant; for the hardware of this machine set board = \"linux\"";
        return vec![Finding::note(about, says, mend)];
    }
    let mut findings = vec![Finding::ok(about, says)];
    findings.extend(INTERFACES.iter().map(|interface| judge(subject, interface, board, (interface.devices)(devices))));
    findings.extend(unopened_buses(subject, devices));
    findings
}

fn judge(subject: &Subject, interface: &Interface, board: &Board, devices: &[DeviceFile]) -> Finding {
    let Interface { about, group, file, missing, .. } = *interface;
    if devices.is_empty() {
        let mend = if board.kind == BoardKind::RaspberryPi { missing } else { "this machine's kernel offers none" };
        return Finding::note(about, "none", mend);
    }
    let described: Vec<String> = devices.iter().map(DeviceFile::described).collect();
    let closed: Vec<&str> = devices
        .iter()
        .filter(|device| !may_use(subject, &format!("{}/{file}", device.path)))
        .map(|device| device.path.as_str())
        .collect();
    if closed.is_empty() {
        return Finding::ok(about, described.join(", "));
    }
    let user = &subject.account.name;
    Finding::wrong(
        about,
        format!("{user} may not use {}", closed.join(", ")),
        format!("install the udev rules of raspi-mcp, or: usermod -aG {group} {user}; then restart the server"),
    )
}

/// Whether the server's account may read and write the file, by its owner, group and mode.
fn may_use(subject: &Subject, path: &str) -> bool {
    // An account that does not exist has a finding of its own.
    let Some(uid) = subject.account.uid else { return true };
    let Ok(about) = std::fs::metadata(subject.root.path(path.trim_end_matches('/'))) else { return false };
    let groups: BTreeSet<u32> = groups::of_user(&subject.root, &subject.account.name);
    let class = if about.uid() == uid {
        0o600
    } else if groups.contains(&about.gid()) {
        0o060
    } else {
        0o006
    };
    uid == 0 || about.mode() & class == class
}

/// Buses with a kernel driver that programs cannot use, because the module i2c-dev is missing.
fn unopened_buses(subject: &Subject, devices: &Devices) -> Option<Finding> {
    let adapters = subject.root.list("sys/class/i2c-adapter").unwrap_or_default();
    let unopened: Vec<String> = adapters
        .into_iter()
        .filter(|adapter| !devices.i2c.iter().any(|device| device.path == format!("/dev/{adapter}")))
        .collect();
    (!unopened.is_empty()).then(|| {
        let mend = "modprobe i2c-dev; the unit's modules-load.d file does it at each start";
        Finding::wrong("i2c", format!("no device files for {}", unopened.join(", ")), mend)
    })
}
