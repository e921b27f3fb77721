//! `[update]`: where releases come from, when they may come, how a new system proves itself, and what the machine's two slots are.

use crate::{
    config::{settings::Settings, words::is_name},
    os::real_path::resolved,
    values::Windows,
};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// The section. What the privileged half reads of it (`product`, `layout`, `flow`, `flow_command`, `trust`, `channel`, what
/// begins with `health_`, `dead_man_hours`, `installs_per_day`) it reads in its own configuration.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UpdateSettings {
    /// What this machine's images are of; a bundle of another product is refused.
    pub product: String,
    /// The one truth about which partition is what.
    pub layout: PathBuf,
    pub flow: Flow,
    /// The program of the flow `custom`: its full path, or empty.
    pub flow_command: String,
    /// The root of trust that came with the image.
    pub trust: PathBuf,
    /// Base of the channels' files; empty: there is none.
    pub url: String,
    /// Other places with the same files, tried in this order.
    pub mirrors: Vec<String>,
    pub channel: String,
    /// The ring this device is in; empty: none.
    pub ring: String,
    /// The one version that is wanted; empty: the newest.
    pub pin: String,
    /// 0: only when somebody asks.
    pub check_interval_hours: u32,
    /// Whether what a check finds is installed without being asked for.
    pub automatic: bool,
    /// When an update may restart the machine by itself, in local time. Empty: at any time.
    pub window: Windows,
    /// When blocks may be fetched, in local time. Empty: at any time.
    pub download_window: Windows,
    /// KiB a second; 0: as fast as it goes.
    pub bandwidth_kib: u32,
    /// `http://host:port`; empty: none.
    pub proxy: String,
    /// PEM, in place of the authorities of the system; empty: those.
    pub ca_file: String,
    /// A connection that brings fewer than `stall_bytes` in so long is given up.
    pub stall_seconds: u64,
    pub stall_bytes: u64,
    /// The whole of one download, with all its pauses.
    pub deadline_hours: u32,
    pub spool_dir: PathBuf,
    /// What the spool leaves free on its file system.
    pub spool_reserve_bytes: u64,
    /// What a trial has to prove itself, from the agent's start on.
    pub health_deadline_seconds: u64,
    /// Services that must be active, beside those that were before.
    pub health_units: Vec<String>,
    /// Programs that must end with 0.
    pub health_commands: Vec<PathBuf>,
    /// Addresses that must answer with 2xx.
    pub health_urls: Vec<String>,
    /// Without a verified word from the channel for so long after a commit, the old slot gets one more chance. 0: never.
    pub dead_man_hours: u32,
    pub installs_per_day: u32,
}

/// `update.flow`: how the board is told which slot to start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Flow {
    Auto,
    Tryboot,
    Uboot,
    Custom,
}

const MIB: u64 = 1 << 20;

impl UpdateSettings {
    /// What holds when nobody sets anything: nothing is asked, nothing is fetched.
    pub fn below(state_dir: &Path) -> Self {
        Self {
            product: "raspi-mcp".into(),
            layout: "/usr/share/raspi-mcp/layout.toml".into(),
            flow: Flow::Auto,
            flow_command: String::new(),
            trust: "/usr/share/raspi-mcp/trust/root.json".into(),
            url: String::new(),
            mirrors: Vec::new(),
            channel: "stable".into(),
            ring: String::new(),
            pin: String::new(),
            check_interval_hours: 0,
            automatic: false,
            window: Windows::default(),
            download_window: Windows::default(),
            bandwidth_kib: 0,
            proxy: String::new(),
            ca_file: String::new(),
            // 2G brings ten times as much to each of several connections.
            stall_seconds: 60,
            stall_bytes: 16 << 10,
            deadline_hours: 24,
            spool_dir: state_dir.join("update"),
            spool_reserve_bytes: 64 * MIB,
            health_deadline_seconds: 300,
            health_units: Vec::new(),
            health_commands: Vec::new(),
            health_urls: Vec::new(),
            dead_man_hours: 0,
            installs_per_day: 4,
        }
    }

    /// The channel's address and its mirrors', in the order they are asked; none without `update.url`.
    pub fn bases(&self) -> Vec<String> {
        let first = (!self.url.is_empty()).then(|| self.url.clone());
        first.into_iter().chain(self.mirrors.iter().cloned()).collect()
    }

    /// The proxy without its password.
    pub fn shown_proxy(&self) -> &str {
        self.proxy.rsplit_once('@').map_or(&self.proxy, |(_, host)| host)
    }
}

/// Rules between its keys, and what a line of text must be: which keys, and what is wrong.
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
                update.url
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
    spool(settings, &mut broken);
    faults
}

/// Blocks of updates lie in a folder of their own: old ones there are removed.
fn spool(settings: &Settings, broken: &mut impl FnMut(&'static str, String)) {
    let places = &settings.places;
    let (dir, state) = (resolved(&settings.update.spool_dir), resolved(&places.state_dir));
    let shown = settings.update.spool_dir.display();
    let in_state = dir.starts_with(&state) && dir != state;
    let guarded = [&places.runtime_dir, &places.agent_state_dir].into_iter().cloned();
    let system = ["/etc", "/usr", "/run", "/dev", "/proc", "/sys"].map(PathBuf::from);
    let lies_in = |other: &PathBuf| !in_state && dir.starts_with(resolved(other));
    if let Some(other) = guarded.chain(system).find(lies_in) {
        let other = other.display();
        broken(
            "update.spool_dir",
            format!("update.spool_dir is {shown}, which lies in {other}; give it a folder of its own"),
        );
    }
    if state.starts_with(&dir) {
        broken(
            "update.spool_dir",
            format!("update.spool_dir is {shown}, which holds the server's state; give it a folder of its own"),
        );
    }
}

/// Where a channel may be: at an address, or in a folder of this machine (a stick, a share).
pub fn is_base(text: &str) -> bool {
    is_https(text) || crate::config::words::full_path(text)
}

/// `https://host…` without a name, a query or a fragment, and nothing that has to be guessed.
pub fn is_https(url: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~:/[]%".contains(&byte);
    url.strip_prefix("https://")
        .is_some_and(|rest| !rest.starts_with(['/', ':']) && !rest.is_empty() && rest.bytes().all(plain))
}

/// What `update.health_urls` may hold: https anywhere, http only on this machine.
pub fn is_probe(url: &str) -> bool {
    let local = ["http://localhost", "http://127.0.0.1", "http://[::1]"];
    let near = local.iter().find_map(|base| url.strip_prefix(base));
    let plain = |byte: u8| byte.is_ascii_graphic() && !b"\"\\<>@".contains(&byte);
    is_https(url.split(['?', '#']).next().unwrap_or_default()) && url.bytes().all(plain)
        || near.is_some_and(|rest| (rest.is_empty() || rest.starts_with([':', '/'])) && rest.bytes().all(plain))
}

/// A proxy may want a name and a password, as in `http://name:word@proxy:3128`.
fn is_proxy(url: &str) -> bool {
    let rest = url.strip_prefix("http://").or_else(|| url.strip_prefix("https://"));
    rest.is_some_and(|rest| {
        !rest.is_empty() && !rest.starts_with([':', '@', '/']) && rest.bytes().all(|byte| byte.is_ascii_graphic())
    })
}

/// A semantic version, roughly: digits and dots, then perhaps more (semver.org, 2.0.0).
pub fn is_version(text: &str) -> bool {
    let core = text.split(['-', '+']).next().unwrap_or_default();
    let number = |part: &str| (1..=9).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_digit());
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b".-+".contains(&byte);
    text.len() <= 64 && text.bytes().all(plain) && core.split('.').count() == 3 && core.split('.').all(number)
}
