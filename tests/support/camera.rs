//! A server on the simulated board with its two cameras, and what a photo shows.

pub use super::picture::{decoded, from_base64};
use super::{
    picture,
    served::{Answer, Pi},
};
use contract::{config::Settings, meta::Role};
use hw::camera::simulated::SimulatedCameras;
use serde_json::{Value, json};
use std::{path::PathBuf, sync::Arc};

/// The one that gives pixels.
pub const CARD: &str = "/dev/video0";
/// The one that gives JPEGs.
pub const WEBCAM: &str = "/dev/video2";

pub fn enabled(settings: &mut Settings) {
    settings.tools.enable.insert("camera".into());
    settings.access.stdio_role = Role::OpsRw;
    settings.camera.warmup_frames = 0;
}

pub async fn pi() -> Pi {
    Pi::with(enabled).await
}

/// What is before this server's cameras.
pub fn scene(pi: &Pi) -> Arc<SimulatedCameras> {
    Arc::clone(&pi.server().pipeline.services.machine.board.simulated.as_ref().unwrap().camera)
}

/// Where its photos are.
pub fn folder(pi: &Pi) -> PathBuf {
    pi.server().pipeline.services.cameras.photos.dir.clone()
}

/// Small and quick: what is no test of sizes takes this.
pub fn small(camera: &str) -> Value {
    json!({"camera": camera, "width": 320, "height": 180})
}

/// The picture in the content of an answer, and what its block says that it is.
pub fn image(answer: &Answer) -> (Vec<u8>, String) {
    let content = answer.result()["content"].as_array().unwrap();
    assert_eq!((content.len(), &content[0]["type"], &content[1]["type"]), (2, &json!("text"), &json!("image")));
    (from_base64(content[1]["data"].as_str().unwrap()), content[1]["mimeType"].as_str().unwrap().to_owned())
}

/// The whole card.
#[track_caller]
pub fn shows_the_card(bytes: &[u8]) {
    picture::shows(bytes, 0..8);
}
