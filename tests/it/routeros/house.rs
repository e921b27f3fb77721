//! A machine with one router in its configuration: `edge`, over real TLS, with its password in a file.

use crate::support::served::Pi;
use appliance::certificate::Fingerprint;
use contract::config::{RouterSetting, Settings, Sources};
use raspi_mcp::routeros::{link, plans::Files};
use routeros_simulator::{PASSWORD, Profile, Router, server::Listener};
use std::{
    fs,
    path::{Path, PathBuf},
    process::Stdio,
    time::Duration,
};
use tempfile::TempDir;
use tokio::{
    io::{AsyncBufReadExt, BufReader},
    process::{Child, Command},
};

use crate::support::served::soon;

pub struct House {
    pub router: Router,
    pub listener: Listener,
    /// The server, and the privileged half in the same process.
    pub pi: Pi,
    pub sources: Sources,
    /// Has the password.
    pub folder: TempDir,
}

impl House {
    pub async fn new() -> Self {
        Self::with("").await
    }

    /// `more`: lines of the router's table, then of other tables.
    pub async fn with(more: &str) -> Self {
        let router = Router::new(Profile::V7_21);
        let listener = Listener::bind(router.clone(), "127.0.0.1:0").await.unwrap();
        let folder = TempDir::new().unwrap();
        let password = folder.path().join("edge");
        fs::write(&password, format!("{PASSWORD}\n")).unwrap();
        let text = format!("{}{more}", table(&listener, &password));
        let (pi, sources) = Pi::of_site(&[("60-router-edge.toml", &text)]).await;
        Self { router, listener, pi, sources, folder }
    }

    pub fn settings(&self) -> Settings {
        contract::config::load(&self.sources).unwrap()
    }

    pub fn routers(&self) -> Vec<RouterSetting> {
        self.settings().routeros
    }

    /// As after `raspi-mcp routeros test`, for the process whose folder this is.
    pub async fn was_tested(&self) {
        let clock = self.pi.call("routeros.get_system_overview", serde_json::json!({ "device_id": "edge" })).await;
        let version = clock.ok()["routeros_version"].as_str().unwrap().to_owned();
        let own = self.sources.places.state_dir.join("routeros");
        for folder in [self.folder.path().join("plans"), own] {
            Files::new(&folder).keep_test("edge", &version).unwrap();
        }
    }

    /// Another server, whose calls go to the privileged half of this machine and to the routers' process.
    pub async fn server(&self) -> Pi {
        let routers = self.routers();
        let socket = self.sources.places.agent_socket.clone();
        Pi::standard(move |settings| {
            settings.routeros = routers;
            settings.agent = contract::config::AgentChoice::Socket;
            settings.places.agent_socket = socket;
        })
        .await
    }

    /// The routers' process, at the socket where `server` looks for it.
    pub async fn process(&self, server: &Pi) -> Process {
        let socket = link::socket(&server.server().pipeline.services.settings.places);
        Process::start(&self.sources.places.agent_socket, &socket, &self.folder.path().join("plans")).await
    }
}

/// The table of the router behind `listener`.
pub fn table(listener: &Listener, password: &Path) -> String {
    let (address, pin) = (listener.address(), Fingerprint::of(listener.certificate()));
    let password = password.display();
    format!(
        "[[routeros]]\nname = \"edge\"\naddress = \"{address}\"\npin = \"{pin}\"\nuser = \"raspi\"\n\
         password_file = \"{password}\"\nenvironment = \"lab\"\n"
    )
}

/// `raspi-mcp routeros serve`. Killed when dropped.
pub struct Process {
    pub child: Child,
    pub socket: PathBuf,
    log: tokio::task::JoinHandle<String>,
}

impl Process {
    pub async fn start(agent: &Path, socket: &Path, folder: &Path) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_raspi-mcp"));
        command.env_clear().env("HOME", folder).kill_on_drop(true).args(["routeros", "serve", "--agent"]).arg(agent);
        command.arg("--socket").arg(socket).arg("--folder").arg(folder).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let mut text = String::new();
        while let Some(line) = soon(lines.next_line()).await.unwrap() {
            text.push_str(&format!("{line}\n"));
            if line.contains("listening on") {
                break;
            }
        }
        assert!(text.contains("listening on"), "it never listened:\n{text}");
        let log = tokio::spawn(async move {
            while let Ok(Some(line)) = lines.next_line().await {
                text.push_str(&format!("{line}\n"));
            }
            text
        });
        Self { child, socket: socket.to_owned(), log }
    }

    /// Told to stop, as systemd does; what it logged.
    pub async fn stop(mut self) -> String {
        let pid = rustix::process::Pid::from_raw(self.child.id().unwrap() as i32).unwrap();
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
        let status = tokio::time::timeout(Duration::from_secs(10), self.child.wait()).await.expect("it ends").unwrap();
        assert!(status.success(), "{status}");
        self.log.await.unwrap()
    }
}
