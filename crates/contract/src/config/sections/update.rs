//! `[update]`: the source of releases, the times for updates, the health checks of a new system, and the layout of the
//! slots.

use super::own_folder::own_folder;
use crate::{
    config::{
        declare::{choice, section},
        key::InState,
        kind::{GIB, MIB, SettingKind, bytes, count, seconds},
        settings::Settings,
        words::is_name,
    },
    values::Windows,
};
use base::redact::shown_address;
use std::path::PathBuf;

// The agent reads some of these keys from its own configuration: `product`, `layout`, `flow`, `flow_command`, `trust`,
// `channel`, those that begin with `health_`, `dead_man_hours`, `installs_per_day`.
section! {
    /// Updates of the whole system, with rollback: where releases come from, when they are installed, and how a new one
    /// is checked. For its own decisions, the agent reads its own configuration.
    [update] pub struct UpdateSettings given places {
        /// The product of this machine's images. Bundles of another product are refused.
        product: String = "raspi-mcp".into(), SettingKind::Text, InState::Never;
        /// File with the partition layout, the only definition of which partition is which.
        layout: PathBuf = "/usr/share/raspi-mcp/layout.toml".into(), SettingKind::File, InState::Never;
        /// How the board is told which slot to start. `auto` detects it; `custom` runs `update.flow_command`.
        flow: Flow = Flow::Auto, Flow::KIND, InState::Never;
        /// The program of the flow `custom`, by its full path; otherwise empty. docs/boot.md describes its arguments.
        flow_command: String = String::new(), SettingKind::Text, InState::Never;
        /// The root of trust of the image, which says whose signatures are accepted. Its rules decide which later roots
        /// are accepted.
        trust: PathBuf = "/usr/share/raspi-mcp/trust/root.json".into(), SettingKind::File, InState::Never;
        /// Address of the channels' files, like "https://updates.example.org/pi": any web space. Empty: no channel is
        /// checked.
        url: String = String::new(), SettingKind::Text, InState::Never;
        /// Other addresses of the same files. Each is tried when those before it fail.
        mirrors: Vec<String> = Vec::new(), SettingKind::Urls, InState::Never;
        /// The channel that releases are taken from: `stable`, `beta` or another one published there.
        channel: String = "stable".into(), SettingKind::Text, InState::Never;
        /// The ring of this device, for releases that are rolled out ring by ring. Empty: none.
        ring: String = String::new(), SettingKind::Text, InState::Never;
        /// The only version to install, like "1.4.2". Empty: the newest.
        pin: String = String::new(), SettingKind::Text, InState::Never;
        /// How often the channel is checked; 0: only on request.
        check_interval_hours: u32 = 0, count(0, 720), InState::Never;
        /// Whether a release that a check finds is installed without a request.
        automatic: bool = false, SettingKind::Bool, InState::Off;
        /// When an automatic update may start and restart the machine, in local time: only at night, for example. Empty: at any time.
        window: Windows = Windows::default(), SettingKind::Windows, InState::Never;
        /// When updates may be downloaded, in local time, for connections billed by the hour. Empty: at any time.
        download_window: Windows = Windows::default(), SettingKind::Windows, InState::Never;
        /// Maximum download rate in KiB per second; 0: no limit.
        bandwidth_kib: u32 = 0, count(0, 1_000_000), InState::Never;
        /// Proxy for updates, like "http://proxy.lan:3128". Environment variables are ignored. Empty: none.
        proxy: String = String::new(), SettingKind::Text, InState::Never;
        /// Certificates (PEM) of the authorities trusted for update servers, in place of the system's. Empty: the
        /// system's.
        ca_file: String = String::new(), SettingKind::Text, InState::Never;
        /// A connection that delivers less than `stall_bytes` in this time is closed, and another one is tried.
        // 2G delivers ten times as much to each of several connections.
        stall_seconds: u64 = 60, seconds(5, 3600), InState::Never;
        /// See `stall_seconds`.
        stall_bytes: u64 = 16 * 1024, bytes(1, 16 * MIB), InState::Never;
        /// Maximum duration of one download, including all its pauses. The data received by then is kept.
        deadline_hours: u32 = 24, count(1, 720), InState::Lower;
        /// Folder in which blocks are stored until the download is complete; by default `update` in `places.state_dir`.
        /// For the service, a folder elsewhere also needs `ReadWritePaths=` in a drop-in (`systemctl edit raspi-mcp`).
        spool_dir: PathBuf = places.state_dir.join("update"), SettingKind::Folder, InState::Never;
        /// Space that the stored blocks leave free on their file system.
        spool_reserve_bytes: u64 = 64 * 1024 * 1024, bytes(0, 1024 * GIB), InState::Never;
        /// Time within which a new system must be found healthy; otherwise the old one starts again.
        health_deadline_seconds: u64 = 300, seconds(30, 900), InState::Never;
        /// Services that must be active in a new system, in addition to those that were active in the old one.
        health_units: Vec<String> = Vec::new(), SettingKind::Services, InState::Never;
        /// Programs that must exit with 0 in a new system, each within 20 s. The agent runs them as root, without arguments.
        health_commands: Vec<PathBuf> = Vec::new(), SettingKind::Programs, InState::Never;
        /// Addresses that must answer with success (2xx) in a new system.
        health_urls: Vec<String> = Vec::new(), SettingKind::Probes, InState::Never;
        /// If the channel gives no verified answer for this long after an update, the device returns to the previous
        /// system, once. 0: never.
        dead_man_hours: u32 = 0, count(0, 8760), InState::Never;
        /// Maximum number of installations that the agent starts in 24 hours.
        installs_per_day: u32 = 4, count(1, 100), InState::Never;
    }
}

choice! {
    /// `update.flow`: how the board is told which slot to start.
    pub enum Flow {
        Auto = "auto",
        Tryboot = "tryboot",
        Uboot = "uboot",
        Custom = "custom",
    }
}

impl UpdateSettings {
    /// The channel's address and its mirrors, in the order they are tried; empty without `update.url`.
    pub fn bases(&self) -> Vec<String> {
        let first = (!self.url.is_empty()).then(|| self.url.clone());
        first.into_iter().chain(self.mirrors.iter().cloned()).collect()
    }

    /// The proxy without its password.
    pub fn shown_proxy(&self) -> &str {
        self.proxy.rsplit_once('@').map_or(&self.proxy, |(_, host)| host)
    }
}

/// The violated rules between its keys and the syntax errors in its texts, each with its key.
pub fn faults(settings: &Settings) -> Vec<(&'static str, String)> {
    let update = &settings.update;
    let mut faults = Vec::new();
    let mut broken = |key, message: String| faults.push((key, message));
    for (key, name) in [("update.product", &update.product), ("update.channel", &update.channel)] {
        if !is_name(name, 64) {
            broken(key, format!("{key} must be 1 to 64 characters from a-z, 0-9, \"_\" and \"-\", not \"{name}\""));
        }
    }
    if !update.ring.is_empty() && !is_name(&update.ring, 64) {
        let ring = &update.ring;
        broken(
            "update.ring",
            format!("update.ring must be a name of a-z, 0-9, \"_\" and \"-\", or \"\", not \"{ring}\""),
        );
    }
    if !update.pin.is_empty() && !is_version(&update.pin) {
        broken("update.pin", format!("update.pin must be a version like \"1.4.2\", or \"\", not \"{}\"", update.pin));
    }
    if !update.url.is_empty() && !is_base(&update.url) {
        broken(
            "update.url",
            format!(
                "update.url must look like \"https://updates.example.org/pi\", or be the full path of a folder, not \"{}\"",
                shown_address(&update.url)
            ),
        );
    }
    if update.url.is_empty() {
        if !update.mirrors.is_empty() {
            broken("update.mirrors", "update.mirrors are copies of update.url, which is empty; set it too".into());
        }
        if update.check_interval_hours > 0 {
            let message = "update.check_interval_hours needs update.url: there is nobody to ask";
            broken("update.check_interval_hours", message.into());
        }
        if update.dead_man_hours > 0 {
            let message = "update.dead_man_hours needs update.url: no word would ever come from nowhere";
            broken("update.dead_man_hours", message.into());
        }
    }
    if update.automatic && update.check_interval_hours == 0 {
        let message = "update.automatic = true installs what a check finds; set update.check_interval_hours, so that there are checks";
        broken("update.automatic", message.into());
    }
    if !update.proxy.is_empty() && !is_proxy(&update.proxy) {
        broken(
            "update.proxy",
            format!("update.proxy must look like \"http://proxy.lan:3128\", not \"{}\"", update.shown_proxy()),
        );
    }
    let path = |text: &str| text.is_empty() || crate::config::words::full_path(text);
    if !path(&update.ca_file) {
        broken("update.ca_file", format!("update.ca_file must be a full path, or \"\", not \"{}\"", update.ca_file));
    }
    match (update.flow, update.flow_command.is_empty()) {
        (Flow::Custom, true) => broken(
            "update.flow",
            "update.flow = \"custom\" needs update.flow_command: the full path of the program that it runs".into(),
        ),
        (Flow::Custom, false) if !path(&update.flow_command) => {
            let command = &update.flow_command;
            broken(
                "update.flow_command",
                format!("update.flow_command must be a full path without \"..\", not \"{command}\""),
            );
        }
        (Flow::Auto | Flow::Tryboot | Flow::Uboot, false) => broken(
            "update.flow_command",
            "update.flow_command is only for update.flow = \"custom\"; take it away, or set the flow".into(),
        ),
        _ => {}
    }
    if let Some(unit) = update.health_units.iter().find(|unit| unit.contains(['*', '?'])) {
        broken(
            "update.health_units",
            format!("update.health_units has \"{unit}\"; name each service, without * and ?"),
        );
    }
    // Old blocks in it are deleted, so it must not be shared.
    for message in own_folder("update.spool_dir", &update.spool_dir, settings, "give it a folder of its own") {
        broken("update.spool_dir", message);
    }
    faults
}

/// Whether it is a valid address of a channel: https, or a folder of this machine (a stick, a share).
pub fn is_base(text: &str) -> bool {
    is_https(text) || crate::config::words::full_path(text)
}

/// Whether it is `https://host…` without user name, query or fragment, in plain characters only.
pub fn is_https(url: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~:/[]%".contains(&byte);
    url.strip_prefix("https://")
        .is_some_and(|rest| !rest.starts_with(['/', ':']) && !rest.is_empty() && rest.bytes().all(plain))
}

/// Whether it is valid in `update.health_urls`: https anywhere, http only on this machine.
pub fn is_probe(url: &str) -> bool {
    let local = ["http://localhost", "http://127.0.0.1", "http://[::1]"];
    let near = local.iter().find_map(|base| url.strip_prefix(base));
    let plain = |byte: u8| byte.is_ascii_graphic() && !b"\"\\<>@".contains(&byte);
    is_https(url.split(['?', '#']).next().unwrap_or_default()) && url.bytes().all(plain)
        || near.is_some_and(|rest| (rest.is_empty() || rest.starts_with([':', '/'])) && rest.bytes().all(plain))
}

/// A proxy may have a user name and a password, as in `http://name:word@proxy:3128`.
fn is_proxy(url: &str) -> bool {
    let rest = url.strip_prefix("http://").or_else(|| url.strip_prefix("https://"));
    rest.is_some_and(|rest| {
        !rest.is_empty() && !rest.starts_with([':', '@', '/']) && rest.bytes().all(|byte| byte.is_ascii_graphic())
    })
}

/// Roughly a semantic version: three numbers with dots, then optional suffixes (semver.org, 2.0.0).
pub fn is_version(text: &str) -> bool {
    let core = text.split(['-', '+']).next().unwrap_or_default();
    let number = |part: &str| (1..=9).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_digit());
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b".-+".contains(&byte);
    text.len() <= 64 && text.bytes().all(plain) && core.split('.').count() == 3 && core.split('.').all(number)
}
