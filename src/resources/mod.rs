//! `raspi://…`: answers of tools under addresses that a client can keep, embed and subscribe to.
//!
//! A resource has no data or rights of its own: reading it runs the tool behind it, as the caller, through the same
//! pipeline. Role, policy, rate limit, redaction and audit therefore apply as for the tool.

pub mod address;
mod asks;
pub mod change;
pub mod notifier;
mod pins;
mod services;
pub mod subscription;
pub mod subscriptions;

pub use address::ResourceAddress;

use crate::registry::{Registry, entry::Entry, pipeline::Pipeline};
use base::error::ToolError;
use contract::access::caller::Caller;
use std::sync::Arc;

/// One resource: its address, and the tool whose answer it holds.
#[derive(Debug)]
pub struct Resource {
    /// Its address without a query; one `{name}` in it is a variable part. The tool names the same in
    /// [`contract::meta::Declaration::resource_uri`].
    pub uri: &'static str,
    pub tool: &'static str,
    pub description: &'static str,
    /// The tool's argument that the variable part gives.
    pub which: Option<Parameter>,
    /// Arguments of the tool that the query may give, under the same names.
    pub parameters: &'static [Parameter],
    /// The media type of its content; `None` if each item has its own.
    pub mime: Option<&'static str>,
    /// How long a client may cache it, in milliseconds (2026-07-28, `ttlMs`).
    pub ttl_ms: u64,
    pub source: UpdateTrigger,
}

/// One argument that the address may give.
#[derive(Clone, Copy, Debug)]
pub struct Parameter {
    pub name: &'static str,
    /// Passed to the tool as a number; otherwise as text.
    pub number: bool,
    /// Whether it may have `/` in it, as it is.
    pub path: bool,
}

/// What triggers notifications of a resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UpdateTrigger {
    /// Compared every [`notifier::EVERY`] while there are subscribers.
    Health,
    /// As health.
    Capabilities,
    /// Each line of the server's log.
    Log,
    /// Each record of the audit that the subscriber may see, except records of reading the audit: otherwise a client
    /// that reads at every change would trigger the next change.
    Audit,
    /// Each change of that service reported by systemd, while there are subscribers.
    Service,
    /// Each edge of an input and each change by a tool, while there are subscribers.
    Pin,
    /// As [`UpdateTrigger::Pin`], of any pin that the subscriber may read.
    Pins,
    /// What arrives at that serial port while it is open, and its end.
    Serial,
    /// Each step of an update, and the result of its trial.
    Update,
    /// Each sample that a job takes.
    Samples,
    /// Asks that open, are answered or expire; the halt; and which tokens and grants there are.
    Server,
    /// It never changes, or nothing tells this machine that it has.
    Nowhere,
}

/// The resource behind log messages: callers that may not read it do not receive them either.
pub const LOG: &str = "raspi://logs/app";

/// Whether this caller may read the resource at `uri`, and be sent what changes there.
pub fn admits(uri: &str, pipeline: &Pipeline, caller: &Caller) -> bool {
    let admitted = |address: &ResourceAddress| address.resource.admit(pipeline, caller).is_ok();
    ResourceAddress::parse(uri).is_ok_and(|address| admitted(&address) && may_be_sent(&address, pipeline))
}

/// Whether nobody has to be asked before news are sent: those of the log are its lines.
pub fn may_be_sent(address: &ResourceAddress, pipeline: &Pipeline) -> bool {
    address.resource.source != UpdateTrigger::Log || pipeline.services.policy.get().words().lets("logs:app")
}

const fn text(name: &'static str) -> Parameter {
    Parameter { name, number: false, path: false }
}
const fn number(name: &'static str) -> Parameter {
    Parameter { name, number: true, path: false }
}

const JSON: &str = "application/json";

/// Every resource, in the order they are listed.
pub static RESOURCES: &[Resource] = &[
    Resource {
        uri: "raspi://health",
        tool: "system.get_health_snapshot",
        description: "How the machine is now: load, memory, disk, temperature, power, traffic.",
        which: None,
        parameters: &[],
        mime: Some(JSON),
        ttl_ms: 1000,
        source: UpdateTrigger::Health,
    },
    Resource {
        uri: "raspi://capabilities",
        tool: "system.get_capabilities",
        description: "What hardware and services the machine has, and which tools are on for you.",
        which: None,
        parameters: &[],
        mime: Some(JSON),
        ttl_ms: 10_000,
        source: UpdateTrigger::Capabilities,
    },
    Resource {
        uri: "raspi://audit",
        tool: "logs.get_recent_audit_logs",
        description: "The newest calls: who, what, how it ended. Below role admin only your own.",
        which: None,
        parameters: &[text("tool"), text("outcome"), number("limit"), number("offset")],
        mime: Some(JSON),
        ttl_ms: 0,
        source: UpdateTrigger::Audit,
    },
    Resource {
        uri: "raspi://logs/app",
        tool: "logs.get_recent_app_logs",
        description: "The newest lines of this server's own log, without secrets.",
        which: None,
        parameters: &[text("level"), number("limit"), number("offset")],
        mime: Some(JSON),
        ttl_ms: 0,
        source: UpdateTrigger::Log,
    },
    Resource {
        uri: "raspi://service/{name}",
        tool: "service.get_status",
        description: "One service: its state, process, files, commands and dependencies.",
        which: Some(text("service_name")),
        parameters: &[],
        mime: Some(JSON),
        ttl_ms: 1000,
        source: UpdateTrigger::Service,
    },
    Resource {
        uri: "raspi://gpio",
        tool: "gpio.list_pins",
        description: "The pins of the header that may be used: levels, modes and holders.",
        which: None,
        parameters: &[],
        mime: Some(JSON),
        ttl_ms: 0,
        source: UpdateTrigger::Pins,
    },
    Resource {
        uri: "raspi://gpio/{pin}",
        tool: "gpio.read_pin",
        description: "One pin of the header: its level, mode and holder.",
        which: Some(number("pin")),
        parameters: &[],
        mime: Some(JSON),
        ttl_ms: 0,
        source: UpdateTrigger::Pin,
    },
    Resource {
        uri: "raspi://serial/{port}",
        tool: "serial.list_ports",
        description: "One serial port: for whom it is open, and what waits there for serial.read.",
        which: Some(text("port")),
        parameters: &[],
        mime: Some(JSON),
        ttl_ms: 0,
        source: UpdateTrigger::Serial,
    },
    Resource {
        uri: "raspi://update",
        tool: "manage.get_update_status",
        description: "How far an update is, both slots, and how the last update ended.",
        which: None,
        parameters: &[],
        mime: Some(JSON),
        ttl_ms: 0,
        source: UpdateTrigger::Update,
    },
    Resource {
        uri: "raspi://sampling",
        tool: "metrics.list_sampling_jobs",
        description: "The sampling jobs, and how far each has come.",
        which: None,
        parameters: &[],
        mime: Some(JSON),
        ttl_ms: 0,
        source: UpdateTrigger::Samples,
    },
    Resource {
        uri: "raspi://server",
        tool: "manage.get_server_status",
        description: "This server: calls that wait for a person, tokens and grants, the halt, settings.",
        which: None,
        parameters: &[],
        mime: Some(JSON),
        ttl_ms: 0,
        source: UpdateTrigger::Server,
    },
    Resource {
        uri: "raspi://camera/photos/{name}",
        tool: "camera.get_photo",
        description: "One photo that camera.take_photo has kept.",
        which: Some(text("name")),
        parameters: &[],
        mime: None,
        // A photo never changes.
        ttl_ms: 3_600_000,
        source: UpdateTrigger::Nowhere,
    },
    Resource {
        uri: "raspi://docs/{path}",
        tool: "vector.get_page",
        description: "One page of the manual, such as claim.md or contract/errors.md.",
        which: Some(Parameter { name: "path", number: false, path: true }),
        parameters: &[],
        mime: Some("text/markdown"),
        // It changes with the program.
        ttl_ms: 3_600_000,
        source: UpdateTrigger::Nowhere,
    },
    of_router(
        "raspi://routeros/{device_id}/overview",
        "routeros.get_system_overview",
        "What a router is and how it is.",
        5_000,
    ),
    of_router(
        "raspi://routeros/{device_id}/packages",
        "routeros.get_system_packages",
        "The packages of a router.",
        60_000,
    ),
    Resource {
        which: Some(text("plan_id")),
        ..of_router(
            "raspi://routeros/plans/{plan_id}",
            "routeros.get_plan_details",
            "A plan for routers: changes, state, job.",
            1_000,
        )
    },
    Resource {
        which: Some(text("snapshot_id")),
        parameters: &[number("limit"), number("offset")],
        // It never changes.
        ..of_router(
            "raspi://routeros/snapshots/{snapshot_id}",
            "routeros.get_snapshot_content",
            "The configuration of a router before or after a plan.",
            3_600_000,
        )
    },
    Resource {
        mime: Some("text/plain"),
        parameters: &[text("topic")],
        ..of_router(
            "raspi://routeros/{device_id}/export",
            "routeros.get_config_snapshot",
            "The configuration of a router, without secrets.",
            5_000,
        )
    },
    Resource {
        parameters: &[number("limit"), text("message")],
        ..of_router(
            "raspi://routeros/{device_id}/log",
            "routeros.get_recent_logs",
            "The log of a router, the newest line first.",
            1_000,
        )
    },
];

/// Of a router: there where routers are configured.
const fn of_router(uri: &'static str, tool: &'static str, description: &'static str, ttl_ms: u64) -> Resource {
    Resource {
        uri,
        tool,
        description,
        which: Some(text("device_id")),
        parameters: &[],
        mime: Some(JSON),
        ttl_ms,
        source: UpdateTrigger::Nowhere,
    }
}

impl Resource {
    /// The address before its variable part.
    pub fn base(&self) -> &'static str {
        self.uri.split_once('{').map_or(self.uri, |(base, _)| base)
    }

    /// The address behind its variable part.
    pub fn end(&self) -> &'static str {
        self.uri.split_once('}').map_or("", |(_, end)| end)
    }

    /// The name of the variable part.
    pub fn variable(&self) -> Option<&'static str> {
        Some(self.uri.split_once('{')?.1.split_once('}')?.0)
    }

    /// The URI template of this resource (RFC 6570), if it takes parameters.
    pub fn template(&self) -> Option<String> {
        let names: Vec<&str> = self.parameters.iter().map(|parameter| parameter.name).collect();
        match (names.is_empty(), self.which) {
            (true, None) => None,
            (true, Some(_)) => Some(self.uri.to_owned()),
            (false, _) => Some(format!("{}{{?{}}}", self.uri, names.join(","))),
        }
    }

    /// The tool behind it, in this server's registry.
    ///
    /// # Errors
    /// `not_found` if the server is built without it.
    pub fn entry(&self, registry: &Registry) -> Result<Arc<Entry>, ToolError> {
        let found = registry.resolve(self.tool).map(|(entry, _)| entry);
        found.map_err(|_| ToolError::not_found(format!("this server has no {}", self.tool)).with("resource", self.uri))
    }

    /// The tool, if this caller may use it; otherwise the resource is not listed.
    ///
    /// # Errors
    /// As [`Resource::entry`], and `permission_denied`.
    pub fn admit(&self, pipeline: &Pipeline, caller: &Caller) -> Result<Arc<Entry>, ToolError> {
        let entry = self.entry(&pipeline.registry)?;
        pipeline.services.policy.get().admit(&entry.meta(), caller)?;
        Ok(entry)
    }
}
