//! Who this device is to its approvers.

use crate::{approvers::ApproverKey, context::Context, operations::Operation, peer::Callers};
use base::error::ToolError;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DeviceRequest {
    /// Of a page elsewhere that wants to carry asks and answers, exactly as a browser names it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<String>,
}

/// What a client needs in order to prove that it may read asks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Device {
    /// SHA-256 of the key, in 64 hexadecimal digits.
    pub id: String,
    pub key: ApproverKey,
    /// Another one after each start of the agent.
    pub boot: String,
    /// The agent's clock, in milliseconds since 1970 UTC.
    pub time_ms: i64,
    /// Whether the origin of the request is that of an enrolled approver.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub knows_origin: bool,
}

/// The device's key, boot and time.
pub struct DescribeDevice;

impl Operation for DescribeDevice {
    const TAG: &'static str = "describe_device";
    const ANSWER: &'static str = "device";
    const CALLERS: Callers = Callers::Carriers;
    type Request = DeviceRequest;
    type Answer = Device;

    async fn run(cx: &Context<'_>, request: DeviceRequest) -> Result<Device, ToolError> {
        let (key, boot) = cx.approvers.device()?;
        let knows_origin = request.origin.is_some_and(|origin| cx.approvers.knows_origin(&origin));
        Ok(Device { id: key.id(), key, boot, time_ms: (cx.clock)(), knows_origin })
    }
}
