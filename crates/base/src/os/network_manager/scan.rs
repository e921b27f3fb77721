//! Scans for Wi-Fi networks, and what the adapters hear.

use super::{ACCESS_POINT, DEVICE, InterfaceProperties, Objects, SERVICE, WIRELESS, absent, property, said};
use crate::{
    error::{ErrorCode, ToolError},
    os::bus::{DBus, DBusObject},
};
use futures::StreamExt;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::{collections::HashMap, time::Duration};
use zbus::{MatchRule, MessageStream, OwnedVariant, message};

/// Limit for a scan: both bands take some five seconds, and NetworkManager delays one that follows another at once.
pub const PATIENCE: Duration = Duration::from_secs(20);
/// Limit of access points in an answer: the strongest of them.
pub const MOST: usize = 256;
/// NM_DEVICE_STATE_UNAVAILABLE; below it are devices that are not managed.
const UNAVAILABLE: u32 = 20;

/// What the Wi-Fi adapters hear.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WifiScan {
    /// The adapters' interfaces.
    pub interfaces: Vec<String>,
    /// Whether each of them has just scanned; otherwise this is what NetworkManager knew.
    pub fresh: bool,
    /// The strongest first, at most [`MOST`].
    pub access_points: Vec<AccessPoint>,
}

/// An access point.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AccessPoint {
    /// The adapter that hears it.
    pub interface: String,
    /// Absent if hidden. Bytes that are no text are escaped, like \xe9.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub ssid: Option<String>,
    /// The access point's address.
    pub bssid: String,
    pub signal_percent: u8,
    pub frequency_mhz: u32,
    /// Absent outside of the bands at 2.4, 5 and 6 GHz.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u32")]
    pub channel: Option<u32>,
    /// open, owe, wep, wpa, wpa2, wpa3, enterprise: what it offers.
    pub security: Vec<String>,
    /// Whether this device is connected through it.
    pub in_use: bool,
}

/// Scans with the adapter of `interface`, or with all, and waits until they are done. With `rescan` false, or if
/// NetworkManager allows no scan now, the answer is what it knows.
///
/// # Errors
/// `capability_missing` without NetworkManager or a Wi-Fi adapter; `not_found` for an interface that is none;
/// `failed_precondition` while the radio is switched off or no adapter is ready.
pub async fn scan(bus: &DBus, interface: Option<&str>, rescan: bool) -> Result<WifiScan, ToolError> {
    let objects = Objects::read(bus).await?;
    let radios = radios(&objects, interface)?;
    let fresh = rescan && tokio::time::timeout(PATIENCE, refresh(bus, &radios)).await.unwrap_or(Ok(false))?;
    let now = Objects::read(bus).await?;
    let mut access_points = Vec::new();
    for (path, interface, _) in &radios {
        // An adapter that was unplugged meanwhile hears nothing.
        let Some(radio) = now.of(path, WIRELESS) else { continue };
        let active = radio.object("ActiveAccessPoint");
        for point in radio.objects("AccessPoints") {
            if let Some(heard) = now.of(&point, ACCESS_POINT) {
                access_points.extend(read(interface, heard, active == Some(point.as_str())));
            }
        }
    }
    crate::sort::sort_by(&mut access_points, |a: &AccessPoint, b: &AccessPoint| {
        (b.signal_percent, &a.bssid, &a.interface).cmp(&(a.signal_percent, &b.bssid, &b.interface))
    });
    access_points.truncate(MOST);
    Ok(WifiScan { interfaces: radios.into_iter().map(|(_, interface, _)| interface).collect(), fresh, access_points })
}

/// Object, interface and time of the last scan of the adapters that are ready.
fn radios(objects: &Objects, interface: Option<&str>) -> Result<Vec<(String, String, i64)>, ToolError> {
    let mut all: Vec<_> = objects
        .all(WIRELESS)
        .filter_map(|(path, radio)| {
            let state = objects.of(path, DEVICE).and_then(|device| device.number("State"));
            let last = radio.get("LastScan").unwrap_or(-1);
            Some((path.to_owned(), objects.interface_of(path)?.to_owned(), last, state.unwrap_or(u32::MAX)))
        })
        .collect();
    if all.is_empty() {
        return Err(ToolError::missing("NetworkManager knows no Wi-Fi adapter on this machine").hint(
            "is one plugged in, and is its firmware there? `journalctl -k` says; NetworkManager's Wi-Fi part may be missing, too",
        ));
    }
    let enabled = |name| objects.manager().and_then(|manager| manager.flag(name)).unwrap_or(true);
    if !enabled("WirelessHardwareEnabled") {
        return Err(ToolError::precondition("Wi-Fi is blocked by rfkill, or switched off in hardware"));
    }
    if !enabled("WirelessEnabled") {
        return Err(ToolError::precondition("Wi-Fi is switched off in NetworkManager")
            .hint("`nmcli radio wifi on` on the device switches it on"));
    }
    if let Some(interface) = interface {
        let known: Vec<String> = all.iter().map(|each| each.1.clone()).collect();
        all.retain(|each| each.1 == interface);
        if all.is_empty() {
            return Err(ToolError::not_found(format!("{interface} is no Wi-Fi adapter of NetworkManager's"))
                .with("parameter", "device")
                .with("provided_value", interface)
                .with("known", known));
        }
    }
    let names = all.iter().map(|each| each.1.as_str()).collect::<Vec<_>>().join(", ");
    all.retain(|each| each.3 > UNAVAILABLE);
    if all.is_empty() {
        return Err(ToolError::precondition(format!("{names} is not ready for NetworkManager")).hint(
            "it may be blocked by rfkill, without firmware, or left alone by NetworkManager: `nmcli device` says",
        ));
    }
    Ok(all.into_iter().map(|(path, interface, last, _)| (path, interface, last)).collect())
}

/// Requests a scan of each adapter and waits until all have scanned. `false` if NetworkManager refused one.
async fn refresh(bus: &DBus, radios: &[(String, String, i64)]) -> Result<bool, ToolError> {
    let lost = |fault: zbus::Error| ToolError::unavailable(format!("the system bus: {fault}")).hint("try again");
    let rule = MatchRule::builder()
        .msg_type(message::Type::Signal)
        .sender(SERVICE)
        .interface("org.freedesktop.DBus.Properties")
        .member("PropertiesChanged")
        .arg(0, WIRELESS)
        .build();
    let rule = rule.map_err(|fault| ToolError::internal(format!("a match rule: {fault}")))?;
    let connection = bus.connection().await?;
    // Subscribed before the calls: a signal may come before the answer.
    let mut signals = MessageStream::for_match_rule(rule, &connection, None).await.map_err(lost)?;
    let options: HashMap<&str, OwnedVariant> = HashMap::new();
    for (path, ..) in radios {
        let radio = DBusObject { service: SERVICE, path, interface: WIRELESS };
        match bus.call(radio, "RequestScan", &options).await.map_err(absent) {
            Ok(_) => {}
            // Too soon after the last one, or while it connects.
            Err(error) if said(&error) == Some("NotAllowed") => return Ok(false),
            Err(error) => return Err(error),
        }
    }
    for (path, _, before) in radios {
        loop {
            let last = property(bus, path, WIRELESS, "LastScan").await?;
            if i64::try_from(&last).is_ok_and(|last| last != *before) {
                break;
            }
            match signals.next().await {
                Some(Ok(_)) => {}
                Some(Err(fault)) => return Err(lost(fault)),
                None => return Err(ToolError::new(ErrorCode::Unavailable, "the system bus was closed")),
            }
        }
    }
    Ok(true)
}

fn read(interface: &str, point: &InterfaceProperties, in_use: bool) -> Option<AccessPoint> {
    let frequency_mhz = point.number("Frequency")?;
    let flags = |name| point.number(name).unwrap_or(0);
    Some(AccessPoint {
        interface: interface.to_owned(),
        ssid: point.raw("Ssid").filter(|bytes| bytes.iter().any(|byte| *byte != 0)).map(shown),
        bssid: point.text("HwAddress")?.to_owned(),
        signal_percent: point.get("Strength")?,
        frequency_mhz,
        channel: channel(frequency_mhz),
        security: words(flags("Flags"), flags("WpaFlags"), flags("RsnFlags")),
        in_use,
    })
}

/// The name of a network as text: it is 32 bytes of whoever set it up.
fn shown(bytes: Vec<u8>) -> String {
    match String::from_utf8(bytes) {
        Ok(text) if !text.chars().any(char::is_control) => text,
        Ok(text) => text.as_bytes().escape_ascii().to_string(),
        Err(fault) => fault.as_bytes().escape_ascii().to_string(),
    }
}

/// The channel of a frequency (IEEE 802.11-2020, annex E).
fn channel(mhz: u32) -> Option<u32> {
    match mhz {
        2412..=2472 => Some((mhz - 2407) / 5),
        2484 => Some(14),
        5160..=5885 => Some((mhz - 5000) / 5),
        5935 => Some(2),
        5955..=7115 => Some((mhz - 5950) / 5),
        _ => None,
    }
}

/// What an access point offers, from NM80211ApFlags and NM80211ApSecurityFlags.
fn words(flags: u32, wpa: u32, rsn: u32) -> Vec<String> {
    const PRIVACY: u32 = 1;
    const KEYS: u32 = 0x100 | 0x200;
    let any = wpa | rsn;
    let found = [
        ("open", any == 0 && flags & PRIVACY == 0),
        ("owe", rsn & (0x800 | 0x1000) != 0),
        ("wep", any == 0 && flags & PRIVACY != 0),
        ("wpa", wpa != 0),
        ("wpa2", rsn & KEYS != 0),
        ("wpa3", rsn & (0x400 | 0x2000) != 0),
        ("enterprise", any & (0x200 | 0x2000) != 0),
    ];
    found.iter().filter(|(_, is)| *is).map(|(word, _)| (*word).to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_text_whoever_wrote_them() {
        for (bytes, text) in
            [(&b"caf\xc3\xa9"[..], "caf\u{e9}"), (b"caf\xe9", "caf\\xe9"), (b"a\nb", "a\\nb"), (b"\x1b[2J", "\\x1b[2J")]
        {
            assert_eq!(shown(bytes.to_vec()), text);
        }
    }

    #[test]
    fn channels_at_the_edges_of_their_bands() {
        for (mhz, number) in [
            (2407, None),
            (2412, Some(1)),
            (2472, Some(13)),
            (2484, Some(14)),
            (5180, Some(36)),
            (5825, Some(165)),
            (5935, Some(2)),
            (5955, Some(1)),
            (7115, Some(233)),
            (60480, None),
        ] {
            assert_eq!(channel(mhz), number, "{mhz}");
        }
    }

    #[test]
    fn what_an_access_point_offers() {
        for (flags, expected) in [
            ((0, 0, 0), "open"),
            ((1, 0, 0), "wep"),
            ((1, 0x148, 0), "wpa"),
            ((1, 0x148, 0x188), "wpa wpa2"),
            ((1, 0, 0x588), "wpa2 wpa3"),
            ((1, 0, 0x488), "wpa3"),
            ((1, 0, 0x288), "wpa2 enterprise"),
            ((1, 0, 0x2000), "wpa3 enterprise"),
            ((0, 0, 0x800), "owe"),
        ] {
            assert_eq!(words(flags.0, flags.1, flags.2).join(" "), expected, "{flags:?}");
        }
    }
}
