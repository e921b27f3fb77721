//! Configures the network from the identity at each boot: NetworkManager's file of the wireless connection, the radio's
//! country, the host name.

use super::{Identity, Wifi};
use base::os::{Root, host_name, whole};
use std::{
    fs,
    io::{self, Write},
    os::unix::fs::{DirBuilderExt, PermissionsExt},
};

/// Here it takes precedence over a connection with the same UUID in /etc (NetworkManager, `cmp_fcn` in
/// nms-keyfile-storage.c): it is written only while there is none, because that one is the owner's changed one.
const CONNECTIONS: &str = "run/NetworkManager/system-connections";
const CONNECTION: &str = "raspi-mcp.nmconnection";
/// Read when the module is loaded (modprobe.d(5)), the only time the country is set.
const MODPROBE: &str = "run/modprobe.d";
const COUNTRY: &str = "raspi-mcp.conf";
const HOSTNAME: &str = "proc/sys/kernel/hostname";
/// Default names of an image.
const NO_NAMES: [&str; 3] = ["localhost", "raspi-mcp", "(none)"];

/// Writes all of this below `root`. `is_stored` says whether NetworkManager's folder has a connection with that UUID.
///
/// # Errors
/// One fault for each part that could not be written; the other parts are written.
pub fn apply(root: &Root, identity: &Identity, is_stored: impl Fn(&str) -> bool) -> Vec<String> {
    let wifi = identity.wifi.as_ref();
    let country = wifi.filter(|wifi| !wifi.country.is_empty());
    let country = country.map(|wifi| format!("options cfg80211 ieee80211_regdom={}\n", wifi.country));
    let mut faults = Vec::new();
    let mut done = |what: &str, result: io::Result<()>| {
        faults.extend(result.err().map(|error| format!("{what} cannot be set: {error}")));
    };
    let unchanged = wifi.filter(|wifi| !is_stored(&uuid(wifi)));
    done("the wireless connection", put(root, CONNECTIONS, CONNECTION, 0o600, unchanged.map(connection)));
    done("the radio's country", put(root, MODPROBE, COUNTRY, 0o644, country));
    done("the host's name", identity.name.as_ref().map_or(Ok(()), |name| name_host(root, name)));
    faults
}

fn put(root: &Root, folder: &str, name: &str, mode: u32, content: Option<String>) -> io::Result<()> {
    let path = root.path(folder).join(name);
    let Some(content) = content else {
        return whole::remove(&path);
    };
    fs::DirBuilder::new().recursive(true).mode(0o755).create(root.path(folder))?;
    whole::replace(&path, 0o600, |file| {
        file.write_all(content.as_bytes())?;
        file.set_permissions(fs::Permissions::from_mode(mode))
    })
}

/// Whether a host name is an image's, which nobody gave.
pub fn is_default_name(name: &str) -> bool {
    NO_NAMES.contains(&name)
}

/// A name that was set since then is kept. The file is written first, and in place, because it is a mount point;
/// systemd-hostnamed, which NetworkManager starts, takes the name from there, whatever the kernel's is.
fn name_host(root: &Root, name: &str) -> io::Result<()> {
    let given = host_name::kept(root);
    if given.as_deref() != Some(name) {
        if given.is_some_and(|given| !is_default_name(&given)) {
            return Ok(());
        }
        host_name::keep(root, name)?;
    }
    let path = root.path(HOSTNAME);
    if fs::read_to_string(&path).is_ok_and(|now| now.trim() == name) {
        return Ok(());
    }
    fs::OpenOptions::new().write(true).truncate(true).open(path)?.write_all(name.as_bytes())
}

/// The connection as a key file of NetworkManager (nm-settings-keyfile(5)). The name is written as numbers and the
/// secret escaped, so that neither can inject other settings.
fn connection(wifi: &Wifi) -> String {
    let ssid: String = wifi.ssid.bytes().map(|byte| format!("{byte};")).collect();
    let hidden = if wifi.hidden { "hidden=true\n" } else { "" };
    let mut text = format!(
        "# Written by `raspi-mcp prepare` at each start.\n[connection]\nid=raspi-mcp\nuuid={}\ntype=wifi\n\n\
         [wifi]\nmode=infrastructure\nssid={ssid}\n{hidden}",
        uuid(wifi)
    );
    if !wifi.secret.is_empty() {
        // In GLib's key files a backslash begins an escape, and leading spaces are dropped.
        let secret = wifi.secret.replace('\\', "\\\\").replace(' ', "\\s");
        text.push_str(&format!("\n[wifi-security]\nkey-mgmt=wpa-psk\npsk={secret}\n"));
    }
    text.push_str("\n[ipv4]\nmethod=auto\n\n[ipv6]\nmethod=auto\n");
    text
}

/// Constant for a network, so that NetworkManager recognises the connection: a UUID from a hash (RFC 9562, version 8).
fn uuid(wifi: &Wifi) -> String {
    let sum = ring::digest::digest(&ring::digest::SHA256, &[b"raspi-mcp wifi\0", wifi.ssid.as_bytes()].concat());
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&sum.as_ref()[..16]);
    base::canonical::uuid(bytes, 8)
}

/// Written by the initramfs when partition 8 is lost.
pub const DATA_LOST: &str = "run/raspi-mcp-data-lost";

/// Why there is no data partition at this boot; `None` if there is one.
pub fn data_lost(root: &Root) -> Option<String> {
    root.has(DATA_LOST).then(|| root.line(DATA_LOST).unwrap_or_else(|_| "nobody says why".into()))
}
