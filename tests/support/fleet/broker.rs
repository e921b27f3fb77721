//! Debian's nats-server, as a fleet's owner would configure it.

use super::{FLEET, FleetDesk};
use base::error::ErrorCode;
use raspi_mcp::{
    broker::Broker,
    fleet::console::{FleetFolder, ensure_streams},
};
use std::{fmt::Write, fs, path::Path, process::Stdio};
use tokio::{
    io::{AsyncBufReadExt, BufReader},
    process::{Child, Command},
};

/// Where Debian has it; not in the path of everybody.
const PROGRAM: &str = "/usr/sbin/nats-server";

/// A running broker. Killed when dropped.
pub struct NatsServer {
    child: Child,
    pub port: u16,
    log: tokio::task::JoinHandle<()>,
}

impl NatsServer {
    /// Starts it for these devices with the streams of the fleet, and writes its address into the folder.
    pub async fn start(desk: &FleetDesk, devices: &[String]) -> Self {
        configure(desk, devices, -1);
        let server = Self::of(desk.path()).await;
        desk.names_broker(server.port);
        server.has_streams(desk).await;
        server
    }

    /// Kills it.
    pub async fn stop(&mut self) {
        let _ = self.child.start_kill();
        self.child.wait().await.unwrap();
    }

    /// Kills it, and starts it again on the same port.
    pub async fn restart(&mut self, desk: &FleetDesk, devices: &[String]) {
        self.stop().await;
        configure(desk, devices, self.port.into());
        *self = Self::of(desk.path()).await;
        self.has_streams(desk).await;
    }

    /// Waits until the streams are there: nats-server is ready a moment before its JetStream.
    async fn has_streams(&self, desk: &FleetDesk) {
        let console = self.console(desk).await;
        let there = async {
            while let Err(error) = ensure_streams(&console, FLEET).await {
                assert_eq!(error.code, ErrorCode::Unavailable, "{error}");
                tokio::time::sleep(std::time::Duration::from_millis(50)).await;
            }
        };
        tokio::time::timeout(std::time::Duration::from_secs(20), there).await.expect("JetStream answers");
    }

    /// Starts it in a folder, with the configuration there, and the environment of the unit that is with it.
    pub async fn of(folder: &Path) -> Self {
        let unit = fs::read_to_string(folder.join("raspi-mcp-nats.service")).unwrap_or_default();
        let environment = unit.lines().filter_map(|line| line.strip_prefix("Environment=")?.split_once('='));
        let mut child = Command::new(PROGRAM)
            .args(["-c", "nats-server.conf"])
            .envs(environment)
            .current_dir(folder)
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap_or_else(|error| panic!("{PROGRAM}: {error}; apt-get install nats-server"));
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let (mut port, mut said) = (None, String::new());
        while let Some(line) = lines.next_line().await.unwrap() {
            if let Some((_, found)) = line.split_once("client connections on 127.0.0.1:") {
                port = found.trim().parse().ok();
            }
            said.push_str(&line);
            said.push('\n');
            if line.contains("Server is ready") {
                break;
            }
        }
        let port = port.unwrap_or_else(|| panic!("nats-server does not listen:\n{said}"));
        // Read to the end, or it would wait for a reader.
        let log = tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
        Self { child, port, log }
    }

    /// The owner's connection.
    pub async fn console(&self, desk: &FleetDesk) -> Broker {
        let folder = FleetFolder::read(desk.path()).unwrap();
        Broker::connect(folder.broker_options().unwrap()).await.unwrap()
    }

    pub fn pid(&self) -> u32 {
        self.child.id().unwrap()
    }
}

impl Drop for NatsServer {
    fn drop(&mut self) {
        self.log.abort();
    }
}

/// One user for each device, by the name in its certificate, and the console.
fn configure(desk: &FleetDesk, devices: &[String], port: i32) {
    let mut users = String::new();
    for device in devices {
        // Who may do everything stands for a hostile broker.
        if device == super::HOSTILE {
            writeln!(
                users,
                "    {{ user: \"{device}.device.{FLEET}\", permissions: {{ publish: \">\", subscribe: \">\" }} }}"
            )
            .unwrap();
            continue;
        }
        let own = format!("rmcp.1.{FLEET}");
        writeln!(
            users,
            "    {{ user: \"{device}.device.{FLEET}\", permissions: {{ \
             publish: [\"{own}.status.{device}\", \"{own}.log.{device}\", \"{own}.s.{device}.*.down\"], \
             subscribe: [\"{own}.dev.{device}.*\", \"{own}.s.{device}.*.up\", \"_INBOX.{device}.>\"] }} }}"
        )
        .unwrap();
    }
    let folder = desk.path().display();
    let text = format!(
        "listen: \"127.0.0.1:{port}\"\nmax_payload: 1048576\n\
         tls {{ cert_file: \"{folder}/server.pem\", key_file: \"{folder}/server.key\", ca_file: \"{folder}/ca.pem\", \
         verify_and_map: true, timeout: 30 }}\n\
         jetstream {{ store_dir: \"{folder}/jetstream\", max_memory_store: 67108864, max_file_store: 2147483648 }}\n\
         authorization {{\n  timeout: 30\n  users: [\n    {{ user: \"desk.console.{FLEET}\", permissions: {{ \
         publish: [\"rmcp.1.{FLEET}.dev.>\", \"rmcp.1.{FLEET}.s.*.*.up\", \"$JS.API.>\", \"$KV.>\"], \
         subscribe: [\"rmcp.1.{FLEET}.>\", \"_INBOX_console.>\"] }} }}\n{users}  ]\n}}\n"
    );
    fs::write(desk.file("nats-server.conf"), text).unwrap();
}
