//! The validated settings: plain typed structs, every field with a value. `keys.rs` has the bounds and the words.
//!
//! Units are in the names: `_seconds`, `_bytes`, `_per_minute`. Field names are the keys of the files.

use super::{
    owners::Owners,
    places::Places,
    sections::{
        Approval, Service, allow::Grant, camera::CameraSettings, claim::ClaimSettings, exec::Exec, files::Files,
        gpio::GpioSettings, i2c::I2cSettings, metrics::MetricSettings, update::UpdateSettings,
    },
    token::TokenSetting,
    token_files::TokenFiles,
};
use crate::meta::{Environment, Mode, Role};
use serde::{Deserialize, Serialize};
use std::{
    collections::{BTreeMap, BTreeSet},
    net::{Ipv4Addr, SocketAddr},
    path::PathBuf,
};

const MIB: usize = 1024 * 1024;

/// Everything a person can set, after merging and checking. Build it with [`super::load`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Settings {
    pub board: BoardChoice,
    pub agent: AgentChoice,
    pub tool_names: ToolNames,
    pub environment: Environment,
    pub http: Http,
    pub tls: Tls,
    pub socket: Socket,
    pub limits: Limits,
    pub access: Access,
    pub jwt: Jwt,
    pub tools: Tools,
    /// What the configuration says about single tools; a tool that is not here has its own default.
    pub policy: BTreeMap<String, Mode>,
    pub approval: Approval,
    pub service: Service,
    pub places: PlaceSettings,
    pub audit: AuditLog,
    pub metrics: MetricSettings,
    pub log: Log,
    pub files: Files,
    pub process: Process,
    pub exec: Exec,
    pub gpio: GpioSettings,
    pub i2c: I2cSettings,
    pub camera: CameraSettings,
    pub update: UpdateSettings,
    pub claim: ClaimSettings,
    /// Why only the fundamental tier may run: one line for each fragment that was set aside. Empty when all is well.
    #[serde(skip)]
    pub restricted: Vec<String>,
    /// An appliance that has no owner yet: until it has, nothing but its claim and a sign of life may be served to anybody.
    #[serde(skip)]
    pub unclaimed: bool,
    /// What was prepared of its identity at this start ([`super::prepared`]); not there on most machines.
    #[serde(skip)]
    pub identity_dir: PathBuf,
    /// Where the tokens come from: a running server reads them again.
    #[serde(skip)]
    pub token_files: TokenFiles,
}

/// `board`: which hardware this is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BoardChoice {
    Auto,
    RaspberryPi,
    Linux,
    Simulated,
}

/// `agent`: how the privileged half is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AgentChoice {
    Auto,
    Socket,
    Inprocess,
}

/// `tool_names`: the form of names in `tools/list`. Calls accept every form.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ToolNames {
    Auto,
    Dotted,
    Underscored,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Http {
    pub enabled: bool,
    pub listen: SocketAddr,
    pub allowed_hosts: Vec<String>,
    pub allowed_origins: Vec<String>,
    pub session_limit: usize,
    pub session_idle_seconds: u64,
    pub body_timeout_seconds: u64,
    pub max_connections: usize,
    pub metrics: bool,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Tls {
    pub enabled: bool,
    /// PEM: the certificate, then what it was signed with, if anything.
    pub certificate: PathBuf,
    /// PEM: PKCS #8, SEC 1 or PKCS #1.
    pub key: PathBuf,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Socket {
    pub enabled: bool,
    pub path: PathBuf,
    pub max_connections: usize,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Limits {
    pub max_concurrent_requests: usize,
    pub max_waiting_requests: usize,
    pub max_streams: usize,
    pub max_request_bytes: usize,
    pub max_response_bytes: usize,
    pub request_timeout_seconds: u64,
    pub reads_per_minute: u32,
    pub writes_per_minute: u32,
    pub shutdown_grace_seconds: u64,
    /// Nesting of JSON arrays and objects.
    pub max_depth: usize,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Access {
    pub stdio_role: Role,
    pub loopback_role: Role,
    pub require_token: bool,
    pub admin_group: String,
    pub approver_group: String,
    pub owners: Owners,
    pub tokens: Vec<TokenSetting>,
}

/// JSON Web Tokens; off while `issuer` is empty.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Jwt {
    pub issuer: String,
    pub audience: String,
    pub keys_file: PathBuf,
    pub role_claim: String,
    pub clock_skew_seconds: u32,
}

impl Jwt {
    pub fn is_on(&self) -> bool {
        !self.issuer.is_empty()
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Tools {
    /// Namespaces whose write tiers are on.
    pub enable: BTreeSet<String>,
    /// Tools and namespaces that are off.
    pub disable: BTreeSet<String>,
    /// Tools that are open one at a time.
    pub allow: Vec<Grant>,
}

/// `places`: what both halves have to agree on. The server reads them from one more source than the agent does, the environment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlaceSettings {
    pub state_dir: PathBuf,
    pub runtime_dir: PathBuf,
    pub agent_state_dir: PathBuf,
    pub agent_socket: PathBuf,
}

impl PlaceSettings {
    /// Where the server, whose these are, and the agent differ: a sentence for each key.
    pub fn differences(&self, agent: &Self) -> Vec<String> {
        let keys = [
            ("state_dir", &self.state_dir, &agent.state_dir),
            ("runtime_dir", &self.runtime_dir, &agent.runtime_dir),
            ("agent_state_dir", &self.agent_state_dir, &agent.agent_state_dir),
            ("agent_socket", &self.agent_socket, &agent.agent_socket),
        ];
        let differ = keys.into_iter().filter(|(_, ours, theirs)| ours != theirs);
        let told = differ.map(|(key, ours, theirs)| {
            format!("places.{key} is {} for the server and {} for the agent", ours.display(), theirs.display())
        });
        told.collect()
    }
}

/// What to do about [`PlaceSettings::differences`].
pub const SAME_PLACES: &str = "set places in the image or in /etc/raspi-mcp, which both halves read, or give both the same \
                               --config and --set; then restart both";

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AuditLog {
    pub max_bytes: u64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Log {
    pub level: LogLevel,
    pub target: LogTarget,
    pub ring_lines: usize,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Process {
    /// Names of processes that get no signal.
    pub protected: Vec<String>,
}

/// What keeps the machine up and within reach: init, the bus, logins, the network.
const PROTECTED: [&str; 9] = [
    "init",
    "systemd",
    "systemd-journal",
    "systemd-logind",
    "systemd-udevd",
    "dbus-daemon",
    "dbus-broker",
    "NetworkManager",
    "sshd",
];

/// `log.level`, most severe first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogLevel {
    Error,
    Warn,
    Info,
    Debug,
    Trace,
}

impl From<LogLevel> for tracing::Level {
    fn from(level: LogLevel) -> Self {
        match level {
            LogLevel::Error => Self::ERROR,
            LogLevel::Warn => Self::WARN,
            LogLevel::Info => Self::INFO,
            LogLevel::Debug => Self::DEBUG,
            LogLevel::Trace => Self::TRACE,
        }
    }
}

/// `log.target`: where log lines go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogTarget {
    Auto,
    Journal,
    Stderr,
}

impl Settings {
    /// What holds when nobody sets anything. docs/configuration.md has the numbers.
    pub fn default_for(places: &Places) -> Self {
        Self {
            board: BoardChoice::Auto,
            agent: AgentChoice::Auto,
            tool_names: ToolNames::Auto,
            environment: Environment::Prod,
            http: Http {
                enabled: true,
                listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 8765)),
                allowed_hosts: Vec::new(),
                allowed_origins: Vec::new(),
                session_limit: 64,
                session_idle_seconds: 900,
                body_timeout_seconds: 10,
                max_connections: 64,
                metrics: true,
            },
            tls: Tls {
                enabled: false,
                certificate: places.state_dir.join("tls/certificate.pem"),
                key: places.state_dir.join("tls/key.pem"),
            },
            socket: Socket { enabled: true, path: places.runtime_dir.join("mcp.sock"), max_connections: 32 },
            limits: Limits {
                max_concurrent_requests: 10,
                max_waiting_requests: 64,
                max_streams: 32,
                max_request_bytes: MIB,
                max_response_bytes: 10 * MIB,
                request_timeout_seconds: 30,
                reads_per_minute: 600,
                writes_per_minute: 60,
                shutdown_grace_seconds: 5,
                max_depth: 64,
            },
            access: Access {
                stdio_role: Role::ReadOnly,
                loopback_role: Role::ReadOnly,
                require_token: false,
                admin_group: "raspi-mcp-admin".into(),
                approver_group: "raspi-mcp-approver".into(),
                owners: Owners::default(),
                tokens: Vec::new(),
            },
            jwt: Jwt {
                issuer: String::new(),
                audience: String::new(),
                keys_file: places.site_dir.join("jwks.json"),
                role_claim: "role".into(),
                clock_skew_seconds: 60,
            },
            tools: Tools { enable: BTreeSet::new(), disable: BTreeSet::new(), allow: Vec::new() },
            policy: BTreeMap::new(),
            approval: Approval::default(),
            service: Service::default(),
            places: PlaceSettings {
                state_dir: places.state_dir.clone(),
                runtime_dir: places.runtime_dir.clone(),
                agent_state_dir: places.agent_state_dir.clone(),
                agent_socket: places.agent_socket.clone(),
            },
            audit: AuditLog { max_bytes: 64 * MIB as u64 },
            metrics: MetricSettings::default(),
            log: Log { level: LogLevel::Info, target: LogTarget::Auto, ring_lines: 1000 },
            files: Files::default(),
            process: Process { protected: PROTECTED.map(str::to_owned).to_vec() },
            exec: Exec::default(),
            gpio: GpioSettings::default(),
            i2c: I2cSettings::default(),
            camera: CameraSettings::below(&places.state_dir),
            update: UpdateSettings::below(&places.state_dir),
            claim: ClaimSettings::default(),
            restricted: Vec::new(),
            unclaimed: false,
            identity_dir: places.identity_dir.clone(),
            token_files: TokenFiles::default(),
        }
    }

    /// Whether a fragment was not understood, so that only the fundamental tier may run.
    pub fn is_restricted(&self) -> bool {
        !self.restricted.is_empty()
    }

    /// The settings as a person may see them: tokens by name and role, never their hashes.
    pub fn summary(&self) -> serde_json::Value {
        let mut summary = match serde_json::to_value(self) {
            Ok(summary) => summary,
            // Only a path that is not UTF-8 gets here, and `load` refuses those.
            Err(error) => return serde_json::json!({ "error": error.to_string() }),
        };
        summary["access"]["tokens"] = self.access.tokens.iter().map(TokenSetting::summary).collect();
        summary["update"]["proxy"] = self.update.shown_proxy().into();
        summary["restricted"] = self.restricted.clone().into();
        summary
    }
}
