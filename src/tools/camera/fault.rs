//! Errors of the camera tools: what failed, where, and what to do next.

use super::taking::LIMIT;
use crate::registry::context::Context;
use agent::operations::holders::{HoldersRequest, ListHolders};
use base::{
    error::{ErrorCode, ToolError},
    os::{
        blocking,
        processes::holders::{self, DeviceNumber},
    },
};
use hw::camera::{Camera, CameraError, CamerasUnavailable, Holder};
use serde_json::json;

/// The error for the caller of `tool` if `trouble` occurred with `camera`.
pub async fn told(cx: &Context, tool: &str, camera: Option<&Camera>, trouble: CamerasUnavailable) -> ToolError {
    let fault = match trouble {
        CamerasUnavailable::Fault(fault) => fault,
        CamerasUnavailable::Error(error) => return error,
    };
    let device = camera.map_or("the cameras", |camera| camera.id.as_str());
    let error = match fault {
        CameraError::Absent => ToolError::not_found(format!("{device} is not there any more")).hint(
            "camera.list_cameras shows those that are; a camera that was plugged in again may have another number",
        ),
        CameraError::Denied => ToolError::unavailable(format!("this server may not open {device}")).hint(
            "its user must be in the group video, and the unit allow the device; `raspi-mcp doctor` looks at both",
        ),
        CameraError::Busy(holder) => busy(cx, device, holder).await,
        CameraError::NoFrame { waited } => {
            let ms = u64::try_from(waited.as_millis()).unwrap_or(u64::MAX);
            let mut error = ToolError::new(ErrorCode::Timeout, format!("{device} gave no frame within {ms} ms"))
                .hint("is its source on, its cable in, its lens open to the light? Unplug it and plug it in again");
            error.timeout_ms = Some(ms);
            error
        }
        CameraError::Unplugged => ToolError::unavailable(format!("{device} was unplugged while it was used"))
            .hint("plug it in again; camera.list_cameras shows whether it is back"),
        CameraError::Torn(why) => ToolError::unavailable(format!("{device} gives no whole frames: {why}"))
            .hint("a long or bad USB cable does that, or a hub without power of its own; try a smaller size"),
        CameraError::Unfit(why) => ToolError::missing(format!("{device} has no format this server can read: {why}"))
            .hint("sensors on the ribbon need rpicam-still, of the package rpicam-apps"),
        CameraError::TooLarge { limit } => ToolError::new(
            ErrorCode::ContentTooLarge,
            format!("the picture has more than the {limit} bytes there is room for"),
        )
        .with("limit_bytes", limit)
        .hint(if tool == super::capture::NAME {
            "ask for a smaller width and height, format jpeg or a lower quality; or have camera.take_photo keep a file"
        } else {
            "ask for a smaller resolution or format jpeg, or raise camera.max_bytes"
        }),
        CameraError::Cancelled => ToolError::cancelled(tool),
        CameraError::Failed(why) => ToolError::unavailable(format!("{device} failed: {why}"))
            .hint("the kernel's log may say more: logs.query_journal with grep \"video\""),
    };
    error.with_some("device", camera.map(|camera| camera.id.as_str()))
}

/// The camera is in use, with its user if known (docs/contract/camera.md).
async fn busy(cx: &Context, device: &str, holder: Option<Holder>) -> ToolError {
    let holders = match holder {
        Some(holder) => vec![holder],
        None => who_holds(cx, device).await,
    };
    let own = std::process::id();
    let error = match holders.iter().find(|holder| holder.pid != own) {
        Some(Holder { pid, name }) => ToolError::exhausted(format!("{device} is in use by {name} (process {pid})"))
            .with("in_use_by", name.as_str())
            .with("pid", *pid)
            .with("holders", json!(holders)),
        None => ToolError::exhausted(format!("{device} is in use by another process")),
    };
    error.hint(
        "a camera serves one program at a time: stop that one (service.stop, if it is a service), or try again later",
    )
}

/// The processes that have the camera open: as seen by the agent, which may inspect all; without an agent, as seen by
/// this user.
async fn who_holds(cx: &Context, device: &str) -> Vec<Holder> {
    match cx.services.agent.call::<ListHolders>(HoldersRequest { device: device.to_owned() }).await {
        Ok(holders) if !holders.is_empty() => return holders,
        Ok(_) => {}
        Err(error) => tracing::debug!(target: "camera", %error, "the agent does not say who holds it"),
    }
    let (root, device) = (cx.services.machine.root.clone(), device.to_owned());
    let look = move |_: &blocking::StopSignal| {
        let number = DeviceNumber::of_video(&root, &device).ok();
        Ok(number.and_then(|number| holders::of(&root, number, "video").ok()).unwrap_or_default())
    };
    let found: Vec<(u32, String)> = blocking::run("camera", look).await.unwrap_or_default();
    found.into_iter().map(|(pid, name)| Holder { pid, name }).collect()
}

/// The error if there is no usable camera.
pub fn none(simulated: bool) -> ToolError {
    ToolError::missing("this machine has no camera")
        .with("resource", "camera")
        .hint(if simulated {
            "the simulated board had two; both are unplugged"
        } else {
            "connect one; one on the ribbon also needs rpicam-still (package rpicam-apps). `raspi-mcp doctor` says what is there"
        })
}

/// Time limit for one picture, shorter than the pipeline's own limit, whose error would be less specific.
pub fn within(cx: &Context) -> std::time::Duration {
    let most = std::time::Duration::from_secs(cx.services.settings.limits.request_timeout_seconds);
    most.saturating_sub(std::time::Duration::from_millis(500)).min(LIMIT)
}
