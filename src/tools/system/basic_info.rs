//! `system.get_basic_info`: what this machine is (docs/contract/system.md).

use crate::{
    registry::{context::Context, tool::Tool},
    tools::none::NoArgs,
};
use base::{clock, error::ToolError};
use contract::meta::Meta;
use hw::machine::{Machine, unreadable};
use schemars::JsonSchema;
use serde::Serialize;

#[derive(Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct BasicInfo {
    hostname: String,
    /// The board's name, e.g. "Raspberry Pi 4 Model B Rev 1.4".
    model: String,
    /// As `uname -m` says it, e.g. "aarch64".
    cpu_arch: String,
    #[schemars(range(min = 1))]
    cpu_cores: u32,
    memory_total_bytes: u64,
    os_name: String,
    os_version: String,
    kernel_version: String,
    uptime_seconds: u64,
    /// The board's serial number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    serial: Option<String>,
    /// The Raspberry Pi revision code, hexadecimal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", regex(pattern = "^[0-9a-f]{4,8}$"))]
    board_revision: Option<String>,
    #[schemars(extend("format" = "date-time"))]
    timestamp: String,
}

fn read(machine: &Machine) -> Result<BasicInfo, ToolError> {
    let about = &machine.about;
    let fixed = about.fixed().map_err(|fault| unreadable("the description of this machine", &fault))?;
    Ok(BasicInfo {
        hostname: about.hostname().map_err(|fault| unreadable("the host name", &fault))?,
        model: machine.board.model.clone(),
        cpu_arch: fixed.architecture.clone(),
        cpu_cores: fixed.cores,
        memory_total_bytes: fixed.memory_total_bytes,
        os_name: fixed.os_name.clone(),
        os_version: fixed.os_version.clone(),
        kernel_version: fixed.kernel_release.clone(),
        uptime_seconds: about.uptime().map_err(|fault| unreadable("the uptime", &fault))?.as_secs(),
        serial: machine.board.serial.clone(),
        board_revision: machine.board.revision.clone(),
        timestamp: clock::now(),
    })
}

pub struct GetBasicInfo;

impl Tool for GetBasicInfo {
    type Args = NoArgs;
    type Out = BasicInfo;
    const META: Meta = Meta {
        name: "system.get_basic_info",
        title: "Basic information",
        description: "What this machine is.\n\nUse when: you need to know what you are talking to.\n\nReturns: host name, model, cores, memory, versions, uptime, serial.",
        estimated_tokens: 130,
        tags: &["system", "hardware"],
        ..Meta::READ
    };

    async fn call(cx: &Context, _: NoArgs) -> Result<BasicInfo, ToolError> {
        let machine = &cx.services.machine;
        if machine.board.is_simulated() {
            cx.notes.simulated();
        }
        read(machine)
    }
}
