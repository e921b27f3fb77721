//! The profiles of the NetworkManager of a test's own, which can be added and changed, and its scans.

use super::{NM, Props, ROOT, State, copy, object, path, profile, props, value};
use std::{
    collections::{BTreeMap, HashMap},
    sync::Mutex,
};
use zbus::{Connection, Message, OwnedObjectPath, OwnedVariant};

pub type Settings = HashMap<String, Props>;
const SECURITY: &str = "802-11-wireless-security";

/// What a scan comes to.
#[derive(Clone, Copy, Default, PartialEq)]
pub enum Scan {
    #[default]
    Ends,
    /// As so soon after another.
    Refused,
    /// It goes on until the test ends it.
    Waits,
}

/// All profiles by the number in their path, with their secrets.
pub struct Profiles {
    all: BTreeMap<usize, Settings>,
    /// As they are on the card.
    card: BTreeMap<usize, Settings>,
    before: Option<Checkpoint>,
    pub scan: Scan,
    pub last_scan: i64,
}

/// What a checkpoint takes back to.
struct Checkpoint {
    numbers: Vec<usize>,
    /// The one that was active, with its settings.
    active: Option<(usize, Settings)>,
    /// Whether profiles that came later go.
    adds: bool,
}

fn same(settings: &Settings) -> Settings {
    settings.iter().map(|(name, values)| (name.clone(), copy(values))).collect()
}

fn text(settings: &Settings, section: &str, key: &str) -> Option<String> {
    <&str>::try_from(settings.get(section)?.get(key)?).ok().map(str::to_owned)
}

impl Default for Profiles {
    fn default() -> Self {
        let all = || (1..=3).map(|number| (number, initial(number - 1))).collect();
        Self { all: all(), card: all(), before: None, scan: Scan::Ends, last_scan: -1 }
    }
}

impl Profiles {
    pub fn numbers(&self) -> Vec<usize> {
        self.all.keys().copied().collect()
    }
    /// UUID and name.
    pub fn named(&self, number: usize) -> (&'static str, &'static str) {
        let told = |key| text(&self.all[&number], "connection", key).unwrap_or_default();
        match number {
            1..=3 => profile(number - 1),
            // A test makes a few of them.
            _ => (told("uuid").leak(), told("id").leak()),
        }
    }
    /// One property of the profile with that name, on the card or in memory.
    pub fn shown(&self, name: &str, card: bool, section: &str, key: &str) -> Option<OwnedVariant> {
        let all = if card { &self.card } else { &self.all };
        let found = all.values().find(|settings| text(settings, "connection", "id").as_deref() == Some(name))?;
        found.get(section)?.get(key)?.try_clone().ok()
    }
    pub fn checkpoint(&mut self, active: Option<usize>, adds: bool) {
        let active = active.map(|index| (index + 1, same(&self.all[&(index + 1)])));
        self.before = Some(Checkpoint { numbers: self.numbers(), active, adds });
    }
    /// As the real one: what is new goes, what was active is as it was, on the card too.
    pub fn roll_back(&mut self) {
        let Some(Checkpoint { numbers, active, adds }) = self.before.take() else { return };
        self.all.retain(|number, _| !adds || numbers.contains(number));
        self.card.retain(|number, _| !adds || numbers.contains(number));
        if let Some((number, settings)) = active {
            self.card.insert(number, same(&settings));
            self.all.insert(number, settings);
        }
    }
    fn put(&mut self, number: usize, settings: Settings, flags: u32) {
        if !settings.is_empty() {
            self.all.insert(number, settings);
        }
        if flags & 1 != 0 {
            self.card.insert(number, same(&self.all[&number]));
        }
    }
}

fn initial(index: usize) -> Settings {
    let mut all = super::settings(index);
    if let Some(security) = all.get_mut(SECURITY) {
        security.extend(props([("key-mgmt", value("wpa-psk"))]));
    }
    all
}

/// What a profile has, as `GetSettings` answers: of the secrets, the one that the real one would not send.
pub(super) fn settings(state: &State, number: usize) -> Option<Settings> {
    let mut all = same(state.profiles.all.get(&number)?);
    if number != 3
        && let Some(security) = all.get_mut(SECURITY)
    {
        security.remove("psk");
    }
    Some(all)
}

/// Answers a method of this part.
pub(super) async fn serve(
    connection: &Connection,
    message: &Message,
    state: &Mutex<State>,
) -> Result<(), &'static str> {
    let header = message.header();
    let at = header.path().unwrap().to_string();
    let number: usize = at.rsplit('/').next().unwrap().parse().unwrap_or(0);
    match header.member().unwrap().as_str() {
        "AddConnection2" => {
            let (settings, flags, _): (Settings, u32, Props) = message.body().deserialize().unwrap();
            if text(&settings, "connection", "uuid").is_none() || !settings.contains_key("ipv4") {
                return Err("org.freedesktop.NetworkManager.Settings.Connection.MissingProperty");
            }
            let added = {
                let profiles = &mut state.lock().unwrap().profiles;
                let added = 1 + profiles.numbers().into_iter().max().unwrap().max(5);
                profiles.put(added, settings, flags);
                added
            };
            let at = format!("{ROOT}/Settings/{added}");
            connection.reply(&header, &(object(&at), Props::new())).await.unwrap();
        }
        "Update2" => {
            let (settings, flags, _): (Settings, u32, Props) = message.body().deserialize().unwrap();
            state.lock().unwrap().profiles.put(number, settings, flags);
            connection.reply(&header, &Props::new()).await.unwrap();
        }
        "GetConnectionByUuid" => {
            let uuid: String = message.body().deserialize().unwrap();
            let found = {
                let profiles = &state.lock().unwrap().profiles;
                profiles.numbers().into_iter().find(|number| profiles.named(*number).0 == uuid)
            };
            let found = found.ok_or("org.freedesktop.NetworkManager.Settings.InvalidConnection")?;
            connection.reply(&header, &object(&format!("{ROOT}/Settings/{found}"))).await.unwrap();
        }
        "GetSecrets" => {
            let section: String = message.body().deserialize().unwrap();
            let secrets = {
                let profiles = &state.lock().unwrap().profiles;
                let found = profiles.all.get(&number).and_then(|all| all.get(&section)?.get("psk")?.try_clone().ok());
                found.map(|psk| HashMap::from([(section, props([("psk", psk)]))]))
            };
            let secrets = secrets.ok_or("org.freedesktop.NetworkManager.AgentManager.NoSecrets")?;
            connection.reply(&header, &secrets).await.unwrap();
        }
        "RequestScan" => {
            let mode = state.lock().unwrap().profiles.scan;
            if mode == Scan::Refused {
                return Err("org.freedesktop.NetworkManager.Device.NotAllowed");
            }
            connection.reply(&header, &()).await.unwrap();
            if mode == Scan::Ends {
                scanned(connection, state).await;
            }
        }
        _ => return Err("org.freedesktop.DBus.Error.UnknownMethod"),
    }
    Ok(())
}

/// The radio has scanned, and tells.
pub(super) async fn scanned(connection: &Connection, state: &Mutex<State>) {
    let last = {
        let profiles = &mut state.lock().unwrap().profiles;
        profiles.last_scan += 1000;
        profiles.last_scan
    };
    let body = (format!("{NM}.Device.Wireless"), props([("LastScan", value(last))]), Vec::<String>::new());
    let (radio, properties) = (format!("{ROOT}/Devices/3"), "org.freedesktop.DBus.Properties");
    connection.emit_signal(None::<&str>, radio, properties, "PropertiesChanged", &body).await.unwrap();
}

/// The access points that the radio hears: a known one, one whose name is no text, a hidden one.
pub fn access_points() -> [(String, Props); 3] {
    let point = |number: u32, ssid: &[u8], mhz: u32, strength: u8, rsn: u32| {
        let properties = props([
            ("Ssid", value(ssid.to_vec())),
            ("HwAddress", value(format!("02:00:00:00:00:{number:02X}"))),
            ("Frequency", value(mhz)),
            ("Strength", value(strength)),
            ("Flags", value(u32::from(rsn != 0))),
            ("WpaFlags", value(0u32)),
            ("RsnFlags", value(rsn)),
        ]);
        (format!("{ROOT}/AccessPoint/{number}"), properties)
    };
    [
        point(7, b"caf\xc3\xa9", 2437, 61, 0x188),
        point(8, b"caf\xe9\x1b[2J", 5180, 80, 0x488),
        point(9, b"", 2412, 20, 0),
    ]
}

/// The radio's own properties.
pub(super) fn radio(state: &State) -> Props {
    let heard: Vec<OwnedObjectPath> =
        access_points().into_iter().map(|(at, _)| OwnedObjectPath::try_from(at).unwrap()).collect();
    let heard: Vec<&str> = heard.iter().map(|at| at.as_str()).collect();
    props([
        ("ActiveAccessPoint", path(format!("{ROOT}/AccessPoint/7"))),
        ("AccessPoints", super::paths(&heard)),
        ("LastScan", value(state.profiles.last_scan)),
    ])
}
