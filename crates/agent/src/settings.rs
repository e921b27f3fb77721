//! The agent's settings: from the image, /etc and its own folder, never from the server.

use super::{policy::AgentPolicy, site::SiteOrders};
use appliance::Folder;
use base::os::{Root, groups};
use contract::{
    config::{
        APPROVAL_PAGE_USER, AgentType, Approval, Exec, PlaceSettings, ROUTERS_USER, Reload, RouterSetting, SERVER_USER,
        Settings,
        sections::{FleetSettings, update::UpdateSettings},
    },
    meta::Environment,
};
use std::{path::PathBuf, sync::Arc, time::Duration};

/// Where the system bus has its socket.
pub(crate) const BUS_FOLDER: &str = "/run/dbus";

/// Everything the agent needs to know.
#[derive(Clone, Debug)]
pub struct AgentSettings {
    /// The agent's own folder, out of the server's reach.
    pub state_dir: PathBuf,
    pub socket: PathBuf,
    /// The places of both halves, from the agent's own sources.
    pub places: PlaceSettings,
    /// The user the network half runs as; `None` when there is no such user on this machine.
    pub server_uid: Option<u32>,
    /// The user the approval page runs as; `None` when there is no such user on this machine.
    pub approval_page_uid: Option<u32>,
    /// The user that talks to routers; `None` when there is no such user on this machine.
    pub routers_uid: Option<u32>,
    /// What this machine is used for.
    pub environment: Environment,
    /// The routers that it may change.
    pub routers: Vec<RouterSetting>,
    /// Members may answer asks.
    pub approver_group: String,
    /// The machine is simulated: nothing here touches the real one.
    pub simulated: bool,
    /// The policy at start.
    pub policy: AgentPolicy,
    /// How the policy is reloaded when `raspi-mcp allow` has changed the configuration.
    pub reload: Reload,
    /// What changes the site's configuration for the owner; `None` where there is none to change.
    pub site: Option<Arc<dyn SiteOrders>>,
    /// The commands that it runs.
    pub exec: Exec,
    /// The agents that it starts.
    pub agents: Vec<AgentType>,
    /// Names of processes that get no signal.
    pub protected_processes: Vec<String>,
    /// The server's own folders and sockets.
    pub server_places: Vec<PathBuf>,
    /// The button and its LED, if any.
    pub approval: Approval,
    /// Which GPIO chip they are on: label or device file, empty for the header's.
    pub gpio_chip: String,
    /// The card, the channel, and the health checks of a new system.
    pub update: UpdateSettings,
    /// The fleet that this device belongs to.
    pub fleet: FleetSettings,
    /// Size of the server's audit in bytes, above which the oldest records may be trimmed.
    pub audit_max_bytes: u64,
    /// The server's socket, if it listens on one.
    pub server_socket: Option<PathBuf>,
    /// The machine's identity as prepared at each start, with the open claim.
    pub identity: Folder,
    /// How long an enrolment code is taken.
    pub claim_window: Duration,
    /// The root file system, for `/etc/passwd`, `/etc/group` and `/proc`.
    pub root: Root,
}

impl AgentSettings {
    /// The agent's part of `settings`, which must come from [`contract::config::load_agent`] when the machine is real.
    pub fn of(settings: &Settings, simulated: bool, root: Root) -> Self {
        Self {
            state_dir: settings.places.agent_state_dir.clone(),
            socket: settings.places.agent_socket.clone(),
            places: settings.places.clone(),
            server_uid: groups::user_id(&root, SERVER_USER),
            approval_page_uid: groups::user_id(&root, APPROVAL_PAGE_USER),
            routers_uid: groups::user_id(&root, ROUTERS_USER),
            environment: settings.environment,
            routers: settings.routeros.clone(),
            approver_group: settings.access.approver_group.clone(),
            simulated,
            policy: AgentPolicy::of(settings, simulated),
            reload: Reload::default(),
            site: None,
            exec: settings.exec.clone(),
            agents: settings.agents.clone(),
            protected_processes: settings.process.protected.clone(),
            server_places: vec![
                settings.places.state_dir.clone(),
                settings.places.runtime_dir.clone(),
                settings.socket.path.clone(),
                settings.tls.key.clone(),
            ],
            approval: settings.approval.clone(),
            gpio_chip: settings.gpio.chip.clone(),
            update: settings.update.clone(),
            fleet: settings.fleet.clone(),
            audit_max_bytes: settings.audit.max_bytes,
            server_socket: settings.socket.enabled.then(|| settings.socket.path.clone()),
            identity: Folder::at(&settings.identity_dir),
            claim_window: Duration::from_secs(60 * u64::from(settings.claim.window_minutes)),
            root,
        }
    }

    /// Paths hidden from commands: sockets, state, configuration and this program; the bus and the resolver, which
    /// `PrivateNetwork` leaves open.
    pub fn hidden_from_commands(&self) -> Vec<PathBuf> {
        let own = [
            "/etc/raspi-mcp",
            "/usr/bin/raspi-mcp",
            "/run/raspi-mcp",
            "/run/raspi-mcp-agent",
            "/run/raspi-mcp-routeros",
            appliance::FOLDER,
            BUS_FOLDER,
            "/run/systemd/resolve/io.systemd.Resolve",
            "/run/systemd/resolve/io.systemd.Resolve.Monitor",
        ]
        .map(PathBuf::from);
        let agent = [self.state_dir.clone(), self.socket.clone()];
        let program = std::env::current_exe().ok();
        own.into_iter().chain(program).chain(agent).chain(self.server_places.iter().cloned()).collect()
    }

    /// What to say while no account is known as the server's, so that every request of the server is refused.
    pub fn without_server(&self) -> String {
        format!(
            "no account {SERVER_USER} was found in {} when the agent started, so no server is served: make it \
             (systemd-sysusers), then restart raspi-mcp-agent",
            self.root.path("etc/passwd").display()
        )
    }

    /// Whether the network half has a user of its own, which must reach this one's socket.
    pub fn serves_another_user(&self) -> bool {
        self.server_uid.is_some_and(|uid| uid != rustix::process::getuid().as_raw())
    }
}
