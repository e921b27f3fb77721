//! Adds a profile or changes one: in memory, where a restart of the machine undoes it, or on the card.
//!
//! NetworkManager takes whole profiles only, so a change reads the profile with its secrets, which go back to
//! NetworkManager and nowhere else.

use super::{
    ETHERNET, PROFILE, SERVICE, absent,
    change::{Ipv4Change, Ipv4Method, ProfileChange, WifiSecurity},
    generated, said, unknown,
};
use crate::{
    error::{ErrorCode, ToolError},
    os::bus::{DBus, DBusObject},
};
use serde::Serialize;
use std::{collections::HashMap, net::Ipv4Addr};
use zbus::{DynamicType, Message, OwnedObjectPath, OwnedVariant, Variant};

const SETTINGS_PATH: &str = "/org/freedesktop/NetworkManager/Settings";
const SETTINGS: &str = "org.freedesktop.NetworkManager.Settings";
/// The type of profiles for Wi-Fi (NM_SETTING_WIRELESS_SETTING_NAME).
pub const WIFI: &str = "802-11-wireless";
const SECURITY: &str = "802-11-wireless-security";
/// Settings with secrets that a change must keep.
const SECRET: [&str; 2] = [SECURITY, "802-1x"];
/// NM_SETTINGS_ADD_CONNECTION2_FLAG_TO_DISK and NM_SETTINGS_UPDATE2_FLAG_TO_DISK.
pub(super) const TO_DISK: u32 = 1;
const IN_MEMORY: u32 = 2;
/// NetworkManager does not use it by itself before we do.
const BLOCK_AUTOCONNECT: u32 = 0x20;

pub(super) type Settings = HashMap<String, HashMap<String, OwnedVariant>>;

/// Adds a profile with that UUID. Returns its object path. Before one for Ethernet comes to the card, those that
/// NetworkManager generated are written there.
///
/// # Errors
/// `invalid_argument` for what NetworkManager takes for no profile.
pub async fn add(bus: &DBus, uuid: &str, change: &ProfileChange, keep: bool) -> Result<String, ToolError> {
    let mut settings = Settings::new();
    let kind = if change.ssid.is_some() { WIFI } else { ETHERNET };
    set(&mut settings, "connection", "uuid", uuid)?;
    set(&mut settings, "connection", "id", change.connection.as_str())?;
    set(&mut settings, "connection", "type", kind)?;
    set(&mut settings, "ipv4", "method", "auto")?;
    set(&mut settings, "ipv6", "method", "auto")?;
    if kind == WIFI {
        set(&mut settings, WIFI, "mode", "infrastructure")?;
    }
    apply(&mut settings, change)?;
    if keep && kind == ETHERNET {
        generated::keep(bus).await?;
    }
    let flags = if keep { TO_DISK } else { IN_MEMORY | BLOCK_AUTOCONNECT };
    let object = DBusObject { service: SERVICE, path: SETTINGS_PATH, interface: SETTINGS };
    let options: HashMap<String, OwnedVariant> = HashMap::new();
    let answer = call(bus, object, "AddConnection2", &(settings, flags, options)).await?;
    let (path, _): (OwnedObjectPath, HashMap<String, OwnedVariant>) =
        answer.body().deserialize().map_err(|fault| unknown("AddConnection2", &fault))?;
    Ok(path.as_str().to_owned())
}

/// Changes the profile at `path`.
///
/// # Errors
/// `failed_precondition` for one that has no such setting; `invalid_argument` for what NetworkManager does not take.
pub async fn update(bus: &DBus, path: &str, change: &ProfileChange, keep: bool) -> Result<(), ToolError> {
    let object = DBusObject { service: SERVICE, path, interface: PROFILE };
    let mut settings = read(bus, object, "GetSettings", &()).await?;
    for section in SECRET {
        if !settings.contains_key(section) {
            continue;
        }
        let secrets = match read(bus, object, "GetSecrets", &section).await {
            Ok(secrets) => secrets,
            Err(error) if said(&error) == Some("NoSecrets") => continue,
            Err(error) => return Err(error),
        };
        for (section, values) in secrets {
            settings.entry(section).or_default().extend(values);
        }
    }
    apply(&mut settings, change)?;
    let flags = if keep { TO_DISK } else { IN_MEMORY };
    write(bus, object, settings, flags).await
}

/// Writes the profile with that UUID, as it is in memory, to the card; as [`add`], those that NetworkManager generated
/// come first.
///
/// # Errors
/// `not_found` when it is gone.
pub async fn save(bus: &DBus, uuid: &str) -> Result<(), ToolError> {
    let all = DBusObject { service: SERVICE, path: SETTINGS_PATH, interface: SETTINGS };
    let answer = call(bus, all, "GetConnectionByUuid", &uuid).await?;
    let path: OwnedObjectPath = answer.body().deserialize().map_err(|fault| unknown("GetConnectionByUuid", &fault))?;
    let object = DBusObject { service: SERVICE, path: path.as_str(), interface: PROFILE };
    if generated::kind(&read(bus, object, "GetSettings", &()).await?) == Some(ETHERNET) {
        generated::keep(bus).await?;
    }
    write(bus, object, Settings::new(), TO_DISK).await
}

/// Whether the profile can take that change, before anything is done.
///
/// # Errors
/// `failed_precondition` naming its type.
pub fn fits(kind: &str, change: &ProfileChange) -> Result<(), ToolError> {
    let wireless =
        change.ssid.is_some() || change.passphrase.is_some() || change.security.is_some() || change.hidden.is_some();
    match kind {
        WIFI => Ok(()),
        ETHERNET if !wireless => Ok(()),
        ETHERNET => Err(ToolError::precondition("a connection for Ethernet has no network name and no passphrase")
            .hint("name the Wi-Fi network in ssid")),
        other => Err(ToolError::precondition(format!("connections of the type {other} are not changed here"))
            .hint("those of Wi-Fi and Ethernet are; `nmcli` on the device knows all")),
    }
}

pub(super) async fn read<B: Serialize + DynamicType>(
    bus: &DBus,
    object: DBusObject<'_>,
    method: &str,
    body: &B,
) -> Result<Settings, ToolError> {
    // The fault would not show the answer, which may be secret.
    call(bus, object, method, body).await?.body().deserialize().map_err(|fault| unknown(method, &fault))
}

pub(super) async fn write(bus: &DBus, object: DBusObject<'_>, settings: Settings, flags: u32) -> Result<(), ToolError> {
    let options: HashMap<String, OwnedVariant> = HashMap::new();
    call(bus, object, "Update2", &(settings, flags, options)).await.map(drop)
}

async fn call<B: Serialize + DynamicType>(
    bus: &DBus,
    object: DBusObject<'_>,
    method: &str,
    body: &B,
) -> Result<Message, ToolError> {
    bus.call(object, method, body).await.map_err(absent).map_err(|error| match said(&error) {
        // nm-errors.h, NMConnectionError.
        Some("InvalidProperty" | "MissingProperty" | "InvalidSetting" | "MissingSetting" | "InvalidConnection") => {
            error.with_code(ErrorCode::InvalidArgument).hint("network.list_connections shows what the connection has")
        }
        Some("UnknownMethod") => {
            error.with_code(ErrorCode::CapabilityMissing).hint("it needs NetworkManager 1.20 or newer")
        }
        _ => error,
    })
}

fn set<'a>(settings: &mut Settings, section: &str, key: &str, value: impl Into<Variant<'a>>) -> Result<(), ToolError> {
    put(settings, section, key, value.into())
}

fn put(settings: &mut Settings, section: &str, key: &str, value: Variant<'_>) -> Result<(), ToolError> {
    // Only a file descriptor could not be owned; the fault could show the value.
    let value =
        OwnedVariant::try_from(value).map_err(|_| ToolError::internal(format!("{section}.{key} has no value")))?;
    settings.entry(section.to_owned()).or_default().insert(key.to_owned(), value);
    Ok(())
}

fn apply(settings: &mut Settings, change: &ProfileChange) -> Result<(), ToolError> {
    if let Some(device) = &change.device {
        set(settings, "connection", "interface-name", device.as_str())?;
    }
    if let Some(by_itself) = change.autoconnect {
        set(settings, "connection", "autoconnect", by_itself)?;
    }
    if let Some(ssid) = &change.ssid {
        set(settings, WIFI, "ssid", ssid.as_bytes().to_vec())?;
    }
    if let Some(hidden) = change.hidden {
        set(settings, WIFI, "hidden", hidden)?;
    }
    secure(settings, change)?;
    addresses(settings, change)
}

fn secure(settings: &mut Settings, change: &ProfileChange) -> Result<(), ToolError> {
    let now = settings.get(SECURITY).and_then(|section| <&str>::try_from(section.get("key-mgmt")?).ok());
    let management = match (change.security, now) {
        (None, _) if change.passphrase.is_none() => return Ok(()),
        (Some(WifiSecurity::Open), _) => {
            settings.remove(SECURITY);
            return Ok(());
        }
        (Some(WifiSecurity::Wpa), _) | (None, None | Some("none" | "wpa-psk")) => "wpa-psk",
        (Some(WifiSecurity::Wpa3), _) | (None, Some("sae")) => "sae",
        (None, Some(now)) => {
            return Err(ToolError::precondition(format!("the connection logs in by {now}, without a passphrase"))
                .hint("say security as well to have it log in by a passphrase"));
        }
    };
    let old = settings.remove(SECURITY).and_then(|mut section| section.remove("psk"));
    set(settings, SECURITY, "key-mgmt", management)?;
    match (&change.passphrase, old) {
        (Some(passphrase), _) => set(settings, SECURITY, "psk", passphrase.as_str()),
        (None, Some(old)) => {
            settings.entry(SECURITY.to_owned()).or_default().insert("psk".to_owned(), old);
            Ok(())
        }
        (None, None) => Err(ToolError::invalid("this protection needs a passphrase").with("parameter", "passphrase")),
    }
}

fn addresses(settings: &mut Settings, change: &ProfileChange) -> Result<(), ToolError> {
    let Ipv4Change { method, gateway, dns } = change.addresses()?;
    let ipv4 = settings.entry("ipv4".to_owned()).or_default();
    // The old form of the same properties: NetworkManager takes it for the newer one where both are there.
    let mut forget = |keys: &[&str]| keys.iter().for_each(|key| drop(ipv4.remove(*key)));
    if method.is_some() {
        forget(&["addresses", "address-data", "gateway"]);
    }
    if gateway.is_some() {
        forget(&["addresses"]);
    }
    if dns.is_some() {
        forget(&["dns", "dns-data"]);
    }
    match method {
        None => {}
        Some(Ipv4Method::Dhcp) => set(settings, "ipv4", "method", "auto")?,
        Some(Ipv4Method::Static(address, prefix)) => {
            set(settings, "ipv4", "method", "manual")?;
            let one = HashMap::from([
                ("address", Variant::from(address.to_string())),
                ("prefix", Variant::from(u32::from(prefix))),
            ]);
            set(settings, "ipv4", "address-data", vec![one])?;
        }
    }
    if let Some(gateway) = gateway {
        set(settings, "ipv4", "gateway", gateway.to_string())?;
    }
    if let Some(dns) = dns.filter(|dns| !dns.is_empty()) {
        // As bytes in network order (nm-settings-dbus(5)).
        let number = |address: &Ipv4Addr| u32::from_ne_bytes(address.octets());
        set(settings, "ipv4", "dns", dns.iter().map(number).collect::<Vec<u32>>())?;
    }
    Ok(())
}

/// A UUID for a new profile.
///
/// # Errors
/// `unavailable` without the kernel's random numbers.
pub fn new_uuid() -> Result<String, ToolError> {
    let mut bytes = [0; 16];
    ring::rand::SecureRandom::fill(&ring::rand::SystemRandom::new(), &mut bytes)
        .map_err(|_| ToolError::unavailable("the kernel gives no random numbers"))?;
    Ok(crate::canonical::uuid(bytes, 4))
}
