//! A D-Bus daemon of a test's own, and a systemd on it that the test has written.

use super::bus_users::agent_uid;
use base::os::{bus::DBus, systemd::name::object_path};
use std::{
    collections::{BTreeMap, HashMap},
    io::{BufRead, BufReader},
    path::Path,
    process::{Child, Command, Stdio},
    sync::{Arc, Mutex, MutexGuard},
};
use tempfile::TempDir;
use zbus::{Connection, MessageStream, ObjectPath, OwnedObjectPath, Variant, connection::Builder, message::Header};

/// `dbus-daemon`, for one test.
pub struct PrivateBus {
    daemon: Child,
    address: String,
    home: TempDir,
}

impl PrivateBus {
    pub fn start() -> Self {
        Self::with(
            tempfile::tempdir().unwrap(),
            "<policy context=\"default\"><allow user=\"*\"/><allow own=\"*\"/><allow send_destination=\"*\"/>\
             <allow receive_sender=\"*\"/></policy>",
        )
    }

    /// A bus with the rules of the system's own and the ones that this product ships, where the user of this test has
    /// those of the server's account. It may also call the server, and be systemd, which everybody may call. The accounts
    /// of agents are [`agent_uid`].
    pub fn shipped() -> Self {
        Self::shipped_with("")
    }

    /// The same with more elements of a bus configuration, such as limits.
    pub fn shipped_with(more: &str) -> Self {
        let me = rustix::process::geteuid().as_raw();
        let shipped = include_str!("../../dist/dbus-1/system.d/raspi-mcp.conf");
        let shipped = shipped.split_once("<busconfig>").unwrap().1.replace("</busconfig>", "");
        let rules = format!(
            "{SYSTEM_RULES}{more}{}<policy user=\"{me}\"><allow send_destination=\"org.raspimcp\"/>\
             <allow send_destination=\"org.dbusmcp.Orchestrator\"/><allow own=\"org.freedesktop.systemd1\"/></policy>\
             <policy context=\"default\"><allow send_destination=\"org.freedesktop.systemd1\"/></policy>",
            shipped.replace("user=\"raspi-mcp\"", &format!("user=\"{me}\""))
        );
        let of_agent = |rules: String, n: u32| {
            rules.replace(&format!("user=\"raspi-mcp-agent-{n}\""), &format!("user=\"{}\"", agent_uid(n)))
        };
        Self::with(tempfile::tempdir().unwrap(), &(0..10).fold(rules, of_agent))
    }

    fn with(home: TempDir, rules: &str) -> Self {
        use std::os::unix::fs::PermissionsExt;
        let config = home.path().join("bus.conf");
        let listen = home.path().join("bus");
        // Other users come too.
        std::fs::set_permissions(home.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
        let text =
            format!("<busconfig><type>system</type><listen>unix:path={}</listen>{rules}</busconfig>", listen.display());
        std::fs::write(&config, text).unwrap();
        let (daemon, address) = launch(&config);
        Self { daemon, address, home }
    }

    pub fn address(&self) -> &str {
        &self.address
    }

    /// Ends the daemon, and starts another with the same configuration and address.
    pub fn restart(&mut self) {
        let _ = self.daemon.kill();
        let _ = self.daemon.wait();
        let _ = std::fs::remove_file(self.home.path().join("bus"));
        (self.daemon, self.address) = launch(&self.home.path().join("bus.conf"));
    }

    pub fn bus(&self) -> DBus {
        DBus::at(&self.address)
    }

    pub async fn connect(&self) -> Connection {
        Builder::address(self.address.as_str()).build().await.unwrap()
    }
}

fn launch(config: &Path) -> (Child, String) {
    let mut daemon = Command::new("dbus-daemon")
        .arg(format!("--config-file={}", config.display()))
        .args(["--nofork", "--nopidfile", "--print-address"])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("dbus-daemon runs here: Debian's package dbus-daemon (ci/parts/tests installs it)");
    let mut address = String::new();
    BufReader::new(daemon.stdout.take().unwrap()).read_line(&mut address).unwrap();
    assert!(!address.trim().is_empty(), "dbus-daemon listens");
    // Without the daemon's id, which another run does not have.
    (daemon, address.split(',').next().unwrap().trim().to_owned())
}

/// The rules of dbus-daemon's own system.conf.
const SYSTEM_RULES: &str = r#"<policy context="default"><allow user="*"/><deny own="*"/><deny send_type="method_call"/>
<allow send_type="signal"/><allow send_requested_reply="true" send_type="method_return"/>
<allow send_requested_reply="true" send_type="error"/><allow receive_type="method_call"/><allow receive_type="method_return"/>
<allow receive_type="error"/><allow receive_type="signal"/>
<allow send_destination="org.freedesktop.DBus" send_interface="org.freedesktop.DBus"/></policy>"#;

impl Drop for PrivateBus {
    fn drop(&mut self) {
        let _ = self.daemon.kill();
        let _ = self.daemon.wait();
    }
}

/// One unit of the written systemd.
#[derive(Clone, Debug)]
pub struct FakeUnit {
    pub description: String,
    pub load: &'static str,
    pub active: &'static str,
    pub sub: &'static str,
    pub pid: u32,
    /// State of its file; none: it has no file.
    pub file_state: Option<&'static str>,
    /// Other properties.
    pub lists: BTreeMap<&'static str, Vec<String>>,
    pub texts: BTreeMap<&'static str, String>,
    pub numbers: BTreeMap<&'static str, u64>,
    /// How its jobs end; empty: not at all.
    pub job: &'static str,
}

impl FakeUnit {
    pub fn active(description: &str) -> Self {
        Self {
            description: description.into(),
            load: "loaded",
            active: "active",
            sub: "running",
            pid: 500,
            file_state: Some("enabled"),
            lists: BTreeMap::new(),
            texts: BTreeMap::new(),
            numbers: BTreeMap::new(),
            job: "done",
        }
    }

    pub fn inactive(description: &str) -> Self {
        Self { active: "inactive", sub: "dead", pid: 0, file_state: Some("disabled"), ..Self::active(description) }
    }

    pub fn list(mut self, name: &'static str, items: &[&str]) -> Self {
        self.lists.insert(name, items.iter().map(|item| (*item).to_owned()).collect());
        self
    }

    pub fn text(mut self, name: &'static str, text: impl Into<String>) -> Self {
        self.texts.insert(name, text.into());
        self
    }

    pub fn number(mut self, name: &'static str, number: u64) -> Self {
        self.numbers.insert(name, number);
        self
    }
}

#[derive(Default)]
struct State {
    units: BTreeMap<String, FakeUnit>,
    /// Second names, and whose they are.
    aliases: BTreeMap<String, String>,
    /// What was asked, in order.
    calls: Vec<String>,
    subscribers: Vec<String>,
    jobs: u32,
}

/// `org.freedesktop.systemd1`, as far as this product asks it.
pub struct FakeSystemd {
    connection: Connection,
    state: Arc<Mutex<State>>,
}

const MANAGER: &str = "org.freedesktop.systemd1.Manager";
const PATH: &str = "/org/freedesktop/systemd1";

impl FakeSystemd {
    pub async fn on(bus: &PrivateBus) -> Self {
        let connection = bus.connect().await;
        let mut calls = MessageStream::from(&connection);
        connection.request_name("org.freedesktop.systemd1").await.unwrap();
        let state = Arc::new(Mutex::new(State::default()));
        let served = (connection.clone(), Arc::clone(&state));
        tokio::spawn(async move {
            use futures::StreamExt;
            while let Some(Ok(message)) = calls.next().await {
                if message.message_type() == zbus::message::Type::MethodCall {
                    served_call(&served.0, &served.1, &message).await;
                }
            }
        });
        Self { connection, state }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    pub fn put(&self, name: &str, unit: FakeUnit) {
        self.lock().units.insert(name.into(), unit);
    }

    pub fn alias(&self, name: &str, of: &str) {
        self.lock().aliases.insert(name.into(), of.into());
    }

    /// The methods called since this was asked last, `Member argument`.
    pub fn calls(&self) -> Vec<String> {
        std::mem::take(&mut self.lock().calls)
    }

    /// As when somebody enabled or disabled something.
    pub async fn unit_files_changed(&self) {
        self.connection.emit_signal(None::<&str>, PATH, MANAGER, "UnitFilesChanged", &()).await.unwrap();
    }

    /// As when a unit changes its state.
    pub async fn unit_changed(&self, name: &str) {
        let path = object_path(name);
        let changed: HashMap<&str, Variant<'_>> = HashMap::from([("ActiveState", Variant::from("active"))]);
        let body = ("org.freedesktop.systemd1.Unit", changed, Vec::<&str>::new());
        let interface = "org.freedesktop.DBus.Properties";
        self.connection.emit_signal(None::<&str>, path.as_str(), interface, "PropertiesChanged", &body).await.unwrap();
    }
}

type Row = (String, String, String, String, String, String, OwnedObjectPath, u32, String, OwnedObjectPath);

fn path(text: &str) -> OwnedObjectPath {
    ObjectPath::try_from(text.to_owned()).unwrap().into()
}

fn row(name: &str, unit: Option<&FakeUnit>) -> Row {
    let text = |of: fn(&FakeUnit) -> String, or: &str| unit.map_or(or.to_owned(), of);
    (
        name.into(),
        text(|unit| unit.description.clone(), name),
        text(|unit| unit.load.into(), "not-found"),
        text(|unit| unit.active.into(), "inactive"),
        text(|unit| unit.sub.into(), "dead"),
        String::new(),
        path(&object_path(name)),
        0,
        String::new(),
        path("/"),
    )
}

async fn served_call(connection: &Connection, state: &Mutex<State>, message: &zbus::Message) {
    let (header, body) = (message.header(), message.body());
    let member = header.member().unwrap().to_string();
    let argument = match member.as_str() {
        "StartUnit" | "StopUnit" | "RestartUnit" | "ReloadUnit" => {
            let (unit, mode): (&str, &str) = body.deserialize().unwrap();
            format!(" {unit} {mode}")
        }
        "EnableUnitFiles" => {
            let (units, _, _): (Vec<&str>, bool, bool) = body.deserialize().unwrap();
            format!(" {}", units.join(" "))
        }
        "DisableUnitFiles" => {
            let (units, _): (Vec<&str>, bool) = body.deserialize().unwrap();
            format!(" {}", units.join(" "))
        }
        _ => String::new(),
    };
    state.lock().unwrap().calls.push(format!("{member}{argument}"));
    let words: Vec<&str> = argument.split_whitespace().collect();
    match member.as_str() {
        "ListUnitsByPatterns" => {
            let rows: Vec<Row> = {
                let (states, patterns): (Vec<&str>, Vec<&str>) = body.deserialize().unwrap();
                let state = state.lock().unwrap();
                let fits = |name: &str| {
                    patterns.is_empty()
                        || patterns.iter().any(|pattern| name.ends_with(pattern.trim_start_matches('*')))
                };
                let asked = state.units.iter().filter(|(name, _)| fits(name));
                let asked = asked.filter(|(_, unit)| states.is_empty() || states.contains(&unit.active));
                // What is not loaded is known by its file alone.
                asked.filter(|(_, unit)| unit.load != "unloaded").map(|(name, unit)| row(name, Some(unit))).collect()
            };
            connection.reply(&header, &(rows)).await.unwrap();
        }
        "ListUnitsByNames" => {
            let names: Vec<&str> = body.deserialize().unwrap();
            let rows: Vec<Row> = {
                let state = state.lock().unwrap();
                names.iter().map(|name| row(name, state.units.get(*name))).collect()
            };
            connection.reply(&header, &(rows)).await.unwrap();
        }
        "ListUnitFilesByPatterns" => {
            let rows: Vec<(String, String)> = {
                let state = state.lock().unwrap();
                let file =
                    |(name, unit): (&String, &FakeUnit)| Some((format!("/lib/{name}"), unit.file_state?.to_owned()));
                state.units.iter().filter(|(name, _)| name.ends_with(".service")).filter_map(file).collect()
            };
            connection.reply(&header, &(rows)).await.unwrap();
        }
        "Subscribe" => {
            let sender = header.sender().unwrap().to_string();
            let known = {
                let mut state = state.lock().unwrap();
                let known = state.subscribers.contains(&sender);
                state.subscribers.push(sender);
                known
            };
            if known {
                let name = "org.freedesktop.systemd1.AlreadySubscribed";
                connection.reply_error(&header, name, &"Client is already subscribed.").await.unwrap();
            } else {
                connection.reply(&header, &()).await.unwrap();
            }
        }
        "GetAll" => get_all(connection, state, &header).await,
        "StartUnit" | "StopUnit" | "RestartUnit" | "ReloadUnit" => {
            job(connection, state, &header, &member, words[0]).await
        }
        "EnableUnitFiles" | "DisableUnitFiles" => {
            let enable = member == "EnableUnitFiles";
            for unit in words {
                let mut state = state.lock().unwrap();
                state.units.get_mut(unit).unwrap().file_state = Some(if enable { "enabled" } else { "disabled" });
            }
            let changes: Vec<(String, String, String)> = Vec::new();
            if enable {
                connection.reply(&header, &(true, changes)).await.unwrap();
            } else {
                connection.reply(&header, &(changes)).await.unwrap();
            }
            connection.emit_signal(None::<&str>, PATH, MANAGER, "UnitFilesChanged", &()).await.unwrap();
        }
        "Reload" => connection.reply(&header, &()).await.unwrap(),
        other => {
            let name = "org.freedesktop.DBus.Error.UnknownMethod";
            connection.reply_error(&header, name, &format!("no {other} here")).await.unwrap();
        }
    }
}

async fn get_all(connection: &Connection, state: &Mutex<State>, header: &Header<'_>) {
    let asked = header.path().unwrap().to_string();
    let properties = {
        let state = state.lock().unwrap();
        let alias = state.aliases.iter().find(|(alias, _)| object_path(alias) == asked).map(|(_, of)| of.as_str());
        let named = state.units.iter().find(|(name, _)| object_path(name) == asked || alias == Some(name.as_str()));
        let mut of: HashMap<String, Variant<'static>> = HashMap::new();
        let mut put = |name: &str, value: Variant<'static>| drop(of.insert(name.to_owned(), value));
        match named {
            None => {
                put("LoadState", Variant::from("not-found"));
                put("ActiveState", Variant::from("inactive"));
                put("SubState", Variant::from("dead"));
            }
            Some((name, unit)) => {
                let mut names = vec![name.clone()];
                names.extend(state.aliases.iter().filter(|(_, of)| *of == name).map(|(alias, _)| alias.clone()));
                put("Id", Variant::from(name.clone()));
                put("Names", Variant::from(names));
                put("Description", Variant::from(unit.description.clone()));
                put("LoadState", Variant::from(unit.load));
                put("ActiveState", Variant::from(unit.active));
                put("SubState", Variant::from(unit.sub));
                put("MainPID", Variant::from(unit.pid));
                put("NRestarts", Variant::from(0_u32));
                put("MemoryCurrent", Variant::from(u64::MAX));
                put("CanStart", Variant::from(true));
                put("CanStop", Variant::from(true));
                put("CanReload", Variant::from(unit.texts.contains_key("reloads")));
                put("UnitFileState", Variant::from(unit.file_state.unwrap_or_default()));
                put("Result", Variant::from(if unit.active == "failed" { "exit-code" } else { "success" }));
                put("ExecMainCode", Variant::from(1_i32));
                put("ExecMainStatus", Variant::from(if unit.active == "failed" { 7_i32 } else { 0 }));
                for (name, items) in &unit.lists {
                    put(name, Variant::from(items.clone()));
                }
                for (name, text) in &unit.texts {
                    put(name, Variant::from(text.clone()));
                }
                for (name, number) in &unit.numbers {
                    put(name, Variant::from(*number));
                }
            }
        }
        of
    };
    connection.reply(header, &properties).await.unwrap();
}

async fn job(connection: &Connection, state: &Mutex<State>, header: &Header<'_>, member: &str, unit: &str) {
    let begun = {
        let mut state = state.lock().unwrap();
        state.jobs += 1;
        let number = state.jobs;
        state.units.get_mut(unit).map(|unit| {
            let (active, sub, pid) = match (member, unit.job) {
                (_, "failed") => ("failed", "failed", 0),
                (_, "") | ("ReloadUnit", _) => (unit.active, unit.sub, unit.pid),
                ("StopUnit", _) => ("inactive", "dead", 0),
                _ => ("active", "running", 900 + number),
            };
            (unit.active, unit.sub, unit.pid) = (active, sub, pid);
            (number, unit.job)
        })
    };
    let Some((number, end)) = begun else {
        let name = "org.freedesktop.systemd1.NoSuchUnit";
        connection.reply_error(header, name, &format!("Unit {unit} not found.")).await.unwrap();
        return;
    };
    let job = path(&format!("{PATH}/job/{number}"));
    // Some end before their name is known to who asked, some after.
    let removed = (number, job.clone(), unit, end);
    if number % 2 == 0 && !end.is_empty() {
        connection.emit_signal(None::<&str>, PATH, MANAGER, "JobRemoved", &removed).await.unwrap();
    }
    connection.reply(header, &job).await.unwrap();
    if number % 2 == 1 && !end.is_empty() {
        connection.emit_signal(None::<&str>, PATH, MANAGER, "JobRemoved", &removed).await.unwrap();
    }
}
