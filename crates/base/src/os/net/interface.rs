//! The state of each network interface: `/sys/class/net/*` (`Documentation/ABI/testing/sysfs-class-net`).

use crate::os::Root;
use std::io;

const FOLDER: &str = "sys/class/net";
/// Limit of interfaces in an answer; a machine with many containers has hundreds.
pub const MOST: usize = 128;

/// One interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NetInterface {
    pub name: String,
    pub index: u32,
    /// Six octets with colons; zeros for an interface without one (tunnels), like the kernel's loopback.
    pub mac: String,
    /// Largest packet, in bytes.
    pub mtu: Option<u32>,
    pub state: OperState,
    pub kind: InterfaceKind,
    /// Megabits per second, if the driver reports it.
    pub megabits: Option<u32>,
}

/// RFC 2863's operational state, reduced to three values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OperState {
    Up,
    /// No cable, no radio, no peer, or switched off.
    Down,
    /// The driver does not report it: the loopback, most tunnels.
    Unknown,
}

/// The kind of an interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InterfaceKind {
    Ethernet,
    Wifi,
    Loopback,
    Bridge,
    Vlan,
    /// Created by software: containers, dummies, bonds.
    Virtual,
    Tunnel,
    Other,
}

/// Every interface, at most [`MOST`], sorted by name, with the total number.
///
/// # Errors
/// `NotFound` without sysfs. An interface that disappears meanwhile is skipped.
pub fn read(root: &Root) -> io::Result<(Vec<NetInterface>, usize)> {
    let names = root.list(FOLDER)?;
    let is_interface = |name: &&String| root.has(&format!("{FOLDER}/{name}/ifindex"));
    let mut found: Vec<NetInterface> = Vec::new();
    let mut all = 0;
    for name in names.iter().filter(is_interface) {
        all += 1;
        if found.len() < MOST {
            found.extend(one(root, name).ok());
        }
    }
    Ok((found, all))
}

fn one(root: &Root, name: &str) -> io::Result<NetInterface> {
    let file = |file: &str| format!("{FOLDER}/{name}/{file}");
    let number = |name: &str| root.number(&file(name)).ok().and_then(|value| u32::try_from(value).ok());
    let state = match root.line(&file("operstate"))?.as_str() {
        "up" => OperState::Up,
        "unknown" => OperState::Unknown,
        _ => OperState::Down,
    };
    let index = number("ifindex").ok_or_else(|| crate::os::malformed(&file("ifindex"), "it holds no index"))?;
    let mac = root.line(&file("address")).ok().filter(|address| is_mac(address));
    Ok(NetInterface {
        name: name.to_owned(),
        index,
        mac: mac.unwrap_or_else(|| "00:00:00:00:00:00".into()),
        mtu: number("mtu"),
        state,
        kind: kind(root, name),
        megabits: number("speed").filter(|speed| *speed > 0),
    })
}

/// From the driver's `DEVTYPE`, then from the hardware type (linux/if_arp.h).
fn kind(root: &Root, name: &str) -> InterfaceKind {
    let uevent = root.read(&format!("{FOLDER}/{name}/uevent")).unwrap_or_default();
    match uevent.lines().find_map(|line| line.strip_prefix("DEVTYPE=")) {
        Some("wlan") => return InterfaceKind::Wifi,
        Some("bridge") => return InterfaceKind::Bridge,
        Some("vlan") => return InterfaceKind::Vlan,
        Some("wireguard") => return InterfaceKind::Tunnel,
        Some("bond" | "veth" | "macvlan" | "vxlan") => return InterfaceKind::Virtual,
        _ => {}
    }
    match root.number(&format!("{FOLDER}/{name}/type")).unwrap_or(0) {
        772 => InterfaceKind::Loopback,
        // A hardware device has this link.
        1 if root.has(&format!("{FOLDER}/{name}/device")) => InterfaceKind::Ethernet,
        1 => InterfaceKind::Virtual,
        512 | 768 | 769 | 776 | 778 | 823 | 65534 => InterfaceKind::Tunnel,
        _ => InterfaceKind::Other,
    }
}

fn is_mac(text: &str) -> bool {
    text.len() == 17
        && text.bytes().enumerate().all(|(at, byte)| if at % 3 == 2 { byte == b':' } else { byte.is_ascii_hexdigit() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn what_sysfs_says() {
        let folder = tempfile::tempdir().unwrap();
        let put = |name: &str, files: &[(&str, &str)]| {
            let path = folder.path().join(FOLDER).join(name);
            fs::create_dir_all(&path).unwrap();
            files.iter().for_each(|(file, text)| fs::write(path.join(file), text).unwrap());
        };
        put(
            "lo",
            &[("ifindex", "1\n"), ("address", "00:00:00:00:00:00\n"), ("operstate", "unknown\n"), ("type", "772\n")],
        );
        put(
            "eth0",
            &[
                ("ifindex", "2\n"),
                ("address", "dc:a6:32:01:02:03\n"),
                ("operstate", "up\n"),
                ("type", "1\n"),
                ("mtu", "1500\n"),
                ("speed", "1000\n"),
                ("device", ""),
            ],
        );
        put(
            "tun0",
            &[("ifindex", "9\n"), ("address", "\n"), ("operstate", "down\n"), ("type", "65534\n"), ("speed", "-1\n")],
        );
        put("bonding_masters", &[]);
        put("broken", &[("ifindex", "x\n"), ("operstate", "up\n")]);
        let (found, all) = read(&Root::at(folder.path())).unwrap();
        assert_eq!(all, 4);
        let [eth0, lo, tun0] = &found[..] else { panic!("{found:?}") };
        assert_eq!(
            (eth0.kind, eth0.state, eth0.mtu, eth0.megabits),
            (InterfaceKind::Ethernet, OperState::Up, Some(1500), Some(1000))
        );
        assert_eq!((lo.kind, lo.state, lo.mtu), (InterfaceKind::Loopback, OperState::Unknown, None));
        assert_eq!((tun0.kind, tun0.mac.as_str(), tun0.megabits), (InterfaceKind::Tunnel, "00:00:00:00:00:00", None));
    }

    #[test]
    fn an_address_has_six_octets() {
        assert!(is_mac("dc:a6:32:01:02:0F"));
        for bad in ["", "dc:a6:32:01:02", "dc-a6-32-01-02-03", "80:00:02:08:fe:80:00:00:00", "gg:a6:32:01:02:03"] {
            assert!(!is_mac(bad), "{bad}");
        }
    }
}
