//! Hints on how to resolve a refusal, by the caller's transport: a stdio client has no tokens, an HTTP client no
//! terminal.

use super::caller::{Caller, Transport};
use crate::meta::Role;
use serde_json::{Map, Value};

/// How this caller can get role `needed`.
pub fn to_a_role(caller: &Caller, needed: Role) -> String {
    let role = needed.name();
    match caller.transport {
        Transport::Stdio => format!(
            "the role of a stdio client is that of `raspi-mcp serve --stdio --role {role}`, or access.stdio_role in the \
             configuration; its owner can change it"
        ),
        Transport::Unix => {
            "on the unix socket root and the members of access.admin_group are admin, everybody else is read_only; \
                       the owner can add this user to the group"
                .to_owned()
        }
        Transport::Dbus => format!(
            "on the bus root and the members of access.admin_group are admin; the owner can give this user {role} in dbus.roles"
        ),
        Transport::Http | Transport::Ws => match caller.principal.split_once(':') {
            Some(("jwt", _)) => format!("the issuer of your token has to put {role} into its role claim"),
            Some(_) => format!(
                "connect with a token of that role: the owner makes one with `raspi-mcp token make --role {role}`"
            ),
            None => format!(
                "callers of this machine without a token have access.loopback_role; connect with a token of that role \
                 (`raspi-mcp token make --role {role}`)"
            ),
        },
    }
}

/// The source of this caller's role.
pub fn role_of(caller: &Caller) -> String {
    match (caller.transport, caller.principal.split_once(':')) {
        (Transport::Stdio, _) => "access.stdio_role".into(),
        (Transport::Unix, _) => "access.admin_group".into(),
        (Transport::Dbus, _) => "access.admin_group or dbus.roles".into(),
        (_, Some(("jwt", _))) => "the role claim of its token".into(),
        (_, Some((_, name))) => format!("the role of token {name}"),
        (_, None) => "access.loopback_role".into(),
    }
}

/// How the owner opens a tool with `command`.
pub fn to_open(caller: &Caller, command: &str) -> String {
    format!("{}; nothing has to be restarted", to_run(caller, command))
}

/// As [`to_open`], for cases where the command alone is not enough.
pub fn to_run(caller: &Caller, command: &str) -> String {
    let at = match caller.transport {
        Transport::Stdio | Transport::Unix | Transport::Dbus => "in a terminal on this device",
        Transport::Http | Transport::Ws => "on the device, at its console or over ssh",
    };
    format!("the owner opens it with `{command}`, run {at} (as root where raspi-mcp is installed)")
}

/// How a person approves the ask `id`.
pub fn to_an_approval(caller: &Caller, id: &str) -> String {
    let at = match caller.transport {
        Transport::Stdio | Transport::Unix | Transport::Dbus => "in a terminal on this device",
        Transport::Http | Transport::Ws => "on the device, at its console or over ssh",
    };
    format!("tell the person to run `raspi-mcp approve {id}` {at}, then make the same call again")
}

/// How this caller can get a change of the configuration; `change` describes it.
pub fn to_the_configuration(caller: &Caller, change: &str) -> String {
    match caller.transport {
        Transport::Stdio => {
            format!("the owner can {change} in the configuration that this server is started with, and start it again")
        }
        _ => format!("the owner of this machine can {change} in /etc/raspi-mcp and restart raspi-mcp"),
    }
}

/// How this caller can get a pin that another one has; `details` has the holder and the remaining time.
pub fn to_a_lent_pin(caller: &Caller, details: &Map<String, Value>) -> String {
    let holder = details.get("lent_to").and_then(Value::as_str).unwrap_or("its holder");
    let pin = details.get("pin").and_then(Value::as_u64).unwrap_or_default();
    let who = if holder == caller.principal { "another connection of yours".to_owned() } else { holder.to_owned() };
    let end = match details.get("free_in_seconds").and_then(Value::as_u64) {
        Some(seconds) => format!("wait {seconds} s, when the lease of {who} ends unless it is used"),
        None => format!("wait until the connection of {who} ends"),
    };
    let force = if caller.role >= Role::Admin {
        format!("end the lease with gpio.release_pin {{\"pin\": {pin}, \"force\": true}}")
    } else {
        "ask an administrator to end the lease".to_owned()
    };
    format!("have {who} call gpio.release_pin, or {end}, or {force}")
}
