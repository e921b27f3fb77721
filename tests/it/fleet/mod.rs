//! A fleet with a broker: rollouts over simulated devices, and the console against Debian's nats-server with TLS.

mod bucket;
mod call;
mod clones;
mod device;
mod enrolment;
mod halt;
mod hostile_broker;
mod hostile_device;
mod hung;
mod limits;
mod log;
mod lost;
mod renewed;
mod rollout;
mod serve;
mod statuses;
mod tunnel;
mod watch;

use crate::support::{
    fleet::{DeviceClient, FleetDesk, NatsServer},
    served::{Door, Wire, process::command, soon},
};
use serde_json::Value;
use std::{fs, path::Path};
use tempfile::TempDir;
use tokio::process::Child;

/// A broker, and devices that are connected.
struct Fleet {
    desk: FleetDesk,
    server: NatsServer,
    clients: Vec<DeviceClient>,
    names: Vec<String>,
    home: TempDir,
}

impl Fleet {
    async fn of(names: &[&str]) -> Self {
        let desk = FleetDesk::new();
        let devices: Vec<_> = names.iter().map(|name| desk.enrolls(name, &[])).collect();
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let server = NatsServer::start(&desk, &names).await;
        let mut clients = Vec::new();
        for device in devices {
            clients.push(device.connects(server.port, false).await);
        }
        Self { desk, server, clients, names, home: TempDir::new().unwrap() }
    }

    fn command(&self, args: &[&str]) -> tokio::process::Command {
        command(&self.home, &[&["fleet"], args, &["--dir", self.desk.path().to_str().unwrap()]].concat())
    }

    /// Runs `raspi-mcp fleet …`: the exit code, what it printed, and what it complained of.
    async fn runs(&self, args: &[&str]) -> (i32, String, String) {
        let output = soon(self.command(args).output()).await.unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
    }

    async fn json(&self, args: &[&str]) -> (i32, Value) {
        let (code, text, why) = self.runs(&[args, &["--json"]].concat()).await;
        (code, serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}{why}")))
    }

    /// All devices send a status.
    async fn report(&mut self) {
        for client in &mut self.clients {
            client.reports().await;
        }
    }
}

/// One device of `fleet status --json`.
fn device<'a>(answer: &'a Value, name: &str) -> &'a Value {
    let all = answer["devices"].as_array().unwrap();
    all.iter().find(|device| device["name"] == name).unwrap_or_else(|| panic!("no {name}: {answer:#}"))
}

/// `raspi-mcp fleet serve` over stdio, for an administrator. Killed when dropped.
struct Served {
    child: Child,
    wire: Wire,
}

impl Served {
    /// Of the fleet in `dir`, with more settings.
    fn of(home: &TempDir, dir: &Path, config: &str) -> Self {
        fs::create_dir_all(dir.join("serve")).unwrap();
        fs::write(dir.join("serve/config.toml"), format!("[tools]\nenable = [\"fleet\"]\n{config}")).unwrap();
        let args = ["fleet", "serve", "--stdio", "--role", "admin", "--dir", dir.to_str().unwrap()];
        let mut child = command(home, &args).stderr(std::process::Stdio::inherit()).spawn().unwrap();
        let wire = Wire::lines(Door::Stdio, child.stdout.take().unwrap(), child.stdin.take().unwrap());
        Self { child, wire }
    }
}
