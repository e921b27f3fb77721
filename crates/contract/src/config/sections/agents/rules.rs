//! Rules between the agents, and between their fields.

use super::{AgentKind, AgentStart, AgentType, MOST};
use crate::config::{settings::Settings, words::NAMESPACES};
use std::collections::BTreeMap;

/// The agent types that dbus-mcp has built in: views of this server's own tools.
pub const VIEWS: [&str; 5] = ["systemd", "file", "network", "process", "exec"];

/// The names of dbus-mcp's tools. No other tool may be called so, in any spelling.
pub const DBUS_MCP_TOOLS: [&str; 16] = [
    "systemd_status",
    "systemd_start",
    "systemd_stop",
    "systemd_restart",
    "systemd_logs",
    "systemd_logs_stream",
    "file_read",
    "file_write",
    "file_list",
    "file_delete",
    "network_interfaces",
    "network_connections",
    "network_connect",
    "process_list",
    "process_kill",
    "exec_command",
];

/// Namespaces that are not in the list of those that configuration may open, and first parts of MCP's methods.
const RESERVED: [&str; 13] = [
    "tools",
    "resources",
    "prompts",
    "completion",
    "logging",
    "notifications",
    "roots",
    "sampling",
    "elicitation",
    "tasks",
    "server",
    "initialize",
    "ping",
];

/// The violated rules of `agents`.
pub fn faults(settings: &Settings) -> Vec<String> {
    let mut faults = Vec::new();
    let mut spelled: BTreeMap<String, String> = BTreeMap::new();
    let mut seen: Vec<&str> = Vec::new();
    for agent in &settings.agents {
        let name = agent.name.as_str();
        if NAMESPACES.iter().chain(&VIEWS).chain(&RESERVED).any(|taken| *taken == name) {
            faults.push(format!("agents: the type \"{name}\" is taken by raspi-mcp itself; call it otherwise"));
        }
        if seen.contains(&name) {
            faults.push(format!("agents: there is a type \"{name}\" already; types must differ"));
        }
        seen.push(name);
        for tool in agent.tools.keys() {
            let (dotted, written) = (format!("{name}.{tool}"), format!("{name}_{tool}"));
            if DBUS_MCP_TOOLS.contains(&written.as_str()) {
                faults.push(format!("agents: {dotted} would be spelled {written}, which is a tool of dbus-mcp"));
            }
            if let Some(other) = spelled.insert(written.clone(), dotted.clone()) {
                faults.push(format!("agents: {dotted} and {other} are both spelled {written}; rename one"));
            }
        }
        faults.extend(of_kind(agent).into_iter().map(|why| format!("agents: {name}: {why}")));
    }
    let all: usize = settings.agents.iter().map(|agent| agent.instances).sum();
    if all > MOST {
        faults.push(format!("agents: {all} instances of all types together; at most {MOST} can run at once"));
    }
    faults
}

/// What an agent of this kind needs, and what would have no effect.
fn of_kind(agent: &AgentType) -> Vec<String> {
    let mut faults = Vec::new();
    let is_command = agent.kind == AgentKind::Command;
    if is_command && agent.start != AgentStart::Demand {
        faults.push("a command runs when it is called; leave start out".to_owned());
    }
    if agent.start_seconds != super::ten() && (is_command || agent.start == AgentStart::Never) {
        faults.push("raspi-mcp waits for no start of it; leave start_seconds out".to_owned());
    }
    if !is_command && agent.instances > 1 {
        faults.push("one program of a type stays at once; leave instances out, or declare another type".into());
    }
    if agent.start == AgentStart::Never {
        if agent.kind != AgentKind::Dbus {
            faults.push("only an agent of kind \"dbus\" can come by itself; start is \"demand\" or \"boot\"".into());
        }
        let of_unit = agent.network || !agent.writable.is_empty() || !agent.env.is_empty();
        if of_unit || agent.memory_mb != super::hundred() || agent.tasks != super::many() {
            faults.push(
                "with start = \"never\" its unit is yours; leave env, memory_mb, tasks, network and writable out"
                    .into(),
            );
        }
    }
    for (tool, declared) in &agent.tools {
        let own = declared.description.is_some() || !declared.input.is_null() || !declared.output.is_null();
        if is_command && (declared.description.is_none() || declared.input.is_null()) {
            faults.push(format!("the tool {tool} of a command needs description and input"));
        } else if !is_command && own {
            faults.push(format!("the tool {tool} describes itself; leave description, input and output out"));
        }
    }
    faults
}
