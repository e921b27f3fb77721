//! `system.get_capabilities`: what this machine has and which tools can use it (docs/contract/system.md).

use super::modules::{self, ProbeResult};
use crate::{
    registry::{context::Context, entry::Entry, tool::Tool},
    services::Services,
    tools::none::NoArgs,
};
use agent::operations::status::GetStatus;
use base::error::ToolError;
use contract::meta::{Declaration, Meta, Stability};
use hw::{
    board::Board,
    model::{BoardKind, BootMethod},
};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

#[derive(Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Capabilities {
    board: BoardOut,
    /// By name: gpio, pwm, i2c, camera, systemd, network_manager, temperature, throttling, agent.
    modules: BTreeMap<&'static str, ModuleOut>,
    /// By name, every tool this caller's role could use.
    tools: BTreeMap<String, ToolOut>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(deny_unknown_fields, inline)]
struct BoardOut {
    kind: BoardKind,
    model: String,
    simulated: bool,
    /// Why it was taken for that kind.
    reason: String,
    /// What is known about the model; absent for boards that are no known Raspberry Pi.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "ProfileOut")]
    profile: Option<ProfileOut>,
    /// Memory the board was built with, from its revision code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u32")]
    memory_mib: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    manufacturer: Option<&'static str>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(deny_unknown_fields, inline)]
struct ProfileOut {
    name: &'static str,
    soc: &'static str,
    boot_flow: BootMethod,
    /// GPIO numbers that hardware PWM can drive.
    #[schemars(inner(range(max = 27)))]
    pwm_gpios: Vec<u8>,
    /// I2C buses on the header.
    i2c_buses: Vec<u8>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(deny_unknown_fields, inline)]
struct ModuleOut {
    /// The machine has it.
    available: bool,
    /// It is there and at least one tool that uses it is on for this caller.
    enabled: bool,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    devices: Vec<String>,
    /// Why it is not available or not enabled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    reason: Option<String>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(deny_unknown_fields, inline)]
struct ToolOut {
    enabled: bool,
    #[schemars(extend("enum" = ["alpha", "beta", "stable"]), with = "String")]
    stability: Stability,
    #[schemars(range(min = 1))]
    schema_version: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    reason: Option<String>,
}

fn board(board: &Board) -> BoardOut {
    // A code of unknown form cannot be interpreted; system.get_basic_info shows it unchanged.
    let revision = board.decoded_revision().and_then(Result::ok);
    BoardOut {
        kind: board.kind,
        model: board.model.clone(),
        simulated: board.is_simulated(),
        reason: board.reason.clone(),
        profile: board.profile.map(|profile| ProfileOut {
            name: profile.name,
            soc: profile.soc,
            boot_flow: profile.boot_flow,
            pwm_gpios: profile.pwm.iter().map(|pwm| pwm.gpio).collect(),
            i2c_buses: profile.i2c.iter().map(|i2c| i2c.bus).collect(),
        }),
        memory_mib: revision.and_then(|revision| revision.memory_mib),
        manufacturer: revision.and_then(|revision| revision.manufacturer),
    }
}

/// Whether the agent answers.
async fn agent(services: &Services) -> Result<ProbeResult, String> {
    match services.agent.get::<GetStatus>().await {
        Ok(_) => Ok(ProbeResult { devices: vec![services.settings.places.agent_socket.display().to_string()] }),
        Err(error) => Err(error.into_message()),
    }
}

/// Each module's name with its devices, or why it is missing.
pub type Present = Vec<(&'static str, Result<Vec<String>, String>)>;

/// The part of the answer that can change while the server runs.
pub async fn present(services: &Services) -> Present {
    let probed = modules::MODULES.iter().map(|each| (each.name, (each.probe)(&services.machine)));
    let through_agent = [("agent", agent(services).await)];
    probed.chain(through_agent).map(|(name, found)| (name, found.map(|found| found.devices))).collect()
}

async fn read(cx: &Context) -> Capabilities {
    let services = &cx.services;
    let tools = cx.registry.tools();
    // What only calls other tools uses no module.
    let users = || tools.newest().filter(|entry| !entry.carries());
    let refusal = |entry: &Entry| {
        let policy = services.policy.held();
        let lacks = || entry.lacks(services, &policy, &cx.caller);
        policy.admit(&entry.meta(), &cx.caller).err().or_else(lacks)
    };
    let module = |found: Result<ProbeResult, String>, whose: &str, uses: &dyn Fn(&Declaration<'_>) -> bool| {
        let mut users = users().filter(|entry| uses(&entry.meta())).peekable();
        let (exist, enabled) = (users.peek().is_some(), users.any(|entry| refusal(entry).is_none()));
        match found {
            Err(reason) => ModuleOut { available: false, enabled: false, devices: Vec::new(), reason: Some(reason) },
            Ok(found) => {
                let reason = match (exist, enabled) {
                    (false, _) => Some(format!("this version has no {whose}")),
                    (true, false) => Some(format!("all {whose} are off for this caller")),
                    (true, true) => None,
                };
                ModuleOut { available: true, enabled, devices: found.devices, reason }
            }
        }
    };
    let tool = |entry: &Entry| {
        let (meta, refusal) = (entry.meta(), refusal(entry));
        ToolOut {
            enabled: refusal.is_none(),
            stability: meta.stability,
            schema_version: meta.schema_version,
            reason: refusal.map(|error| error.into_message()),
        }
    };
    let probed = modules::MODULES.iter().map(|each| {
        let whose = format!("{}.* tools", each.namespace);
        (each.name, module((each.probe)(&services.machine), &whose, &|meta| meta.namespace() == each.namespace))
    });
    let through_agent = module(agent(services).await, "tools that change the machine", &|meta| meta.effect.is_write());
    Capabilities {
        board: board(&services.machine.board),
        modules: base::sort::map(probed.chain([("agent", through_agent)])),
        tools: base::sort::map(
            tools
                .newest()
                .filter(|entry| entry.meta().role <= cx.caller.role)
                .map(|entry| (entry.name().to_owned(), tool(entry))),
        ),
    }
}

pub struct GetCapabilities;

impl Tool for GetCapabilities {
    type Args = NoArgs;
    type Out = Capabilities;
    const META: Meta = Meta {
        name: "system.get_capabilities",
        title: "Capabilities",
        description: "What hardware and services this machine has, and which tools are on.\n\nUse when: before work with them, or when a tool is refused.\n\nReturns: board, modules or why one is missing, tools you may call.",
        estimated_tokens: 700,
        tags: &["system", "hardware", "discovery"],
        resource_uri: Some("raspi://capabilities"),
        ..Meta::READ
    };

    async fn call(cx: &Context, _: NoArgs) -> Result<Capabilities, ToolError> {
        if cx.services.machine.board.is_simulated() {
            cx.notes.simulated();
        }
        Ok(read(cx).await)
    }
}
