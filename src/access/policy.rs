//! The server half's policy: which tools are on, for whom, and which ask a person first.
//!
//! The agent half has a copy of its own (`agent/policy.rs`) and does not trust this one.

use crate::{
    access::caller::Caller,
    config::Settings,
    error::ToolError,
    registry::meta::{Environment, Meta, Mode, Role, Tier},
};
use std::collections::{BTreeMap, BTreeSet};

/// Decisions per tool, made once at start from the configuration.
#[derive(Clone, Debug)]
pub struct Policy {
    pub environment: Environment,
    /// Namespaces whose write tiers are on.
    pub enabled: BTreeSet<String>,
    /// Tools or namespaces that are off.
    pub disabled: BTreeSet<String>,
    /// What the configuration says instead of the tool's own mode.
    pub modes: BTreeMap<String, Mode>,
    /// The configuration was not understood: only the fundamental tier runs.
    pub restricted: bool,
}

impl Policy {
    /// Read-only until configured otherwise.
    pub fn read_only() -> Self {
        Self {
            environment: Environment::Prod,
            enabled: BTreeSet::new(),
            disabled: BTreeSet::new(),
            modes: BTreeMap::new(),
            restricted: false,
        }
    }

    /// What the configuration decides.
    pub fn of(settings: &Settings) -> Self {
        Self {
            environment: settings.environment,
            enabled: settings.tools.enable.clone(),
            disabled: settings.tools.disable.clone(),
            modes: settings.policy.clone(),
            restricted: settings.is_restricted(),
        }
    }

    /// Allow, ask or deny, from the configuration or the tool's declaration.
    pub fn mode(&self, meta: &Meta) -> Mode {
        self.modes.get(meta.name).copied().unwrap_or(meta.mode)
    }

    /// Why a tool is off for everybody, or `None` when it is on.
    pub fn off(&self, meta: &Meta) -> Option<ToolError> {
        let name = meta.name;
        let error = if self.disabled.contains(name) || self.disabled.contains(meta.namespace()) {
            ToolError::denied(format!("{name} is switched off by the configuration (tools.disable)"))
        } else if self.restricted && meta.tier != Tier::Fundamental {
            ToolError::denied(format!("{name} is off: part of the configuration was not understood"))
                .hint("manage.get_server_status lists the faults; mend the fragment and restart the server")
        } else if meta.tier != Tier::Fundamental && !self.enabled.contains(meta.namespace()) {
            ToolError::denied(format!("{name} changes this device and its namespace is not enabled"))
                .hint(format!("the owner can add \"{}\" to tools.enable in the configuration", meta.namespace()))
        } else if !meta.environments.contains(&self.environment) {
            ToolError::denied(format!("{name} does not run in environment {:?}", self.environment))
        } else if self.mode(meta) == Mode::Deny {
            ToolError::denied(format!("{name} is denied by policy"))
                .hint(format!("the owner can set policy.\"{name}\" to \"ask\" in the configuration of both halves"))
        } else {
            return None;
        };
        Some(error.with("tool", name))
    }

    /// Whether this caller may use this tool at all.
    ///
    /// # Errors
    /// `permission_denied` with `details.tool`, and `required_role` when the role is what is missing.
    pub fn admit(&self, meta: &Meta, caller: &Caller) -> Result<(), ToolError> {
        self.admit_role(meta, caller.role)
    }

    /// As [`Policy::admit`], for the listing, which depends on nothing but the role.
    ///
    /// # Errors
    /// As [`Policy::admit`].
    pub fn admit_role(&self, meta: &Meta, role: Role) -> Result<(), ToolError> {
        if role < meta.role {
            let (name, needs, has) = (meta.name, meta.role.name(), role.name());
            return Err(ToolError::denied(format!("{name} needs role {needs}; this caller is {has}"))
                .with("tool", name)
                .with("required_role", needs)
                .with("role", has)
                .hint("connect with a token of that role, or ask the owner for one"));
        }
        self.off(meta).map_or(Ok(()), Err)
    }
}
