//! `camera.list_cameras`: the cameras and their formats.

use super::{fault, taking::allows};
use crate::{
    registry::{context::Context, tool::Tool},
    tools::none::NoArgs,
};
use base::error::ToolError;
use contract::meta::Meta;
use hw::camera::{Backend, Camera, Sizes, port::Pixels};
use schemars::JsonSchema;
use serde::Serialize;

#[derive(Serialize, JsonSchema)]
pub struct Out {
    cameras: Vec<Shown>,
    total_count: u64,
    /// What to do when a camera is missing here or not allowed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    note: Option<&'static str>,
}

#[derive(Serialize, JsonSchema)]
struct Shown {
    /// What other tools take as camera.
    camera: String,
    /// As its driver calls it.
    name: String,
    driver: String,
    /// Where it is plugged in.
    bus: String,
    backend: Backend,
    /// The configuration (camera.allow), or a grant, lets pictures be taken with it.
    allowed: bool,
    formats: Vec<Mode>,
}

#[derive(Serialize, JsonSchema)]
struct Mode {
    /// Four-character code of V4L2's, or libcamera's name.
    pixel_format: String,
    /// This server makes pictures of it; for a sensor, libcamera does.
    usable: bool,
    /// WIDTHxHEIGHT, or a range with its steps.
    sizes: Vec<String>,
}

pub struct ListCameras;

impl Tool for ListCameras {
    type Args = NoArgs;
    type Out = Out;
    const META: Meta = Meta {
        name: "camera.list_cameras",
        title: "List cameras",
        description: "List cameras.\n\nUse when: before taking a picture.\n\nReturns: each with its formats, sizes and whether it may be used.",
        estimated_tokens: 400,
        tags: &["camera"],
        ..Meta::READ
    };

    async fn call(cx: &Context, _: NoArgs) -> Result<Out, ToolError> {
        let services = &cx.services;
        let cameras = match services.cameras.list(fault::within(cx)).await {
            Ok(cameras) => cameras,
            Err(trouble) => return Err(fault::told(cx, Self::META.name, None, trouble).await),
        };
        if services.machine.board.is_simulated() {
            cx.notes.simulated();
        }
        let cameras: Vec<Shown> = cameras.into_iter().map(|camera| shown(cx, camera)).collect();
        let note = if cameras.is_empty() {
            Some(
                "No camera is known. One on the ribbon needs rpicam-still (package rpicam-apps); `raspi-mcp doctor` says more.",
            )
        } else if !cameras.iter().any(|camera| camera.allowed) {
            Some(
                "None may be used yet: the owner opens one with `raspi-mcp allow camera.take_photo CAMERA` on the device, or names it in camera.allow.",
            )
        } else {
            None
        };
        Ok(Out { total_count: cameras.len() as u64, cameras, note })
    }
}

fn shown(cx: &Context, camera: Camera) -> Shown {
    let by_program = camera.backend == Backend::Rpicam;
    let formats = camera.modes.iter().map(|mode| Mode {
        pixel_format: mode.code.clone(),
        usable: by_program || Pixels::of(&mode.code).is_some(),
        sizes: mode.sizes.iter().map(sizes).collect(),
    });
    Shown {
        allowed: ["camera.take_photo", "camera.capture"].iter().any(|tool| allows(cx, tool, &camera)),
        formats: formats.collect(),
        camera: camera.id,
        name: camera.name,
        driver: camera.driver,
        bus: camera.bus,
        backend: camera.backend,
    }
}

fn sizes(sizes: &Sizes) -> String {
    match sizes {
        Sizes::One(size) => size.to_string(),
        Sizes::Steps { min, max, step } => format!("{min} to {max} in steps of {step}"),
    }
}
