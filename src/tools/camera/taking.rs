//! Shared by taking a photo and capturing a picture: choosing the camera, checking permission, and taking the picture.

use super::fault;
use crate::registry::context::Context;
use base::{clock, error::ToolError};
use hw::camera::{Camera, CamerasUnavailable, PictureFormat, Shot, Size, Wish};
use schemars::JsonSchema;
use serde::Serialize;
use std::time::{Duration, Instant};
use time::OffsetDateTime;

/// Longest name of a camera in arguments, in characters.
pub const LONGEST_NAME: usize = 128;
/// Longest time for one picture: a camera that starts slowly, frames to settle, and a large PNG on a Zero 2 W.
pub const LIMIT: Duration = Duration::from_secs(25);

/// How a picture came about.
#[derive(Serialize, JsonSchema)]
pub struct PictureInfo {
    /// Camera it was taken with.
    camera: String,
    /// As it was taken, which may be another than was asked for.
    width: u32,
    height: u32,
    format: PictureFormat,
    size_bytes: u64,
    /// When.
    #[schemars(extend("format" = "date-time"))]
    timestamp: String,
    /// What the camera gave: YUYV, MJPG, …
    pixel_format: String,
    /// The camera's own file, not made anew here: quality did not count then.
    passed_through: bool,
    /// Frames let go before it; null where a program counts them itself.
    warmup_frames: Option<u32>,
    /// From opening the camera to the finished picture.
    duration_ms: u64,
}

/// A picture with its metadata.
pub struct TakenPicture {
    pub bytes: Vec<u8>,
    pub format: PictureFormat,
    pub at: OffsetDateTime,
    pub taken: PictureInfo,
}

/// The requested picture.
pub struct PictureRequest {
    pub tool: &'static str,
    pub camera: Option<String>,
    pub size: Size,
    pub format: PictureFormat,
    pub quality: u8,
    /// Largest allowed size in bytes.
    pub max_bytes: usize,
}

/// Checks before any device is opened whether this caller reaches any camera.
///
/// # Errors
/// `permission_denied` naming the setting.
pub fn permit(cx: &Context, tool: &str, camera: Option<&str>) -> Result<(), ToolError> {
    let reach = cx.reach(tool);
    let some = reach.cameras().next().is_some() || reach.listed && cx.services.cameras.allows_any();
    if some { Ok(()) } else { Err(not_allowed(camera.unwrap_or("*"))) }
}

/// Whether a grant of this tool, or the configuration where that counts for the caller, allows the camera.
pub(super) fn allows(cx: &Context, tool: &str, camera: &Camera) -> bool {
    let reach = cx.reach(tool);
    let granted: Vec<String> = reach.cameras().cloned().collect();
    reach.listed && cx.services.cameras.allows(camera) || camera.is_among(&granted)
}

fn not_allowed(camera: &str) -> ToolError {
    ToolError::denied(format!("the configuration lets no picture be taken with {camera}"))
        .with("parameter", "camera")
        .with("camera_allowed", false)
        .with("required_permission", format!("camera:capture:{camera}"))
        .hint("the owner opens it with `raspi-mcp allow TOOL CAMERA` on the device, or names it in camera.allow; camera.list_cameras shows them all")
}

/// Takes the picture.
///
/// # Errors
/// See [`fault::told`]; `capability_missing` without a camera.
pub async fn take(cx: &Context, asked: PictureRequest) -> Result<TakenPicture, ToolError> {
    let (services, begun) = (&cx.services, Instant::now());
    let limit = fault::within(cx);
    let camera = match choose(cx, asked.tool, asked.camera.as_deref(), limit).await {
        Ok(chosen) => chosen?,
        Err(trouble) => return Err(fault::told(cx, asked.tool, None, trouble).await),
    };
    let wish = Wish {
        size: asked.size,
        format: asked.format,
        quality: asked.quality,
        warmup: services.settings.camera.warmup_frames,
        max_bytes: asked.max_bytes,
    };
    let left = limit.saturating_sub(begun.elapsed());
    let Shot { picture, code, warmup } = match services.cameras.take(camera.clone(), wish, left).await {
        Ok(shot) => shot,
        Err(trouble) => return Err(fault::told(cx, asked.tool, Some(&camera), trouble).await),
    };
    if services.machine.board.is_simulated() {
        cx.notes.simulated();
    }
    let at = OffsetDateTime::now_utc();
    let taken = PictureInfo {
        camera: camera.id,
        width: picture.size.width,
        height: picture.size.height,
        format: picture.format,
        size_bytes: picture.bytes.len() as u64,
        timestamp: clock::stamp(at),
        pixel_format: code,
        passed_through: picture.passed_through,
        warmup_frames: warmup,
        duration_ms: u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX),
    };
    Ok(TakenPicture { bytes: picture.bytes, format: picture.format, at, taken })
}

/// The named camera, or the first allowed one.
async fn choose(
    cx: &Context,
    tool: &str,
    named: Option<&str>,
    limit: Duration,
) -> Result<Result<Camera, ToolError>, CamerasUnavailable> {
    let cameras = &cx.services.cameras;
    if let Some(named) = named
        && let Some(camera) = cameras.find(named, limit).await?
    {
        return Ok(if allows(cx, tool, &camera) { Ok(camera) } else { Err(not_allowed(&camera.id)) });
    }
    let all = cameras.list(limit).await?;
    if all.is_empty() {
        return Ok(Err(fault::none(cx.services.machine.board.is_simulated())));
    }
    let shown: Vec<&str> = all.iter().map(|camera| camera.id.as_str()).collect();
    if let Some(named) = named {
        return Ok(Err(ToolError::not_found(format!("there is no camera {named}"))
            .with("parameter", "camera")
            .with("cameras", shown)
            .hint("camera.list_cameras shows those there are; leave camera out for the first")));
    }
    let shown = shown.join(", ");
    Ok(all.into_iter().find(|camera| allows(cx, tool, camera)).ok_or_else(|| not_allowed(&shown)))
}
