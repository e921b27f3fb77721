//! Tools as `tools/list` shows them. Each listing is made once per role and spelling, and kept as bytes.

use super::{
    Registry, ToolTable,
    compat::{self, Alias},
    entry::Entry,
    names::Naming,
};
use crate::services::Services;
use contract::{
    access::{caller::Caller, policy::Policy},
    config::{Profile, Settings},
    meta::{Declaration, Effect, Listing, Role},
    schema::projection,
};
use serde_json::{
    Value, json,
    value::{RawValue, to_raw_value},
};
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

/// `toolingVersion`: the build that answers (docs/contract/README.md). For debugging, not a compatibility gate.
pub const TOOLING_VERSION: &str = env!("CARGO_PKG_VERSION");

/// The descriptor that `schemas/<namespace>/<operation>.json` promises: everything that does not depend on the running server.
///
/// A tool whose arguments have more forms than are advertised has `accepts` beside `inputSchema`: the accepted schema of each
/// such property.
pub fn descriptor(entry: &Entry) -> Value {
    let meta = &entry.meta();
    let (advertised, accepts) = entry.advertised();
    let (read_only, destructive, idempotent) = match meta.effect {
        Effect::Read => (true, false, true),
        Effect::Write { destructive, idempotent } => (false, destructive, idempotent),
    };
    let mut extra = json!({
        "schemaVersion": meta.schema_version,
        "version": format!("{}.0.0", meta.schema_version),
        "topic": meta.namespace(),
        "tier": meta.tier,
        "required_role": meta.role,
        "auth_required": meta.role > Role::ReadOnly,
        "policy": meta.mode,
        "timeout_seconds": meta.timeout_seconds,
        "supports_dry_run": meta.dry_run,
        "supports_pagination": meta.paginated,
        "cache_ttl_seconds": meta.cache_seconds,
        "estimated_tokens": meta.estimated_tokens,
        "stability": meta.stability,
        "environments": meta.environments,
        "tags": meta.tags,
    });
    if meta.listing == Listing::Extra {
        extra["listing"] = json!(meta.listing);
    }
    if let Some(deprecated) = meta.deprecated {
        extra["deprecated"] = json!(true);
        extra["replacement_tool"] = json!(deprecated.replacement);
    }
    if let Some(uri) = meta.resource_uri {
        extra["resource_uri"] = json!(uri);
    }
    let mut descriptor = json!({
        "name": meta.name,
        "title": meta.title,
        "description": meta.description,
        "inputSchema": advertised,
        "accepts": accepts,
        "outputSchema": entry.output_schema(),
        "annotations": {
            "title": meta.title,
            "readOnlyHint": read_only,
            "destructiveHint": destructive,
            "idempotentHint": idempotent,
            "openWorldHint": meta.open_world,
        },
        "_meta": extra,
    });
    if let Some(fields) = descriptor.as_object_mut() {
        fields.retain(|name, value| match name.as_str() {
            "accepts" => *value != json!({}),
            "outputSchema" => !value.is_null(),
            _ => true,
        });
    }
    descriptor
}

/// What `tools/list` may be narrowed by (docs/contract/README.md).
#[derive(Clone, Debug, Default, PartialEq, serde::Deserialize)]
#[serde(deny_unknown_fields, expecting = "struct Filter")]
pub struct ListingFilter {
    pub names: Option<Vec<String>>,
    pub tags: Option<Vec<String>>,
    pub enabled: Option<bool>,
}

/// One tool, ready to send.
pub struct ListedTool {
    pub entry: Arc<Entry>,
    pub enabled: bool,
    /// Whether a list without a filter has it ([`Profile`]).
    pub shown: bool,
    pub json: Box<RawValue>,
    /// The name of another server that it is listed by.
    pub alias: Option<&'static Alias>,
}

impl ListedTool {
    /// The name it has in the listing, dotted if it is this server's.
    pub fn name(&self) -> &str {
        self.alias.map_or(self.entry.name(), |alias| alias.name)
    }
}

/// The limits that the listing reports and the pipeline enforces.
#[derive(Clone, Copy, Debug)]
pub struct CallLimits {
    pub reads_per_minute: u32,
    pub writes_per_minute: u32,
    pub request_timeout_seconds: u32,
}

impl CallLimits {
    pub fn per_minute(&self, entry: &Entry) -> u32 {
        if entry.meta().effect.is_write() { self.writes_per_minute } else { self.reads_per_minute }
    }
    /// Those of the configuration.
    pub fn of(limits: &contract::config::Limits) -> Self {
        Self {
            reads_per_minute: limits.reads_per_minute,
            writes_per_minute: limits.writes_per_minute,
            request_timeout_seconds: u32::try_from(limits.request_timeout_seconds).unwrap_or(u32::MAX),
        }
    }
    /// How long this tool may run, in seconds.
    pub fn timeout_seconds(&self, entry: &Entry) -> u32 {
        if entry.meta().long {
            entry.meta().timeout_seconds
        } else {
            entry.meta().timeout_seconds.min(self.request_timeout_seconds)
        }
    }
}

/// Role and spelling; for callers that a grant names also the caller. There are at most as many of those as grants.
type Key = (Role, Naming, Option<String>);

#[derive(Default)]
struct Made {
    /// What these were made from.
    of: Option<(Arc<Policy>, Arc<ToolTable>)>,
    listings: HashMap<Key, Arc<Vec<ListedTool>>>,
}

/// Listings by role and spelling, made on first use and anew when the policy or the tools have changed.
pub struct Listings {
    registry: Arc<Registry>,
    limits: CallLimits,
    made: Mutex<Made>,
}

impl Listings {
    pub fn new(registry: Arc<Registry>, limits: CallLimits) -> Self {
        Self { registry, limits, made: Mutex::default() }
    }

    /// Every tool this caller could ever use, in registry order; `enabled` says whether it can now.
    pub fn get(&self, services: &Services, caller: &Caller, naming: Naming) -> Arc<Vec<ListedTool>> {
        let (policy, tools) = (services.policy.get(), self.registry.tools());
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        let is_stale = |of: &(Arc<Policy>, Arc<ToolTable>)| !Arc::ptr_eq(&of.0, &policy) || !Arc::ptr_eq(&of.1, &tools);
        if made.of.as_ref().is_none_or(is_stale) {
            *made = Made { of: Some((Arc::clone(&policy), Arc::clone(&tools))), listings: HashMap::new() };
        }
        let named = policy.names(&caller.principal).then(|| caller.principal.clone());
        let listing = made.listings.entry((caller.role, naming, named));
        Arc::clone(listing.or_insert_with(|| Arc::new(self.make(&tools, &policy, caller, naming, services))))
    }

    fn make(
        &self,
        tools: &ToolTable,
        policy: &Policy,
        caller: &Caller,
        naming: Naming,
        services: &Services,
    ) -> Vec<ListedTool> {
        let settings = &services.settings;
        let permitted = tools.newest().filter(|entry| policy.has_role(&entry.meta(), caller));
        let mut listed: Vec<ListedTool> = permitted
            .map(|entry| {
                let enabled = policy.off_for(&entry.meta(), Some(&caller.principal)).is_none()
                    && entry.lacks(services, policy, caller).is_none();
                let mut value = at_run_time(policy, self.limits, entry, enabled);
                value["name"] = json!(naming.spell(entry.name()));
                if let Some(fields) = value.as_object_mut() {
                    fields.shift_remove("accepts");
                    if let Some(output) = fields.get_mut("outputSchema") {
                        *output = projection(output);
                    }
                }
                let shown = is_shown(settings, policy, &entry.meta(), caller);
                let json = to_raw_value(&value).expect("a JSON value serialises");
                ListedTool { entry: Arc::clone(entry), enabled, shown, json, alias: None }
            })
            .collect();
        // A tool that only calls other tools is listed only if there is an unlisted tool that it can call.
        let is_write = |tool: &ListedTool| tool.entry.meta().effect.is_write();
        let unlisted = [false, true]
            .map(|writes| listed.iter().any(|tool| !tool.shown && tool.enabled && is_write(tool) == writes));
        for carrier in listed.iter_mut().filter(|tool| tool.entry.carries()) {
            carrier.shown &= unlisted[usize::from(is_write(carrier))];
        }
        if settings.has_dbus_mcp() {
            listed.extend(
                compat::all().iter().filter_map(|alias| self.other(tools, policy, caller, alias)).collect::<Vec<_>>(),
            );
        }
        listed
    }

    /// A name of another server, if this caller could ever use its tool.
    fn other(&self, tools: &ToolTable, policy: &Policy, caller: &Caller, alias: &'static Alias) -> Option<ListedTool> {
        let entry = tools.newest().find(|entry| entry.name() == alias.tool)?;
        if !policy.has_role(&entry.meta(), caller) {
            return None;
        }
        let enabled = policy.off_for(&entry.meta(), Some(&caller.principal)).is_none();
        let mut value = at_run_time(policy, self.limits, entry, enabled);
        alias.dress(&mut value);
        let json = to_raw_value(&value).expect("a JSON value serialises");
        Some(ListedTool { entry: Arc::clone(entry), enabled, shown: true, json, alias: Some(alias) })
    }
}

/// Whether `tools/list` without a filter gives this tool to this caller. A tool that the owner has opened by name
/// (`raspi-mcp allow`) is listed for the callers it was opened for. A tool is not listed beside the name of another server that
/// has its meaning (`compat`).
pub fn is_shown(settings: &Settings, policy: &Policy, meta: &Declaration<'_>, caller: &Caller) -> bool {
    if settings.has_dbus_mcp() && compat::replaces(meta.name) {
        return false;
    }
    settings.tools.profile == Profile::All
        || meta.listing == Listing::Core
        || policy.grants(meta.name, Some(&caller.principal)).next().is_some()
}

/// The [`descriptor`] with what depends on this server and its configuration, and is therefore not in the schema files.
pub fn at_run_time(policy: &Policy, limits: CallLimits, entry: &Entry, enabled: bool) -> Value {
    let mut value = descriptor(entry);
    let extra = &mut value["_meta"];
    // As schema files, bare methods, policy and audit have it, whatever the form of the listed name.
    extra["name"] = json!(entry.name());
    extra["toolingVersion"] = json!(TOOLING_VERSION);
    extra["enabled"] = json!(enabled);
    extra["rate_limit"] = json!({ "calls_per_minute": limits.per_minute(entry) });
    // What is as declared is not said twice.
    let (seconds, mode) = (limits.timeout_seconds(entry), policy.mode(&entry.meta()));
    if seconds != entry.meta().timeout_seconds {
        extra["effective_timeout_seconds"] = json!(seconds);
    }
    if mode != entry.meta().mode {
        extra["effective_policy"] = json!(mode);
    }
    value
}

impl ListingFilter {
    /// Whether `listed` is wanted. Without `enabled`, only what can be called is shown; without any filter, only what the profile
    /// lists.
    pub fn wants(&self, listed: &ListedTool) -> bool {
        let asked_for = self.names.is_some() || self.tags.is_some() || self.enabled.is_some();
        let name = listed.name();
        let named = |names: &Vec<String>| {
            names.iter().any(|wanted| {
                wanted == name
                    || wanted.replacen(['_', '/'], ".", 1) == name
                    || listed.alias.is_none() && listed.entry.meta().namespace() == wanted
            })
        };
        self.enabled.unwrap_or(true) == listed.enabled
            && (listed.shown || asked_for)
            && self.names.as_ref().is_none_or(named)
            && self
                .tags
                .as_ref()
                .is_none_or(|tags| tags.iter().any(|tag| listed.entry.meta().tags.contains(&tag.as_str())))
    }
}
