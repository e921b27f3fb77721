//! Reports the processes that have a camera open: only root sees other users' descriptors. Read-only.

use super::Operation;
use crate::context::Context;
use base::{
    error::ToolError,
    os::processes::holders::{self, DeviceNumber},
};
use hw::camera::Holder;
use serde::{Deserialize, Serialize};

/// The tool that this serves; disabling that tool disables this operation.
const LIST: &str = "camera.list_cameras";

/// A Video4Linux device; others are refused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HoldersRequest {
    /// `/dev/video0`.
    pub device: String,
}

/// The processes that have it open. Empty on a simulated machine, which has no such device.
pub struct ListHolders;

impl Operation for ListHolders {
    const TAG: &'static str = "device_holders";
    const ANSWER: &'static str = "holders";
    type Request = HoldersRequest;
    type Answer = Vec<Holder>;

    async fn run(cx: &Context<'_>, request: HoldersRequest) -> Result<Vec<Holder>, ToolError> {
        cx.policy().check_read(LIST)?;
        if cx.simulated {
            return Ok(Vec::new());
        }
        let root = &cx.settings.root;
        let device = DeviceNumber::of_video(root, &request.device).map_err(|error| {
            ToolError::invalid(format!("{} is no camera: {error}", request.device)).with("parameter", "device")
        })?;
        let found = holders::of(root, device, "video")
            .map_err(|error| ToolError::unavailable(format!("processes cannot be read: {error}")))?;
        Ok(found.into_iter().map(|(pid, name)| Holder { pid, name }).collect())
    }
}
