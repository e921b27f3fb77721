//! An appliance fresh from the flash, with both halves and a simulated card: it starts, is claimed, loses its power.
//!
//! ```text
//! let fresh = Fresh::new();
//! let up = fresh.starts().await;
//! let token = up.offered(&fresh.code()).await;
//! ```

use crate::support::served::{Door, Wire, secure::pinned, soon};
use agent::{AgentLink, BootableCard, Peer, PeerKind, operations::approvals::ListApprovers};
use appliance::{
    Code, Folder, Identity,
    certificate::Fingerprint,
    prepare::{PrepareSite, prepare},
};
use base::os::Root;
use contract::config::{self, CliFlag, Places, Settings, Sources};
use raspi_mcp::{
    daemon::{self, RunningServer, Serve},
    log::Ring,
    registry::Registry,
    rpc::mcp::appliance::Appliance,
};
use serde_json::{Value, json};
use std::{fs, net::SocketAddr, path::PathBuf, sync::Arc, time::Duration};
use tempfile::TempDir;
use update::{
    disk::{Access, Area},
    slots::{StateRecord, StateStore},
};

/// Longer than this machine has been on.
const FAR: Duration = Duration::from_secs(1 << 40);

/// The machine, whether it is on or not.
pub struct Fresh {
    root: TempDir,
}

/// One run of both halves.
pub struct Up {
    pub running: RunningServer,
    pub pin: Fingerprint,
    http: SocketAddr,
}

impl Fresh {
    /// Flashed, and given power for the first time.
    pub fn new() -> Self {
        let fresh = Self { root: TempDir::new().unwrap() };
        fresh.power_on(FAR);
        fresh
    }

    /// The power goes and comes back: `/run` is empty, and `prepare` runs. `window`: how far the boot clock is when the claim ends.
    pub fn power_on(&self, window: Duration) {
        assert_eq!(self.power_on_damaged(window), [""; 0]);
    }

    /// The same of a card that has something wrong with it: what that is.
    pub fn power_on_damaged(&self, window: Duration) -> Vec<String> {
        let _ = fs::remove_dir_all(self.folder().path());
        let card = self.card();
        let root = self.root.path().join("machine");
        for folder in ["proc/sys/kernel", "data"] {
            fs::create_dir_all(root.join(folder)).unwrap();
        }
        fs::write(root.join("proc/sys/kernel/hostname"), "raspi-mcp\n").unwrap();
        let (root, folder) = (Root::at(root), self.folder());
        let done = prepare(&PrepareSite {
            disk: &*card.disk,
            root: &root,
            folder: &folder,
            group: None,
            product: "raspi-mcp",
            approver: agent::approvers::check,
            window,
            open_backup: appliance::backup::open,
            site_dir: &self.places().site_dir,
            agent_dir: &self.places().agent_state_dir,
        });
        done.unwrap().faults
    }

    /// Its owner resets it: with a file on partition 1, and the initramfs that wipes the data partition.
    pub fn is_reset(&self) {
        let config = self.card().disk.open(Area::Config, Access::Shared).unwrap();
        config.write(0, &super::partition(&[("factory-reset", b"reset\n")])).unwrap();
        config.flush().unwrap();
        drop(config);
        self.power_on(FAR);
        let places = self.places();
        fs::remove_file(self.root.path().join("machine/data/factory-reset")).unwrap();
        for entry in fs::read_dir(&places.agent_state_dir).unwrap().map(Result::unwrap) {
            if entry.file_type().unwrap().is_file() {
                fs::remove_file(entry.path()).unwrap();
            }
        }
        for folder in [&places.site_dir, &places.state_dir] {
            let _ = fs::remove_dir_all(folder);
        }
        self.power_on(FAR);
    }

    /// The file of the whole agent state.
    pub fn agent_state(&self) -> PathBuf {
        self.places().agent_state_dir.join("card/agent-state.img")
    }

    fn card(&self) -> BootableCard {
        BootableCard::simulated(&self.places().agent_state_dir.join("card")).unwrap()
    }

    pub fn places(&self) -> Places {
        Places::below(self.root.path())
    }

    pub fn folder(&self) -> Folder {
        Folder::at(self.places().identity_dir)
    }

    pub fn code(&self) -> Code {
        self.folder().claim().unwrap().expect("a claim is open").code
    }

    pub fn tries_left(&self) -> u8 {
        self.folder().claim().unwrap().expect("a claim is open").tries_left
    }

    /// What is recorded on the card. Not while it runs.
    pub fn state(&self) -> StateRecord {
        StateStore::open(&*self.card().disk).unwrap().state
    }

    pub fn identity(&self) -> Identity {
        Identity::of(&self.state()).0
    }

    /// The agent's own log.
    pub fn log(&self) -> String {
        fs::read_to_string(self.places().agent_state_dir.join("operations.ndjson")).unwrap_or_default()
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    /// The settings as `serve` reads them, on a port of its own.
    pub fn settings(&self, more: &[(&str, &str)]) -> Settings {
        let registry = Registry::new(raspi_mcp::tools::NAMESPACES);
        let tools = registry.rows().map(|entry| (entry.name(), entry.meta.mode)).collect();
        let mut sources = Sources::new(self.places(), tools);
        let over = [("board", "simulated"), ("agent", "inprocess"), ("http.listen", "0.0.0.0:0")];
        sources.flags = over
            .iter()
            .chain(more)
            .map(|(key, value)| CliFlag { key: (*key).into(), value: (*value).into(), flag: format!("--set {key}") })
            .collect();
        config::load(&sources).unwrap()
    }

    pub async fn starts(&self) -> Up {
        self.starts_with(&[]).await
    }

    pub async fn starts_with(&self, more: &[(&str, &str)]) -> Up {
        let (settings, registry) = (self.settings(more), Registry::new(raspi_mcp::tools::NAMESPACES));
        let log = Ring::new(settings.log.ring_lines);
        let serve = Serve {
            settings,
            registry,
            stdio: false,
            log,
            reload: Default::default(),
            provider: Arc::new(Appliance::default()),
            prepare: None,
        };
        let running = soon(daemon::start(serve)).await.unwrap();
        let port = running.http.expect("HTTP is on").port();
        let fingerprint = self.folder().standing().unwrap().unwrap().fingerprint.unwrap();
        let pin = Fingerprint::parse(&fingerprint).unwrap();
        Up { running, pin, http: SocketAddr::from(([127, 0, 0, 1], port)) }
    }
}

impl Up {
    pub fn address(&self) -> SocketAddr {
        self.http
    }

    pub fn url(&self, path: &str) -> String {
        format!("https://{}{path}", self.http)
    }

    pub fn client(&self) -> reqwest::Client {
        pinned(self.pin).build().unwrap()
    }

    /// `POST /claim` with any body: its status and answer.
    pub async fn post(&self, body: impl Into<reqwest::Body>) -> (u16, Value) {
        let post = self.client().post(self.url("/claim")).header("content-type", "application/json").body(body);
        let response = soon(post.send()).await.unwrap();
        (response.status().as_u16(), response.json().await.unwrap())
    }

    pub fn agent(&self) -> &AgentLink {
        &self.running.server.pipeline.services.agent
    }

    /// Everybody who is enrolled.
    pub async fn approvers(&self) -> Vec<agent::approvers::Approver> {
        let all = self.running.server.pipeline.services.agent.get::<ListApprovers>().await.unwrap();
        all.iter().filter_map(|one| one.known().cloned()).collect()
    }

    /// What root does at the machine's console.
    pub async fn at_the_console<O: agent::Operation>(&self, request: O::Request) -> O::Answer {
        let AgentLink::InProcess(agent) = &self.running.server.pipeline.services.agent else {
            panic!("the agent is elsewhere")
        };
        let root = Peer { uid: 0, name: "root".into(), standing: PeerKind::Approver };
        agent.perform::<O>(&root, request).await.unwrap()
    }

    pub async fn brings(&self, code: &Code) -> (u16, Value) {
        self.post(json!({ "code": code.to_string() }).to_string()).await
    }

    pub async fn shows(&self, token: &str) -> (u16, Value) {
        self.post(json!({ "token": token }).to_string()).await
    }

    /// The token for the right code.
    pub async fn offered(&self, code: &Code) -> String {
        let (status, answer) = self.brings(code).await;
        assert_eq!(status, 200, "{answer}");
        answer["token"].as_str().unwrap().to_owned()
    }

    /// A tool, called with this token: the status, and what came.
    pub async fn calls(&self, token: Option<&str>) -> (u16, Value) {
        let request = crate::support::served::request(&json!(1), "system.get_basic_info", &json!({}));
        let mut post =
            self.client().post(self.url("/api/mcp")).header("content-type", "application/json").body(request);
        if let Some(token) = token {
            post = post.bearer_auth(token);
        }
        let response = soon(post.send()).await.unwrap();
        (response.status().as_u16(), response.json().await.unwrap())
    }

    /// A conversation over the unix socket.
    pub async fn unix(&self) -> Wire {
        let path = &self.running.server.pipeline.services.settings.socket.path;
        let (reader, writer) = tokio::net::UnixStream::connect(path).await.unwrap().into_split();
        Wire::lines(Door::Unix, reader, writer)
    }

    pub async fn stops(self) {
        soon(self.running.stop()).await.unwrap();
    }
}
