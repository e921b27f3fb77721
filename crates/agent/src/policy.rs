//! The agent's own policy for operations: mode of the tool, namespace, and required approval.

use base::error::ToolError;
use contract::{
    actions::{Ruling, Words},
    config::{
        ApproverKinds, Grant, RECOVERY, Settings,
        sections::{agents::add_modes, routeros::write_tier},
    },
    meta::{Mode, Tier},
};
use serde_json::Value;
use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

/// The tools whose calls become an operation of the agent, with their default modes. The operation redeems their asks
/// itself. A shutdown cannot be undone remotely, so it must be allowed explicitly.
const TOOLS: &[(&str, Mode)] = &[
    ("system.reboot", Mode::Ask),
    ("system.shutdown", Mode::Deny),
    ("system.set_hostname", Mode::Allow),
    ("system.set_timezone", Mode::Allow),
    ("process.send_signal", Mode::Allow),
    ("exec.run", Mode::Ask),
    ("service.control_service", Mode::Allow),
    ("service.start", Mode::Allow),
    ("service.stop", Mode::Allow),
    ("service.restart", Mode::Allow),
    ("service.set_enabled", Mode::Allow),
    ("network.activate_connection", Mode::Allow),
    ("network.confirm_connection", Mode::Allow),
    ("network.add_connection", Mode::Ask),
    ("network.update_connection", Mode::Ask),
    ("manage.update_server", Mode::Ask),
    ("manage.apply_os_updates", Mode::Ask),
    ("manage.rollback", Mode::Ask),
    ("manage.mark_good", Mode::Ask),
    ("manage.halt", Mode::Allow),
];

/// The agent's copy of the policy.
#[derive(Clone, Debug, PartialEq)]
pub struct AgentPolicy {
    /// The configured mode per tool; others keep the default of the table above.
    pub modes: BTreeMap<String, Mode>,
    /// Namespaces whose write tools are switched on.
    pub namespaces: BTreeSet<String>,
    /// Disabled tools and namespaces.
    pub disabled: BTreeSet<String>,
    /// Grants of single tools. The server checks the caller and its role, which only it knows; what a grant names holds here
    /// for the caller that the server names.
    pub grants: Vec<Grant>,
    /// Services that tools may touch, with `*` and `?`.
    pub services: Vec<String>,
    /// MCP clients whose elicitation counts as a person's answer.
    pub elicitation_clients: Vec<String>,
    /// Which kinds of approver keys may approve which tools.
    pub approver_kinds: ApproverKinds,
    /// Parts of the configuration that were not understood. Until they are fixed, all that is not a read is refused.
    pub faults: Vec<String>,
    /// The faults are in sections of files whose other sections count: [`RECOVERY`] is performed all the same.
    pub recovers: bool,
    /// Limit of reboots: a machine that reboots more often cannot be reached to be repaired.
    pub reboots_per_hour: usize,
    /// How long an ask may stay pending, and an approval unused.
    pub ask_expiry: Duration,
}

impl Default for AgentPolicy {
    fn default() -> Self {
        Self {
            modes: BTreeMap::new(),
            namespaces: BTreeSet::new(),
            disabled: BTreeSet::new(),
            grants: Vec::new(),
            services: Vec::new(),
            elicitation_clients: Vec::new(),
            approver_kinds: ApproverKinds::default(),
            faults: Vec::new(),
            recovers: false,
            reboots_per_hour: 4,
            ask_expiry: Duration::from_secs(300),
        }
    }
}

impl AgentPolicy {
    /// The policy of `settings`, which must come from [`contract::config::load_agent`] when the machine is real.
    pub fn of(settings: &Settings, simulated: bool) -> Self {
        Self {
            modes: modes_of(settings),
            namespaces: settings.enabled(),
            disabled: settings.tools.disable.clone(),
            grants: settings.tools.allow.clone(),
            services: settings.service.allowed(simulated),
            elicitation_clients: settings.approval.elicitation_clients.clone(),
            approver_kinds: settings.approval.kinds.clone(),
            faults: settings.restricted.clone(),
            recovers: settings.recovers,
            ask_expiry: Duration::from_secs(settings.approval.expire_seconds),
            ..Self::default()
        }
    }

    /// With the parts that a running agent reloads: `[tools]`, `[policy]` and `approval.kinds`.
    #[must_use]
    pub fn renewed(&self, settings: &Settings) -> Self {
        Self {
            modes: modes_of(settings),
            namespaces: settings.enabled(),
            disabled: settings.tools.disable.clone(),
            grants: settings.tools.allow.clone(),
            approver_kinds: settings.approval.kinds.clone(),
            faults: settings.restricted.clone(),
            recovers: settings.recovers,
            ..self.clone()
        }
    }

    fn grants<'a>(&'a self, tool: &'a str) -> impl Iterator<Item = &'a Grant> {
        self.grants.iter().filter(move |grant| grant.tool == tool)
    }

    /// The services that `tool` may touch for `principal`, with `*` and `?`. Where only grants open the tool, they are those
    /// that the grants name, and `service.allow` counts if one of them names nothing.
    pub fn services(&self, tool: &str, principal: &str) -> Vec<String> {
        let grants: Vec<&Grant> = self.grants(tool).filter(|grant| grant.is_for(Some(principal))).collect();
        let listed = self.has_namespace(tool) || grants.iter().any(|grant| !grant.names_something());
        let granted = grants.into_iter().flat_map(|grant| &grant.units);
        self.services.iter().filter(|_| listed).chain(granted).cloned().collect()
    }

    fn has_namespace(&self, tool: &str) -> bool {
        self.namespaces.contains(namespace_of(tool))
    }

    /// Whether a call of `tool` becomes an operation of the agent.
    pub fn is_operation(tool: &str) -> bool {
        TOOLS.iter().any(|(name, _)| *name == tool) || write_tier(tool).is_some()
    }

    /// The ruling on a call of `tool`, by all its actions. An unknown tool has mode `ask`.
    pub fn ruling(&self, tool: &str, args: &Value) -> Ruling<'_> {
        let silent = match TOOLS.iter().find(|(name, _)| *name == tool) {
            Some((_, mode)) => *mode,
            // A single change of a router that its owner opened to such changes.
            None if write_tier(tool) == Some(Tier::Advanced) => Mode::Allow,
            None => Mode::Ask,
        };
        Words { modes: &self.modes, disabled: &self.disabled }.judge(tool, args, silent)
    }

    /// As [`AgentPolicy::check_call`], for a tool with one action.
    ///
    /// # Errors
    /// As there.
    pub fn check(&self, tool: &str) -> Result<Mode, ToolError> {
        self.check_call(tool, &Value::Null)
    }

    /// Whether the agent performs this call at all, and whether a person must approve it.
    ///
    /// # Errors
    /// `permission_denied` naming the setting that denies it.
    pub fn check_call(&self, tool: &str, args: &Value) -> Result<Mode, ToolError> {
        let recovers = self.recovers && RECOVERY.contains(&tool);
        if let Some(fault) = self.faults.first().filter(|_| !recovers) {
            return Err(ToolError::denied(format!("the agent does not understand its configuration: {fault}"))
                .with("tool", tool)
                .hint("mend the fragment and restart raspi-mcp-agent"));
        }
        let namespace = namespace_of(tool);
        if self.disabled.contains(tool) || self.disabled.contains(namespace) {
            return Err(ToolError::denied(format!("the agent's configuration switches {tool} off"))
                .with("tool", tool)
                .hint("take it out of tools.disable in /etc/raspi-mcp and restart raspi-mcp-agent"));
        }
        if !self.has_namespace(tool) && self.grants(tool).next().is_none() {
            return Err(ToolError::denied(format!("the agent's configuration does not enable namespace {namespace}"))
                .with("tool", tool)
                .with("namespace", namespace)
                .hint(format!("`raspi-mcp allow {tool}`, run as root on the device, opens it for both halves")));
        }
        let ruling = self.ruling(tool, args);
        if ruling.mode == Mode::Deny { Err(denied(tool, &ruling)) } else { Ok(ruling.mode) }
    }

    /// Whether a person may be asked about a call. Of the server's own tools only those denied here are excluded.
    ///
    /// # Errors
    /// `permission_denied` naming the setting that denies it.
    pub fn check_ask(&self, tool: &str, args: &Value) -> Result<(), ToolError> {
        if Self::is_operation(tool) {
            return self.check_call(tool, args).map(drop);
        }
        let ruling = self.ruling(tool, args);
        if ruling.mode == Mode::Deny { Err(denied(tool, &ruling)) } else { Ok(()) }
    }

    /// Whether the agent performs this read: reads need neither namespace nor approval.
    ///
    /// # Errors
    /// `permission_denied` naming the setting that denies it.
    pub fn check_read(&self, tool: &str) -> Result<(), ToolError> {
        let words = Words { modes: &self.modes, disabled: &self.disabled };
        if words.judge(tool, &Value::Null, Mode::Allow).mode == Mode::Deny {
            return Err(ToolError::denied(format!("the agent's configuration switches {tool} off"))
                .with("tool", tool)
                .hint("see tools.disable and policy in /etc/raspi-mcp, and restart raspi-mcp-agent"));
        }
        Ok(())
    }

    /// Whether an answer through the MCP client `client` counts: some clients answer automatically.
    ///
    /// # Errors
    /// `permission_denied` unless the configuration lists it.
    pub fn check_elicitation(&self, client: &str) -> Result<(), ToolError> {
        if self.elicitation_clients.iter().any(|listed| listed == client) {
            return Ok(());
        }
        Err(ToolError::denied(format!("answers through {client} do not count as a person's"))
            .with("client", client)
            .hint("approve on the device with `raspi-mcp approve`, or list the client in approval.elicitation_clients"))
    }
}

fn namespace_of(tool: &str) -> &str {
    tool.split_once('.').map_or(tool, |(namespace, _)| namespace)
}

/// `[policy]`, and the modes that the owner gave the tools of agents.
fn modes_of(settings: &Settings) -> BTreeMap<String, Mode> {
    let mut modes = settings.policy.clone();
    add_modes(&mut modes, &settings.agents);
    modes
}

fn denied(tool: &str, ruling: &Ruling<'_>) -> ToolError {
    let source = ruling.source().unwrap_or_else(|| format!("policy.\"{tool}\""));
    ToolError::denied(format!("the agent's policy denies {tool}"))
        .with("tool", tool)
        .with("decided_by", source.clone())
        .hint(format!("{source} in /etc/raspi-mcp decides this"))
}
