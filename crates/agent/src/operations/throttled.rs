//! Reads the firmware's power and temperature flags for the server, which may not open the mailbox.

use super::Operation;
use crate::context::Context;
use base::{error::ToolError, os::blocking};
use hw::firmware::{VCIO, throttled_by_mailbox};
use serde::{Deserialize, Serialize};
use std::io::ErrorKind;

#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "struct variant Op::Throttled")]
pub struct ThrottledRequest {}

/// The throttling word. Not logged: it is a read like the server's own, and changes nothing.
pub struct ReadThrottled;

impl Operation for ReadThrottled {
    const TAG: &'static str = "throttled";
    const ANSWER: &'static str = "throttled";
    type Request = ThrottledRequest;
    type Answer = u32;

    async fn run(cx: &Context<'_>, _request: ThrottledRequest) -> Result<u32, ToolError> {
        if cx.simulated {
            return Err(ToolError::missing("a simulated machine's firmware is the board's, not the agent's"));
        }
        let root = cx.settings.root.clone();
        let asked = blocking::run("throttled", move |_| Ok(throttled_by_mailbox(&root))).await?;
        asked.map_err(|fault| {
            let message = format!("the firmware's mailbox /{VCIO} does not answer: {fault}");
            match fault.kind() {
                ErrorKind::NotFound | ErrorKind::Unsupported => ToolError::missing(message)
                    .hint("kernels and firmware of Raspberry Pi OS have it; others have sysfs or nothing"),
                _ => {
                    ToolError::unavailable(message).hint("raspi-mcp-agent.service must allow /dev/vcio (DeviceAllow=)")
                }
            }
        })
    }
}
