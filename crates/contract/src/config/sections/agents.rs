//! `[[agents]]`: programs that bring tools of their own, as the owner declares them (docs/agents.md).

mod check;
mod rules;

pub use rules::{DBUS_MCP_TOOLS, VIEWS, faults};

use crate::{
    config::{declare::choice, table_setting::TableSetting},
    meta::{Effect, Meta, Mode, Role, Tier},
};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::{collections::BTreeMap, path::PathBuf};

/// Maximum number of agents that run at once; dist/sysusers.d has an account for each.
pub const MOST: usize = 10;
/// The accounts are called by this name and a number from 0 to 9.
pub const AGENT_USER: &str = "raspi-mcp-agent-";
/// Maximum number of tools of a type.
pub const MOST_TOOLS: usize = 32;
/// Maximum bytes of a tool's descriptor.
pub const DESCRIPTOR_BYTES: usize = 8 * 1024;

choice! {
    /// How raspi-mcp talks to an agent.
    pub enum AgentKind {
        /// A program that runs once for each call: arguments as JSON on standard input, the result on standard output.
        Command = "command",
        /// An MCP server on standard input and output.
        Mcp = "mcp",
        /// A program on the system bus, with the interface `org.dbusmcp.Agent`.
        Dbus = "dbus",
    }
}

choice! {
    /// When an agent is started.
    pub enum AgentStart {
        /// At `agents.spawn`, or when one of its tools is called.
        Demand = "demand",
        /// When the server starts.
        Boot = "boot",
        /// By somebody else, under the account of this type: it comes and goes by itself. For kind `dbus`.
        Never = "never",
    }
}

/// A type of agents.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentType {
    /// The namespace of its tools.
    #[serde(rename = "type")]
    pub name: String,
    pub kind: AgentKind,
    /// The program's full path. Root's, like every folder on the way.
    pub program: PathBuf,
    #[serde(default)]
    pub args: Vec<String>,
    /// Variables of its environment, beside or in place of ours.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// More files and folders that belong to the program. With it and those among `args`, they are hashed.
    #[serde(default)]
    pub files: Vec<PathBuf>,
    #[serde(default = "demand")]
    pub start: AgentStart,
    /// From its start to its list of tools, in seconds.
    #[serde(default = "ten")]
    pub start_seconds: u32,
    /// How many run at once.
    #[serde(default = "one")]
    pub instances: usize,
    #[serde(default = "hundred")]
    pub memory_mb: u64,
    /// Processes and threads.
    #[serde(default = "many")]
    pub tasks: u64,
    /// Whether it has network access.
    #[serde(default)]
    pub network: bool,
    /// The folders that it may write.
    #[serde(default)]
    pub writable: Vec<PathBuf>,
    /// Its tools. What is not named here is not offered.
    pub tools: BTreeMap<String, AgentTool>,
}

/// A tool of an agent, as the owner lets it be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentTool {
    #[serde(default)]
    pub title: Option<String>,
    /// For kind `command`; the others say it themselves.
    #[serde(default)]
    pub description: Option<String>,
    pub tier: Tier,
    #[serde(default)]
    pub role: Option<Role>,
    #[serde(default)]
    pub policy: Option<Mode>,
    #[serde(default = "half_a_minute")]
    pub timeout_seconds: u32,
    /// JSON Schema of the arguments, for kind `command`.
    #[serde(default)]
    pub input: Value,
    /// JSON Schema of the result. Null: a text.
    #[serde(default)]
    pub output: Value,
}

impl AgentTool {
    /// What a tool of its tier is, with what the owner set.
    pub fn meta(&self) -> Meta {
        let of_tier = match self.tier {
            Tier::Fundamental => Meta::READ,
            Tier::Advanced => Meta { effect: Effect::Write { destructive: true, idempotent: false }, ..Meta::WRITE },
            Tier::Professional => Meta::RISKY,
        };
        Meta {
            role: self.role.unwrap_or(of_tier.role),
            mode: self.policy.unwrap_or(of_tier.mode),
            timeout_seconds: self.timeout_seconds,
            open_world: true,
            // It is as long as the owner says, and does not take the place of a short call.
            long: true,
            ..of_tier
        }
    }
}

/// The number of the first account of this type; each of its instances has one.
pub fn first_account(agents: &[AgentType], name: &str) -> usize {
    agents.iter().take_while(|agent| agent.name != name).map(|agent| agent.instances).sum()
}

/// The account of the first instance of this type.
pub fn account_of(agents: &[AgentType], name: &str) -> String {
    format!("{AGENT_USER}{}", first_account(agents, name))
}

/// Whether `tool` is one of an agent of kind `command`, whose calls the privileged half runs.
pub fn is_command(agents: &[AgentType], tool: &str) -> bool {
    of_tool(agents, tool).is_some_and(|agent| agent.kind == AgentKind::Command)
}

/// The agent that brings `tool`.
pub fn of_tool<'a>(agents: &'a [AgentType], tool: &str) -> Option<&'a AgentType> {
    let namespace = tool.split_once('.').map_or(tool, |(namespace, _)| namespace);
    agents.iter().find(|agent| agent.name == namespace)
}

/// Whether `user` is an account that agents run as.
pub fn is_agent(user: &str) -> bool {
    user.strip_prefix(AGENT_USER)
        .is_some_and(|number| number.len() == 1 && number.bytes().all(|digit| digit.is_ascii_digit()))
}

/// Adds the modes of agents' tools to those of `policy`, which take precedence.
pub fn add_modes(modes: &mut BTreeMap<String, Mode>, agents: &[AgentType]) {
    for agent in agents {
        for (tool, declared) in &agent.tools {
            modes.entry(format!("{}.{tool}", agent.name)).or_insert(declared.meta().mode);
        }
    }
}

fn demand() -> AgentStart {
    AgentStart::Demand
}
fn one() -> usize {
    1
}
fn ten() -> u32 {
    10
}
fn hundred() -> u64 {
    100
}
fn many() -> u64 {
    32
}
fn half_a_minute() -> u32 {
    30
}

/// `agents`.
pub const AGENTS: TableSetting = TableSetting {
    key: "agents",
    noun: "agent",
    most: MOST,
    named: false,
    secret: false,
    required: &["type", "kind", "program", "tools"],
    optional: &[
        "args",
        "env",
        "files",
        "start (demand)",
        "start_seconds (10)",
        "instances (1)",
        "memory_mb (100)",
        "tasks (32)",
        "network (false)",
        "writable",
    ],
    check_field: check::check_field,
    example: "\
#[[agents]]
#type = \"greenhouse\"
#kind = \"command\"
#program = \"/opt/greenhouse/tool\"
#[agents.tools.moisture]
#tier = \"fundamental\"
#description = \"Measure the moisture of a bed, in percent.\"
#input = '{\"type\": \"object\", \"properties\": {\"bed\": {\"type\": \"integer\", \"minimum\": 1, \"maximum\": 4}}}'
",
};
