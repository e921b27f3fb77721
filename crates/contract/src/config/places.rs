//! The folders of configuration, state and sockets: the system's on an appliance, the XDG ones for a developer.

use super::{
    fault::{ConfigError, Faults, Origin},
    sections::routeros::ROUTERS_USER,
};
use std::path::{Path, PathBuf};

/// The account that the server runs under on an appliance.
pub const SERVER_USER: &str = "raspi-mcp";
/// The user that the approval page runs as on an installed system.
pub const APPROVAL_PAGE_USER: &str = "raspi-mcp-approval";

/// The folders that the configuration starts from. Passed in, so that a test can supply its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Places {
    /// Fragments of the image.
    pub image_dir: PathBuf,
    /// The identity that `raspi-mcp prepare` wrote at this boot ([`super::prepared`]), with fragments between the
    /// image's and the site's. Missing on most machines.
    pub identity_dir: PathBuf,
    /// Fragments of the machine's owner: `/etc/raspi-mcp`, or `raspi-mcp` in the XDG config folder.
    pub site_dir: PathBuf,
    /// The server's state; fragments in its `conf.d` may only narrow.
    pub state_dir: PathBuf,
    /// Sockets and other files that need not survive a restart.
    pub runtime_dir: PathBuf,
    /// The agent's state.
    pub agent_state_dir: PathBuf,
    /// The agent's socket.
    pub agent_socket: PathBuf,
    /// The agent accepts only files that belong to this user and that nobody else can write. `None` when not on an
    /// appliance.
    pub policy_owner: Option<u32>,
}

impl Places {
    /// The places of an appliance.
    pub fn system() -> Self {
        Self {
            image_dir: "/usr/lib/raspi-mcp/conf.d".into(),
            identity_dir: super::prepared::FOLDER.into(),
            site_dir: "/etc/raspi-mcp".into(),
            state_dir: "/var/lib/raspi-mcp".into(),
            runtime_dir: "/run/raspi-mcp".into(),
            agent_state_dir: "/var/lib/raspi-mcp-agent".into(),
            agent_socket: "/run/raspi-mcp-agent/agent.sock".into(),
            policy_owner: Some(0),
        }
    }

    /// The places for this process: the system's for root and for user `raspi-mcp`, the XDG folders for all others.
    ///
    /// # Errors
    /// One fault when the user has no home folder, neither in the environment nor in `/etc/passwd`.
    pub fn detect() -> Result<Self, Faults> {
        let uid = rustix::process::geteuid().as_raw();
        // A machine without the file has no named users; root and the XDG variables still work.
        let passwd = std::fs::read("/etc/passwd").map(base::os::lossy).unwrap_or_default();
        Self::for_user(uid, &passwd, |name| std::env::var_os(name).map(PathBuf::from))
    }

    /// [`Places::detect`] for user `uid`, with the text of `/etc/passwd` and the environment passed in. A home whose name
    /// is not UTF-8, in that text with U+FFFD, is no home: a folder of another name must not take its place.
    ///
    /// # Errors
    /// As [`Places::detect`].
    pub fn for_user(uid: u32, passwd: &str, variable: impl Fn(&str) -> Option<PathBuf>) -> Result<Self, Faults> {
        let (name, home) = account(uid, passwd).unwrap_or_default();
        if uid == 0 || [SERVER_USER, APPROVAL_PAGE_USER, ROUTERS_USER].contains(&name) {
            return Ok(Self::system());
        }
        // The XDG specification: a relative path in one of these is invalid and must be ignored.
        let absolute = |name: &str| variable(name).filter(|path| path.is_absolute());
        let home = absolute("HOME").or_else(|| {
            Some(PathBuf::from(home)).filter(|path| path.is_absolute() && !home.contains(char::REPLACEMENT_CHARACTER))
        });
        let folder = |name: &str, below_home: &str| {
            absolute(name).or_else(|| home.as_ref().map(|home| home.join(below_home))).ok_or_else(|| {
                Faults(vec![ConfigError::new(
                    Origin::Variable(name.into()),
                    format!("user {uid} has no home folder to find {below_home} in; set {name} or HOME to a full path"),
                )])
            })
        };
        let state_dir = folder("XDG_STATE_HOME", ".local/state")?.join("raspi-mcp");
        let site_dir = folder("XDG_CONFIG_HOME", ".config")?.join("raspi-mcp");
        // Without a session (cron, a container) there is no XDG_RUNTIME_DIR; the state folder is private as well.
        let runtime_dir =
            absolute("XDG_RUNTIME_DIR").map_or_else(|| state_dir.join("run"), |dir| dir.join("raspi-mcp"));
        Ok(Self {
            image_dir: Self::system().image_dir,
            agent_state_dir: state_dir.join("agent"),
            agent_socket: runtime_dir.join("agent.sock"),
            // Not the machine's own, which is not for ordinary users.
            identity_dir: runtime_dir.join("identity"),
            site_dir,
            state_dir,
            runtime_dir,
            policy_owner: None,
        })
    }

    /// All places below one folder, for tests and experiments.
    pub fn below(root: &Path) -> Self {
        Self {
            image_dir: root.join("usr/lib/raspi-mcp/conf.d"),
            identity_dir: root.join("run/raspi-mcp-identity"),
            site_dir: root.join("etc/raspi-mcp"),
            state_dir: root.join("var/lib/raspi-mcp"),
            runtime_dir: root.join("run/raspi-mcp"),
            agent_state_dir: root.join("var/lib/raspi-mcp-agent"),
            agent_socket: root.join("run/raspi-mcp-agent/agent.sock"),
            policy_owner: None,
        }
    }
}

/// Name and home of `uid` in the text of a passwd file.
fn account(uid: u32, passwd: &str) -> Option<(&str, &str)> {
    passwd.lines().find_map(|line| {
        let fields: Vec<&str> = line.split(':').collect();
        let found = fields.get(2)?.parse() == Ok(uid);
        found.then(|| Some((*fields.first()?, fields.get(5).copied().unwrap_or_default()))).flatten()
    })
}
