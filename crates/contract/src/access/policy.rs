//! The server's policy: which tools are on, for whom, and which need an approval.
//!
//! The agent has its own copy (`crates/agent/src/policy.rs`) and does not trust this one.

use crate::{
    access::{caller::Caller, way},
    actions::{Does, Ruling, Words, is_declared, of_call},
    config::{Grant, RECOVERY, Settings},
    meta::{Declaration, Environment, Mode, Tier},
};
use base::error::ToolError;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// Decisions per tool, from the configuration: read at start, and again when `raspi-mcp allow` has changed it.
#[derive(Clone, Debug, PartialEq)]
pub struct Policy {
    pub environment: Environment,
    /// Namespaces whose write tiers are on.
    pub enabled: BTreeSet<String>,
    /// Tools or namespaces that are off.
    pub disabled: BTreeSet<String>,
    /// `policy`: the modes of tools and actions.
    pub modes: BTreeMap<String, Mode>,
    /// Grants, each of which opens one tool.
    pub grants: Vec<Grant>,
    /// Part of the configuration was not understood: only the fundamental tier runs.
    pub restricted: bool,
    /// Restricted, and [`RECOVERY`] runs all the same.
    pub recovers: bool,
}

impl Policy {
    /// The policy without any configuration: read-only.
    pub fn read_only() -> Self {
        Self {
            environment: Environment::Prod,
            enabled: BTreeSet::new(),
            disabled: BTreeSet::new(),
            modes: BTreeMap::new(),
            grants: Vec::new(),
            restricted: false,
            recovers: false,
        }
    }

    /// The policy of a configuration.
    pub fn of(settings: &Settings) -> Self {
        Self {
            environment: settings.environment,
            enabled: settings.enabled(),
            disabled: settings.tools.disable.clone(),
            modes: settings.policy.clone(),
            grants: settings.tools.allow.clone(),
            restricted: settings.is_restricted(),
            recovers: settings.recovers,
        }
    }

    /// The grants of `tool` that apply to `caller`; `None` stands for any caller with the role.
    pub fn grants<'a>(&'a self, tool: &'a str, caller: Option<&'a str>) -> impl Iterator<Item = &'a Grant> {
        self.grants.iter().filter(move |grant| grant.tool == tool && grant.is_for(caller))
    }

    /// Whether a grant names `caller`, so that it can have tools beyond its role.
    pub fn names(&self, caller: &str) -> bool {
        self.grants.iter().any(|grant| grant.callers.iter().any(|one| one == caller))
    }

    /// Whether `caller` has the tool's role, or a grant that names it.
    pub fn has_role(&self, meta: &Declaration<'_>, caller: &Caller) -> bool {
        caller.role >= meta.role
            || self.grants(meta.name, Some(&caller.principal)).any(|grant| !grant.callers.is_empty())
    }

    /// Whether the tool's namespace is on, for `caller`.
    pub fn has_namespace(&self, meta: &Declaration<'_>, caller: Option<&str>) -> bool {
        self.has_namespace_without_grant(meta) || self.grants(meta.name, caller).next().is_some()
    }

    /// Whether the tool's namespace is on for everybody.
    pub(super) fn has_namespace_without_grant(&self, meta: &Declaration<'_>) -> bool {
        meta.tier == Tier::Fundamental || self.enabled.contains(meta.namespace())
    }

    /// Whether a tool is off because part of the configuration was not understood.
    pub fn is_restricted(&self, meta: &Declaration<'_>) -> bool {
        let recovers = self.recovers && RECOVERY.contains(&meta.name);
        self.restricted && meta.tier != Tier::Fundamental && !recovers
    }

    /// The entries of `policy` and `tools.disable`.
    pub fn words(&self) -> Words<'_> {
        Words { modes: &self.modes, disabled: &self.disabled }
    }

    /// Whether the answer of `reader`, a tool or an endpoint, has the part that `action` reads.
    ///
    /// # Panics
    /// In debug builds, if [`crate::actions::SHOWS`] does not have that part.
    pub fn shows(&self, reader: &str, action: &'static str) -> bool {
        debug_assert!(is_declared(reader, action), "{reader} does not declare {action}");
        self.words().lets(action)
    }

    /// The mode from the configuration, or the tool's own default. For a tool whose calls differ, that of the least
    /// restricted call.
    pub fn mode(&self, meta: &Declaration<'_>) -> Mode {
        self.words().judge_mildest(meta.name, meta.mode).mode
    }

    /// Whether a call with these arguments runs, or needs an approval first. This depends on its actions, not only on
    /// its name.
    ///
    /// # Errors
    /// `permission_denied`, naming the entry that forbids it.
    pub fn judge(&self, meta: &Declaration<'_>, args: &Value) -> Result<Mode, ToolError> {
        let ruling = self.words().judge(meta.name, args, meta.mode);
        if ruling.mode != Mode::Deny {
            return Ok(ruling.mode);
        }
        Err(denied(meta, &ruling, &of_call(meta.name, args)).with("tool", meta.name))
    }

    /// Why a tool is off for everybody, or `None` when it is on.
    pub fn off(&self, meta: &Declaration<'_>) -> Option<ToolError> {
        self.off_for(meta, None)
    }

    /// As [`Policy::off`], for one caller, which a grant may name.
    pub fn off_for(&self, meta: &Declaration<'_>, caller: Option<&str>) -> Option<ToolError> {
        let name = meta.name;
        let mildest = self.words().judge_mildest(name, meta.mode);
        let error = if self.disabled.contains(name) || self.disabled.contains(meta.namespace()) {
            ToolError::denied(format!("{name} is switched off by the configuration (tools.disable)"))
        } else if self.is_restricted(meta) {
            ToolError::denied(format!("{name} is off: part of the configuration was not understood"))
                .hint("manage.get_server_status lists the faults; mend the fragment and restart the server")
        } else if !self.has_namespace(meta, caller) {
            ToolError::denied(format!("{name} changes this device and its namespace is not enabled")).hint(format!(
                "the owner opens it with `raspi-mcp allow {name}`, or all of its namespace with tools.enable"
            ))
        } else if !meta.environments.contains(&self.environment) {
            ToolError::denied(format!("{name} does not run in environment {:?}", self.environment))
        } else if mildest.mode == Mode::Deny {
            denied(meta, &mildest, &Does::of(name).map_or_else(Vec::new, Does::all))
        } else {
            return None;
        };
        Some(error.with("tool", name))
    }

    /// Checks whether this caller may use this tool at all.
    ///
    /// # Errors
    /// `permission_denied` with `details.tool`, and `required_role` when the role is missing.
    pub fn admit(&self, meta: &Declaration<'_>, caller: &Caller) -> Result<(), ToolError> {
        if !self.has_role(meta, caller) {
            let (name, needs, has) = (meta.name, meta.role.name(), caller.role.name());
            return Err(ToolError::denied(format!("{name} needs role {needs}; this caller is {has}"))
                .with("tool", name)
                .with("required_role", needs)
                .with("role", has)
                .hint(way::to_a_role(caller, meta.role)));
        }
        self.off_for(meta, Some(&caller.principal)).map_or(Ok(()), Err)
    }
}

/// The error for a denied call with these `actions`.
fn denied(meta: &Declaration<'_>, ruling: &Ruling<'_>, actions: &[&str]) -> ToolError {
    let (name, source) = (meta.name, ruling.source());
    let error = match source.as_ref().filter(|_| ruling.name != Some(name)) {
        None => ToolError::denied(format!("{name} is denied by policy"))
            .hint(format!("the owner can set policy.\"{name}\" to \"ask\" in the configuration of both halves")),
        Some(source) => {
            ToolError::denied(format!("{name} is denied: it does {}, and {source} forbids that", actions.join(", ")))
                .hint("the owner can change that line in the configuration of both halves; `raspi-mcp tools --policy` shows what it holds for")
        }
    };
    error.with("decided_by", source.unwrap_or_else(|| "default".into()))
}
