//! What the firmware says of power and heat, asked for the half that may not open its mailbox.

use crate::{
    agent::Agent,
    error::ToolError,
    hw::firmware::{VCIO, throttled_by_mailbox},
    os::blocking,
};
use std::io::ErrorKind;

impl Agent {
    /// The throttling word. A read like the server's own ones: nothing of the firmware changes, so nothing is noted.
    pub(in crate::agent) async fn throttled(&self) -> Result<u32, ToolError> {
        if self.simulated {
            return Err(ToolError::missing("a simulated machine's firmware is the board's, not the agent's"));
        }
        let root = self.settings.root.clone();
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
