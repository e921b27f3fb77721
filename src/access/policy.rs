//! The server half's policy: which tools are on, for whom, and which ask a person first.
//!
//! The agent half has a copy of its own (`agent/policy.rs`) and does not trust this one.

use crate::{
    access::{caller::Caller, way},
    config::Settings,
    error::ToolError,
    registry::{
        actions::{Does, Ruling, Words, of_call},
        meta::{Environment, Meta, Mode, Role, Tier},
    },
};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// Decisions per tool, made once at start from the configuration.
#[derive(Clone, Debug)]
pub struct Policy {
    pub environment: Environment,
    /// Namespaces whose write tiers are on.
    pub enabled: BTreeSet<String>,
    /// Tools or namespaces that are off.
    pub disabled: BTreeSet<String>,
    /// What the configuration says about tools and actions.
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

    /// What the configuration says.
    pub fn words(&self) -> Words<'_> {
        Words { modes: &self.modes, disabled: &self.disabled }
    }

    /// Allow, ask or deny, from the configuration or the tool's declaration; of a tool whose calls differ, for the mildest.
    pub fn mode(&self, meta: &Meta) -> Mode {
        self.words().judge_mildest(meta.name, meta.mode).mode
    }

    /// Whether a call with these arguments runs, or a person is asked first: by what it does, not by its name.
    ///
    /// # Errors
    /// `permission_denied` naming the word that stands in the way.
    pub fn judge(&self, meta: &Meta, args: &Value) -> Result<Mode, ToolError> {
        let ruling = self.words().judge(meta.name, args, meta.mode);
        if ruling.mode != Mode::Deny {
            return Ok(ruling.mode);
        }
        Err(denied(meta, &ruling, &of_call(meta.name, args)).with("tool", meta.name))
    }

    /// Why a tool is off for everybody, or `None` when it is on.
    pub fn off(&self, meta: &Meta) -> Option<ToolError> {
        let name = meta.name;
        let mildest = self.words().judge_mildest(name, meta.mode);
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
        } else if mildest.mode == Mode::Deny {
            denied(meta, &mildest, &Does::of(name).map_or_else(Vec::new, Does::all))
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
        self.admit_role(meta, caller.role).map_err(|refusal| match refusal.hint {
            None if caller.role < meta.role => refusal.hint(way::to_a_role(caller, meta.role)),
            _ => refusal,
        })
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
                .with("role", has));
        }
        self.off(meta).map_or(Ok(()), Err)
    }
}

/// The refusal of a call that does `actions`.
fn denied(meta: &Meta, ruling: &Ruling<'_>, actions: &[&str]) -> ToolError {
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
