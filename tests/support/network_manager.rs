//! A NetworkManager of a test's own, on a D-Bus daemon of its own: two profiles on eth0, one on wlan0, and checkpoints.
//!
//! Only what is asked of it here answers; names, types and behaviour are those of NetworkManager 1.42's API reference.

pub mod edits;

use crate::support::private_bus::PrivateBus;
use edits::{Profiles, Scan};
use futures::StreamExt;
use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
    time::Duration,
};
use tokio::{sync::Notify, time::Instant};
use zbus::{Connection, Message, MessageStream, ObjectPath, OwnedObjectPath, OwnedVariant, Variant, message::Type};

const NM: &str = "org.freedesktop.NetworkManager";
const ROOT: &str = "/org/freedesktop/NetworkManager";

/// The profiles: UUID, name, device.
pub const HOME: (&str, &str) = ("11111111-1111-4111-8111-111111111111", "home");
pub const OFFICE: (&str, &str) = ("22222222-2222-4222-8222-222222222222", "office");
pub const RADIO: (&str, &str) = ("33333333-3333-4333-8333-333333333333", "radio");

#[derive(Default)]
struct State {
    /// Index of the active profile of eth0; `None` when nothing is.
    active: Option<usize>,
    /// Number of the active connection: each activation has another.
    activation: u32,
    /// Whether that is still under way.
    activating: bool,
    checkpoint: Option<(u32, Option<usize>, Instant)>,
    made: u32,
    /// The next activation never gets anywhere: it fails, or it hangs.
    refuses: bool,
    hangs: bool,
    /// As NetworkManager before 1.4.
    no_checkpoints: bool,
    radio_on: bool,
    profiles: Profiles,
    calls: Vec<String>,
}

/// The fake.
pub struct NetworkManager {
    state: Arc<Mutex<State>>,
    changed: Arc<Notify>,
    connection: Connection,
    task: tokio::task::JoinHandle<()>,
}

impl Drop for NetworkManager {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl NetworkManager {
    /// On `bus`, with "home" active on eth0.
    pub async fn on(bus: &PrivateBus) -> Self {
        let state = Arc::new(Mutex::new(State { active: Some(0), activation: 1, ..State::default() }));
        let changed = Arc::new(Notify::new());
        let connection = bus.connect().await;
        let stream = MessageStream::from(&connection);
        connection.request_name(NM).await.unwrap();
        let task = tokio::spawn(serve(connection.clone(), stream, Arc::clone(&state), Arc::clone(&changed)));
        Self { state, changed, connection, task }
    }

    /// From now on "home" is one that NetworkManager has made by itself: it is in memory only.
    pub fn generates_home(&self) {
        self.lock().profiles.generates(1);
    }
    /// The name of the profile that is active on eth0.
    pub fn active(&self) -> Option<&'static str> {
        let state = self.lock();
        state.active.map(|index| state.profiles.named(index + 1).1)
    }
    /// The radio is switched on, and scans end like this.
    pub fn radio_on(&self, scan: Scan) {
        let mut state = self.lock();
        state.radio_on = true;
        state.profiles.scan = scan;
    }
    pub async fn end_scan(&self) {
        edits::scanned(&self.connection, &self.state).await;
    }
    /// A text of the profile of that name: on the card, or in memory.
    pub fn has(&self, name: &str, card: bool, section: &str, key: &str) -> Option<String> {
        let found = self.lock().profiles.shown(name, card, section, key)?;
        <&str>::try_from(&found).ok().map(str::to_owned)
    }
    pub fn refuse_next(&self) {
        self.lock().refuses = true;
    }
    pub fn hang_next(&self) {
        self.lock().hangs = true;
    }
    pub fn before_checkpoints(&self) {
        self.lock().no_checkpoints = true;
    }
    pub fn checkpoints(&self) -> usize {
        self.lock().checkpoint.iter().count()
    }
    /// Methods that were called, in order.
    pub fn calls(&self) -> Vec<String> {
        self.lock().calls.clone()
    }
    /// Time passes: what was to go back by itself goes back. (The test's clock, not the machine's, says when.)
    pub fn roll_back_now(&self) {
        let mut state = self.lock();
        if let Some((_, before, _)) = state.checkpoint.take() {
            state.active = before;
            state.profiles.roll_back();
        }
        self.changed.notify_waiters();
    }
    /// A restart of the daemon loses checkpoints, and counts from 1 again; somebody else makes the first.
    pub fn restart_and_checkpoint_elsewhere(&self) {
        let mut state = self.lock();
        state.checkpoint = Some((1, state.active, Instant::now()));
        state.made = 1000;
    }
    /// Seconds after which the checkpoint goes back, as it was told last.
    pub fn rollback_in(&self) -> Option<u64> {
        let state = self.lock();
        state
            .checkpoint
            .as_ref()
            .map(|(_, _, at)| at.saturating_duration_since(Instant::now()).as_secs_f64().round() as u64)
    }
    /// Goes away, as NetworkManager does when it is stopped.
    pub async fn stop(self) {
        self.connection.release_name(NM).await.unwrap();
    }
    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }
}

fn profile(index: usize) -> (&'static str, &'static str) {
    [HOME, OFFICE, RADIO][index]
}

async fn serve(connection: Connection, mut stream: MessageStream, state: Arc<Mutex<State>>, changed: Arc<Notify>) {
    while let Some(Ok(message)) = stream.next().await {
        if message.message_type() != Type::MethodCall {
            continue;
        }
        let header = message.header();
        let (path, member) = (header.path().unwrap().to_string(), header.member().unwrap().to_string());
        if member != "Get" && member != "GetManagedObjects" && member != "GetSettings" {
            state.lock().unwrap().calls.push(member.clone());
        }
        let error = async |name: &str, text: &str| {
            connection.reply_error(&header, name.to_owned(), &text).await.unwrap();
        };
        match member.as_str() {
            "GetManagedObjects" => {
                let objects = objects(&state.lock().unwrap());
                connection.reply(&header, &objects).await.unwrap();
            }
            "GetSettings" => match path.rsplit('/').next().unwrap().parse::<usize>() {
                Ok(4) => error("org.freedesktop.NetworkManager.Settings.PermissionDenied", "not yours").await,
                Ok(number) if edits::settings(&state.lock().unwrap(), number).is_some() => {
                    let found = edits::settings(&state.lock().unwrap(), number);
                    connection.reply(&header, &found.unwrap()).await.unwrap();
                }
                _ => error("org.freedesktop.DBus.Error.UnknownMethod", "Object does not exist").await,
            },
            "Get" => {
                let (interface, name): (String, String) = message.body().deserialize().unwrap();
                let value = get(&state.lock().unwrap(), &path, &interface, &name);
                match value {
                    Some(value) => connection.reply(&header, &Variant::from(value)).await.unwrap(),
                    None => error("org.freedesktop.DBus.Error.UnknownMethod", "Object does not exist at path").await,
                }
            }
            "ActivateConnection" => activate(&connection, &message, &state).await,
            "CheckpointCreate" => {
                let (_, seconds, flags): (Vec<OwnedObjectPath>, u32, u32) = message.body().deserialize().unwrap();
                assert_eq!(flags & !7, 0, "no flag that lets checkpoints overlap");
                let made = {
                    let mut state = state.lock().unwrap();
                    match (state.no_checkpoints, state.checkpoint.is_some()) {
                        (true, _) => Err(("org.freedesktop.DBus.Error.UnknownMethod", "No such method")),
                        (_, true) => {
                            Err(("org.freedesktop.NetworkManager.InvalidArguments", "device is in a checkpoint"))
                        }
                        _ => {
                            state.made += 1;
                            let at = Instant::now() + Duration::from_secs(seconds.into());
                            state.checkpoint = Some((state.made, state.active, at));
                            let active = state.active;
                            state.profiles.checkpoint(active, flags & 2 != 0);
                            Ok(state.made)
                        }
                    }
                };
                match made {
                    Ok(number) => {
                        connection.reply(&header, &object(&format!("{ROOT}/Checkpoint/{number}"))).await.unwrap()
                    }
                    Err((name, text)) => error(name, text).await,
                }
            }
            "CheckpointDestroy" | "CheckpointRollback" => {
                let which: OwnedObjectPath = message.body().deserialize().unwrap();
                let found = {
                    let mut state = state.lock().unwrap();
                    let taken =
                        state.checkpoint.take_if(|(number, ..)| which.as_str().ends_with(&format!("/{number}")));
                    if let (Some((_, before, _)), "CheckpointRollback") = (&taken, member.as_str()) {
                        state.active = *before;
                        state.activation += 1;
                        state.profiles.roll_back();
                    }
                    taken.is_some()
                };
                match (found, member.as_str()) {
                    (true, "CheckpointRollback") => {
                        let devices = HashMap::from([(format!("{ROOT}/Devices/2"), 0u32)]);
                        connection.reply(&header, &devices).await.unwrap();
                    }
                    (true, _) => connection.reply(&header, &()).await.unwrap(),
                    (false, _) => {
                        error("org.freedesktop.NetworkManager.InvalidArguments", "checkpoint does not exist").await;
                    }
                }
            }
            "CheckpointAdjustRollbackTimeout" => {
                let (_, seconds): (OwnedObjectPath, u32) = message.body().deserialize().unwrap();
                if let Some((.., at)) = &mut state.lock().unwrap().checkpoint {
                    *at = Instant::now() + Duration::from_secs(seconds.into());
                }
                connection.reply(&header, &()).await.unwrap();
            }
            _ => {
                if let Err(name) = edits::serve(&connection, &message, &state).await {
                    error(name, "refused by this fake").await;
                }
            }
        }
        changed.notify_waiters();
    }
}

async fn activate(connection: &Connection, message: &Message, state: &Mutex<State>) {
    let header = message.header();
    let (profile, device, _): (OwnedObjectPath, OwnedObjectPath, OwnedObjectPath) =
        message.body().deserialize().unwrap();
    let index = profile.as_str().rsplit('/').next().unwrap().parse::<usize>().unwrap() - 1;
    assert!(device.as_str() == "/" || device.as_str() == format!("{ROOT}/Devices/2"), "{device}");
    let (number, refuses, hangs) = {
        let mut state = state.lock().unwrap();
        state.activation += 1;
        state.active = Some(index);
        state.activating = true;
        (state.activation, std::mem::take(&mut state.refuses), std::mem::take(&mut state.hangs))
    };
    let path = format!("{ROOT}/ActiveConnection/{number}");
    connection.reply(&header, &object(&path)).await.unwrap();
    if hangs {
        return;
    }
    let (now, reason) = if refuses { (4u32, 10u32) } else { (2, 0) };
    {
        let mut state = state.lock().unwrap();
        state.activating = false;
        if refuses {
            state.active = None;
        }
    }
    let interface = format!("{NM}.Connection.Active");
    connection.emit_signal(None::<&str>, path, interface, "StateChanged", &(now, reason)).await.unwrap();
}

fn object(path: &str) -> ObjectPath<'_> {
    ObjectPath::try_from(path).unwrap()
}

fn path(path: String) -> OwnedVariant {
    OwnedVariant::try_from(Variant::from(ObjectPath::try_from(path).unwrap())).unwrap()
}

fn paths(all: &[&str]) -> OwnedVariant {
    let all: Vec<ObjectPath<'_>> = all.iter().map(|each| object(each)).collect();
    OwnedVariant::try_from(Variant::from(all)).unwrap()
}

fn value<'a>(from: impl Into<Variant<'a>>) -> OwnedVariant {
    OwnedVariant::try_from(from.into()).unwrap()
}

type Props = HashMap<String, OwnedVariant>;

fn copy(all: &Props) -> Props {
    all.iter().map(|(name, value)| (name.clone(), value.try_clone().unwrap())).collect()
}

fn props<const N: usize>(all: [(&str, OwnedVariant); N]) -> Props {
    all.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

fn objects(state: &State) -> HashMap<OwnedObjectPath, HashMap<String, Props>> {
    let mut all = HashMap::new();
    let mut add = |at: &str, interfaces: Vec<(String, Props)>| {
        all.insert(OwnedObjectPath::try_from(at.to_owned()).unwrap(), interfaces.into_iter().collect());
    };
    let active = format!("{ROOT}/ActiveConnection/{}", state.activation);
    let primary = if state.active.is_some() { active.clone() } else { "/".into() };
    add(
        ROOT,
        vec![(
            NM.into(),
            props([
                ("Version", value("1.42.4")),
                ("State", value(70u32)),
                ("Connectivity", value(4u32)),
                ("PrimaryConnection", path(primary)),
                ("NetworkingEnabled", value(true)),
                ("WirelessEnabled", value(true)),
                ("WirelessHardwareEnabled", value(state.radio_on)),
            ]),
        )],
    );
    let device = |name: &str| (format!("{NM}.Device"), props([("Interface", value(name)), ("IpInterface", value(""))]));
    add(&format!("{ROOT}/Devices/2"), vec![device("eth0")]);
    add(&format!("{ROOT}/Devices/3"), vec![device("wlan0"), (format!("{NM}.Device.Wireless"), edits::radio(state))]);
    for (at, point) in edits::access_points() {
        add(&at, vec![(format!("{NM}.AccessPoint"), point)]);
    }
    // 4 is another user's, 5 has just been deleted.
    for number in (1..=5).chain(state.profiles.numbers().into_iter().filter(|number| *number > 5)) {
        let flags = props([("Flags", value(state.profiles.flags(number)))]);
        add(&format!("{ROOT}/Settings/{number}"), vec![(format!("{NM}.Settings.Connection"), flags)]);
    }
    if let Some(index) = state.active {
        let (uuid, name) = state.profiles.named(index + 1);
        add(
            &active,
            vec![(
                format!("{NM}.Connection.Active"),
                props([
                    ("Uuid", value(uuid)),
                    ("Id", value(name)),
                    ("Type", value("802-3-ethernet")),
                    ("State", value(if state.activating { 1u32 } else { 2 })),
                    ("Devices", paths(&[&format!("{ROOT}/Devices/2")])),
                    ("Default", value(true)),
                    ("Default6", value(false)),
                ]),
            )],
        );
    }
    if let Some((number, ..)) = state.checkpoint {
        let created = props([("Created", value(created(number)))]);
        add(&format!("{ROOT}/Checkpoint/{number}"), vec![(format!("{NM}.Checkpoint"), created)]);
    }
    all
}

fn created(number: u32) -> i64 {
    1_000_000 + i64::from(number)
}

fn get(state: &State, at: &str, interface: &str, name: &str) -> Option<OwnedVariant> {
    if interface.ends_with(".Checkpoint") {
        let (number, ..) = state.checkpoint?;
        // Another daemon's number 1 is another checkpoint.
        let again = if state.made >= 1000 { 500 } else { 0 };
        return at.ends_with(&format!("/Checkpoint/{number}")).then(|| value(created(number) + again));
    }
    objects(state).get(&object(at))?.get(interface)?.get(name)?.try_clone().ok()
}

fn settings(index: usize) -> HashMap<String, Props> {
    let (uuid, name) = profile(index);
    let radio = index == 2;
    let mut connection = props([
        ("id", value(name)),
        ("uuid", value(uuid)),
        ("type", value(if radio { "802-11-wireless" } else { "802-3-ethernet" })),
    ]);
    if radio {
        connection.extend(props([
            ("autoconnect", value(false)),
            ("interface-name", value("wlan0")),
            ("timestamp", value(1_700_000_000u64)),
        ]));
    }
    let mut all = HashMap::from([
        ("connection".to_owned(), connection),
        ("ipv4".to_owned(), props([("method", value("auto"))])),
        ("ipv6".to_owned(), props([("method", value("disabled"))])),
    ]);
    if radio {
        all.insert("802-11-wireless".into(), props([("ssid", value(b"caf\xc3\xa9".to_vec()))]));
        // The real one never sends these; whatever is sent here must not come out again.
        all.insert("802-11-wireless-security".into(), props([("psk", value("hunter2-hunter2"))]));
    }
    all
}
