//! Something is killed: what it had comes back, and who waited is told.

use super::{Fleet, device};
use crate::support::{
    fleet::{FLEET, FleetDesk, NatsServer},
    served::{
        process::Process,
        secure::{Owner, pinned},
        soon,
    },
};
use base::{clock::Wall, error::ErrorCode};
use contract::config::sections::FleetSettings;
use raspi_mcp::fleet::{
    console::{Console, FleetFolder, call::call_over},
    tunnel::open,
};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use std::fs;
use tempfile::TempDir;

#[tokio::test]
async fn a_killed_broker_has_the_statuses_of_devices_that_are_gone() {
    let mut fleet = Fleet::of(&["attic", "cellar"]).await;
    fleet.report().await;
    let (_, before) = fleet.json(&["status"]).await;
    // Nobody is there to report again.
    fleet.clients.clear();
    let names = fleet.names.clone();
    fleet.server.restart(&fleet.desk, &names).await;
    let (code, after) = fleet.json(&["status"]).await;
    assert_eq!(code, 0, "{after:#}");
    for name in &names {
        for field in ["sequence", "heard_at"] {
            assert_eq!(device(&after, name)[field], device(&before, name)[field], "{name}: {field}");
        }
    }
}

/// A device that is a process of its own, as `raspi-mcp serve` starts it.
struct Served {
    owner: Owner,
    config: String,
    process: Process,
}

impl Served {
    async fn start(fleet: &FleetSettings) -> Self {
        let owner = Owner::new();
        let (root, tls, setting) = (TempDir::new().unwrap(), owner.folder().join("tls"), owner.setting());
        let Value::String(hex) = serde_json::to_value(setting.sha256).unwrap() else { panic!("no text") };
        let at = |path: &std::path::Path| path.display().to_string();
        let text = format!(
            "[tls]\nenabled = true\ncertificate = \"{tls}/certificate.pem\"\nkey = \"{tls}/key.pem\"\n\
             [[access.tokens]]\nname = \"laptop\"\nrole = \"admin\"\nsha256 = \"{hex}\"\n\
             [fleet]\nservers = [\"{server}\"]\nname = \"{FLEET}\"\ndevice = \"{device}\"\nca = \"{ca}\"\n\
             certificate = \"{certificate}\"\nkey = \"{key}\"\nowner_key = \"{owner_key}\"\n",
            tls = at(&tls),
            server = fleet.servers[0],
            device = fleet.device,
            ca = at(&fleet.ca),
            certificate = at(&fleet.certificate),
            key = at(&fleet.key),
            owner_key = fleet.owner_key,
        );
        let config = root.path().join("config.toml");
        fs::write(&config, text).unwrap();
        let config = at(&config);
        let process = Process::http_in(root, &["--config", &config]).await;
        Self { owner, config, process }
    }

    /// The calls that it executes now, long waits included.
    async fn running(&self) -> f64 {
        let url = format!("{}/metrics", self.process.url.as_ref().unwrap());
        let request = pinned(self.owner.pin).build().unwrap().get(url).bearer_auth(&self.owner.token);
        let text = soon(request.send()).await.unwrap().text().await.unwrap();
        let value = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)?.trim().parse::<f64>().ok());
        value("raspi_mcp_calls_running ").unwrap() + value("raspi_mcp_streams_running ").unwrap()
    }

    /// One call through the tunnel.
    async fn called(&self, console: &Console, tool: &str, arguments: &Value) -> Result<Value, base::error::ToolError> {
        let stream = open(&console.broker, &console.subjects, "kitchen").await?;
        call_over(stream, self.owner.pin, Some(self.owner.token.clone()), tool, arguments).await
    }
}

/// Calls until the device is connected again.
async fn answers(device: &Served, console: &Console) -> Value {
    soon(async {
        loop {
            match device.called(console, "system.get_clock", &json!({})).await {
                Ok(answer) => return answer,
                Err(error) => assert!(error.message.contains("not connected"), "{error}"),
            }
        }
    })
    .await
}

#[tokio::test]
async fn a_device_that_dies_in_a_call_costs_the_caller_that_call() {
    let desk = FleetDesk::new();
    let server = NatsServer::start(&desk, &["kitchen".into()]).await;
    let mut device = Served::start(&desk.joins("kitchen", server.port)).await;
    let console = Console::connect(FleetFolder::read(desk.path()).unwrap(), Wall::system()).await.unwrap();
    answers(&device, &console).await;
    let idle = device.running().await;
    let wait = json!({ "pin": 17, "timeout_ms": 600_000 });
    let (call, ()) = tokio::join!(device.called(&console, "gpio.wait_for_edge", &wait), async {
        soon(async { while device.running().await <= idle {} }).await;
        let pid = Pid::from_raw(device.process.child.id().unwrap().cast_signed()).unwrap();
        kill_process(pid, Signal::KILL).unwrap();
    });
    assert_eq!(call.unwrap_err().code, ErrorCode::Unavailable);
    let Served { owner, config, mut process } = device;
    process.ended().await;
    let process = process.again(&["--config", &config]).await;
    device = Served { owner, config, process };
    let answer = answers(&device, &console).await;
    assert!(answer["result"]["structuredContent"].is_object(), "{answer:#}");
}

/// The broker is killed while the device is quiet: it is there again without a word from anybody.
#[tokio::test]
async fn a_device_comes_back_to_a_killed_broker() {
    let desk = FleetDesk::new();
    let mut server = NatsServer::start(&desk, &["kitchen".into()]).await;
    let device = Served::start(&desk.joins("kitchen", server.port)).await;
    let console = || async {
        let folder = FleetFolder::read(desk.path()).unwrap();
        Console::connect(folder, Wall::system()).await.unwrap()
    };
    answers(&device, &console().await).await;
    server.restart(&desk, &["kitchen".into()]).await;
    let answer = answers(&device, &console().await).await;
    assert!(answer["result"]["structuredContent"].is_object(), "{answer:#}");
}
