//! What is to be different in a profile, as a caller says it: the arguments of `network.add_connection` and `network.update_connection`.

use crate::error::ToolError;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, de::Error};
use std::net::Ipv4Addr;

/// Longest name of a connection, in characters.
pub const LONGEST_NAME: usize = 255;
/// Longest name of an interface: IFNAMSIZ without its NUL (linux/if.h).
pub const LONGEST_DEVICE: usize = 15;
/// Range of the time to confirm that a caller may request, in seconds.
pub const CONFIRM_SECONDS: std::ops::RangeInclusive<u32> = 10..=600;
/// The default, in seconds.
pub const DEFAULT_CONFIRM_SECONDS: u32 = 60;
const SHORTEST_CONFIRM: u32 = *CONFIRM_SECONDS.start();
const LONGEST_CONFIRM: u32 = *CONFIRM_SECONDS.end();
/// Longest name of a Wi-Fi network, in bytes (IEEE 802.11).
const LONGEST_SSID: usize = 32;
/// Of a passphrase, in characters (IEEE 802.11).
const PASSPHRASE: std::ops::RangeInclusive<usize> = 8..=63;
/// Name servers: resolv.conf(5) takes three.
const MOST_DNS: usize = 3;

/// What is to be different; `None` leaves what there is. It has no debug form, because that would show the passphrase.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProfileChange {
    /// Name of the connection. To update one, its UUID or name.
    #[schemars(length(min = 1, max = LONGEST_NAME), regex(pattern = r"^[^\u0000-\u001f\u007f-\u009f]+$"))]
    #[serde(deserialize_with = "name")]
    pub connection: String,
    /// Name of the Wi-Fi network. A new connection without it is for Ethernet.
    #[schemars(with = "String", length(min = 1, max = LONGEST_SSID), regex(pattern = r"^[^\u0000-\u001f\u007f-\u009f]+$"))]
    #[serde(default, deserialize_with = "ssid", skip_serializing_if = "Option::is_none")]
    pub ssid: Option<String>,
    /// Of the Wi-Fi network. It is stored and never shown.
    #[schemars(
        with = "String",
        length(min = 8, max = 63),
        regex(pattern = "^[ -~]+$"),
        extend("writeOnly" = true, "x-advertised" = {"type": "string", "minLength": 8, "maxLength": 63, "pattern": "^[ -~]+$"})
    )]
    #[serde(default, deserialize_with = "passphrase", skip_serializing_if = "Option::is_none")]
    pub passphrase: Option<String>,
    /// Default: wpa with a passphrase, open without. wpa3 is WPA3 alone.
    #[schemars(with = "WifiSecurity")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub security: Option<WifiSecurity>,
    /// The network does not broadcast its name.
    #[schemars(with = "bool")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hidden: Option<bool>,
    /// The only interface it is for.
    #[schemars(with = "String", length(min = 1, max = LONGEST_DEVICE), regex(pattern = r"^[!-.0-9;-~]+$"))]
    #[serde(default, deserialize_with = "device", skip_serializing_if = "Option::is_none")]
    pub device: Option<String>,
    /// Whether NetworkManager uses it by itself; a new one is.
    #[schemars(with = "bool")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub autoconnect: Option<bool>,
    /// "dhcp", or a static address with its prefix, like 192.0.2.10/24. A new connection has dhcp.
    #[schemars(with = "String", length(min = 4, max = 18), regex(pattern = "^(dhcp|[0-9./]+)$"), extend("examples" = ["192.0.2.10/24"]))]
    #[serde(default, deserialize_with = "ipv4", skip_serializing_if = "Option::is_none")]
    pub ipv4: Option<String>,
    /// IPv4 address of the router, beside a static address.
    #[schemars(with = "String", length(min = 7, max = 15), regex(pattern = "^[0-9.]+$"), extend("examples" = ["192.0.2.1"]))]
    #[serde(default, deserialize_with = "gateway", skip_serializing_if = "Option::is_none")]
    pub gateway: Option<String>,
    /// IPv4 addresses of name servers.
    #[schemars(with = "Vec<String>", length(max = MOST_DNS), inner(length(min = 7, max = 15)))]
    #[serde(default, deserialize_with = "dns", skip_serializing_if = "Option::is_none")]
    pub dns: Option<Vec<String>>,
    /// Whether to use it now, and take it back unless that is confirmed. A connection in use is always used anew.
    #[serde(default = "yes")]
    pub activate: bool,
    /// Seconds until it goes back by itself.
    #[schemars(range(min = SHORTEST_CONFIRM, max = LONGEST_CONFIRM))]
    #[serde(default = "default_confirm", deserialize_with = "confirm")]
    pub confirm_seconds: u32,
    /// Only say what would happen.
    #[serde(default)]
    pub dry_run: bool,
}

/// How a Wi-Fi network is protected: `wpa` is WPA2, with WPA3 where both can; `wpa3` is WPA3 alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WifiSecurity {
    Open,
    Wpa,
    Wpa3,
}

/// IPv4 settings that were checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ipv4Method {
    Dhcp,
    Static(Ipv4Addr, u8),
}

/// What is to be different of a profile's IPv4.
pub struct Ipv4Change {
    pub method: Option<Ipv4Method>,
    pub gateway: Option<Ipv4Addr>,
    pub dns: Option<Vec<Ipv4Addr>>,
}

impl ProfileChange {
    /// The method of IPv4, the gateway and the name servers, where they are to change.
    ///
    /// # Errors
    /// `invalid_argument` naming the one that is no address.
    pub fn addresses(&self) -> Result<Ipv4Change, ToolError> {
        let method = self.ipv4.as_deref().map(|text| match text.split_once('/') {
            None if text == "dhcp" => Ok(Ipv4Method::Dhcp),
            Some((address, prefix)) => match (host(address), prefix.parse::<u8>()) {
                (Some(address), Ok(prefix @ 1..=32)) => Ok(Ipv4Method::Static(address, prefix)),
                _ => Err(wrong("ipv4", text, "dhcp, or an address and its prefix like 192.0.2.10/24")),
            },
            None => Err(wrong("ipv4", text, "dhcp, or an address and its prefix like 192.0.2.10/24")),
        });
        let address = |name, text: &str| host(text).ok_or_else(|| wrong(name, text, "an IPv4 address like 192.0.2.1"));
        let gateway = self.gateway.as_deref().map(|text| address("gateway", text)).transpose()?;
        let servers = |all: &Vec<String>| all.iter().map(|text| address("dns", text)).collect::<Result<Vec<_>, _>>();
        let method = method.transpose()?;
        if gateway.is_some() && method == Some(Ipv4Method::Dhcp) {
            return Err(ToolError::invalid("with dhcp the router says its own address").with("parameter", "gateway"));
        }
        Ok(Ipv4Change { method, gateway, dns: self.dns.as_ref().map(servers).transpose()? })
    }

    /// Checks what the type cannot say.
    ///
    /// # Errors
    /// `invalid_argument` naming the argument; it never repeats the passphrase.
    pub fn check(&self) -> Result<(), ToolError> {
        let refuse = |parameter: &str, why: &str| Err(ToolError::invalid(why).with("parameter", parameter));
        if self.ssid.as_ref().is_some_and(|ssid| ssid.len() > LONGEST_SSID) {
            return refuse("ssid", "the name of a Wi-Fi network has 32 bytes at most");
        }
        if self.passphrase.is_some() && self.security == Some(WifiSecurity::Open) {
            return refuse("passphrase", "an open network has no passphrase");
        }
        self.addresses().map(drop)
    }
}

/// The address of one machine.
fn host(text: &str) -> Option<Ipv4Addr> {
    text.parse().ok().filter(|address: &Ipv4Addr| {
        !(address.is_unspecified() || address.is_multicast() || address.is_broadcast() || address.is_loopback())
    })
}

fn wrong(parameter: &str, text: &str, expected: &str) -> ToolError {
    ToolError::invalid(format!("{parameter} is not what it must be: {expected}"))
        .with("parameter", parameter)
        .with("provided_value", text)
}

/// Whether `name` is a valid name or UUID of a profile.
pub fn is_name(name: &str) -> bool {
    (1..=LONGEST_NAME).contains(&name.chars().count()) && !name.chars().any(char::is_control)
}

/// Whether `name` is a valid name of an interface: the kernel's rule (`dev_valid_name`), in ASCII.
pub fn is_device(name: &str) -> bool {
    (1..=LONGEST_DEVICE).contains(&name.len())
        && name.bytes().all(|byte| byte.is_ascii_graphic() && !matches!(byte, b'/' | b':'))
}

fn yes() -> bool {
    true
}

fn default_confirm() -> u32 {
    DEFAULT_CONFIRM_SECONDS
}

/// A text that `fits`; the error never repeats it, because it may be secret.
fn text<'de, D: Deserializer<'de>>(from: D, fits: fn(&str) -> bool, what: &str) -> Result<Option<String>, D::Error> {
    let text = Option::<String>::deserialize(from)?;
    if text.as_deref().is_none_or(fits) { Ok(text) } else { Err(D::Error::custom(what)) }
}

/// # Errors
/// A sentence with what a name is.
pub fn name<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    let wrong = "1 to 255 characters without control characters";
    text(from, is_name, wrong)?.ok_or_else(|| D::Error::custom(wrong))
}

/// # Errors
/// A sentence with what an interface is.
pub fn device<'de, D: Deserializer<'de>>(from: D) -> Result<Option<String>, D::Error> {
    text(from, is_device, "an interface has 1 to 15 visible characters, no / and no :")
}

/// # Errors
/// A sentence with the limits.
pub fn confirm<'de, D: Deserializer<'de>>(from: D) -> Result<u32, D::Error> {
    match u32::deserialize(from)? {
        seconds if CONFIRM_SECONDS.contains(&seconds) => Ok(seconds),
        seconds => Err(D::Error::custom(format!("{seconds} seconds where 10 to 600 are allowed"))),
    }
}

fn ssid<'de, D: Deserializer<'de>>(from: D) -> Result<Option<String>, D::Error> {
    let fits = |text: &str| (1..=LONGEST_SSID).contains(&text.chars().count()) && !text.chars().any(char::is_control);
    text(from, fits, "1 to 32 characters without control characters")
}

fn passphrase<'de, D: Deserializer<'de>>(from: D) -> Result<Option<String>, D::Error> {
    let fits = |text: &str| PASSPHRASE.contains(&text.len()) && text.bytes().all(|byte| matches!(byte, b' '..=b'~'));
    text(from, fits, "a passphrase has 8 to 63 ASCII characters")
}

fn ipv4<'de, D: Deserializer<'de>>(from: D) -> Result<Option<String>, D::Error> {
    let fits = |text: &str| {
        text == "dhcp"
            || (4..=18).contains(&text.len()) && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'.' | b'/'))
    };
    text(from, fits, "dhcp, or an address with its prefix")
}

fn is_dotted(text: &str) -> bool {
    (7..=15).contains(&text.len()) && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'.'))
}

fn gateway<'de, D: Deserializer<'de>>(from: D) -> Result<Option<String>, D::Error> {
    text(from, is_dotted, "an IPv4 address has 7 to 15 digits and dots")
}

fn dns<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Vec<String>>, D::Error> {
    let all = Option::<Vec<String>>::deserialize(from)?;
    let fits =
        |all: &Vec<String>| all.len() <= MOST_DNS && all.iter().all(|text| (7..=15).contains(&text.chars().count()));
    if all.as_ref().is_none_or(fits) { Ok(all) } else { Err(D::Error::custom("at most 3 IPv4 addresses")) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn change(more: Value) -> Result<ProfileChange, String> {
        let mut all = json!({"connection": "home"});
        all.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let change: ProfileChange = serde_json::from_value(all).map_err(|fault| fault.to_string())?;
        change.check().map_err(|error| error.to_string())?;
        Ok(change)
    }

    #[test]
    fn names_of_interfaces() {
        let longest = "a".repeat(LONGEST_DEVICE);
        for good in ["eth0", "wlan0", "br-1a2b3c", "eth0.100", longest.as_str()] {
            assert!(is_device(good), "{good}");
        }
        let too_long = "a".repeat(LONGEST_DEVICE + 1);
        for bad in ["", "a/b", "eth0:1", "a b", "eth0\n", "eth0\0", "eth\u{e9}", too_long.as_str()] {
            assert!(!is_device(bad), "{bad:?}");
        }
    }

    #[test]
    fn what_can_be_a_change_and_what_cannot() {
        for good in [
            json!({"ssid": "caf\u{e9}", "passphrase": "8 signs!"}),
            json!({"ssid": "x", "passphrase": "p".repeat(63), "security": "wpa3"}),
            json!({"ipv4": "dhcp", "dns": []}),
            json!({"ipv4": "192.0.2.10/24", "gateway": "192.0.2.1", "dns": ["192.0.2.53", "198.51.100.53"]}),
        ] {
            assert!(change(good.clone()).is_ok(), "{good}");
        }
        for bad in [
            json!({"ssid": ""}),
            json!({"ssid": "\u{e9}".repeat(17)}),
            json!({"ssid": "a\nb"}),
            json!({"ssid": "x", "passphrase": "7 signs"}),
            json!({"ssid": "x", "passphrase": "p".repeat(64)}),
            json!({"ssid": "x", "passphrase": "caf\u{e9} caf\u{e9}"}),
            json!({"ssid": "x", "passphrase": "12345678", "security": "open"}),
            json!({"ipv4": "auto"}),
            json!({"ipv4": "192.0.2.10"}),
            json!({"ipv4": "192.0.2.10/33"}),
            json!({"ipv4": "192.0.2.10/0"}),
            json!({"ipv4": "127.0.0.1/8"}),
            json!({"ipv4": "dhcp", "gateway": "192.0.2.1"}),
            json!({"gateway": "192.0.2"}),
            json!({"dns": ["192.0.2.1", "192.0.2.2", "192.0.2.3", "192.0.2.4"]}),
            json!({"dns": ["224.0.0.1"]}),
            json!({"device": "a/b"}),
            json!({"confirm_seconds": 9}),
            json!({"psk": "x"}),
        ] {
            assert!(change(bad.clone()).is_err(), "{bad}");
        }
    }

    #[test]
    fn no_error_repeats_a_passphrase() {
        for secret in ["hunter2", "caf\u{e9} hunter2", &"hunter2 ".repeat(8)] {
            let said = change(json!({"ssid": "x", "passphrase": secret})).err().unwrap();
            assert!(!said.contains("hunter"), "{said}");
        }
        let said = change(json!({"ssid": "x", "passphrase": "hunter2-hunter2", "security": "open"})).err().unwrap();
        assert!(!said.contains("hunter"), "{said}");
    }
}
