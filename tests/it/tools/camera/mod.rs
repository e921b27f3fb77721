//! `camera.*` before the simulated board's two cameras: one gives pixels, one compresses them itself.

mod doors;
mod failing;
mod keeping;
mod rpicam;
mod taking;

use crate::served::{Answer, Pi};
use raspi_mcp::{config::Settings, hw::camera::simulated::Simulated, registry::meta::Role};
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
pub fn scene(pi: &Pi) -> Arc<Simulated> {
    Arc::clone(&pi.server().pipeline.world.machine.board.simulated.as_ref().unwrap().camera)
}

/// Where its photos are.
pub fn folder(pi: &Pi) -> PathBuf {
    pi.server().pipeline.world.cameras.album.dir.clone()
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

pub fn from_base64(text: &str) -> Vec<u8> {
    let url: String = text
        .trim_end_matches('=')
        .chars()
        .map(|c| match c {
            '+' => '-',
            '/' => '_',
            c => c,
        })
        .collect();
    raspi_mcp::access::base64url::decode(&url).unwrap()
}

/// Width and height of a picture and its pixels, three bytes each, by decoders that did not make it.
pub fn decoded(bytes: &[u8]) -> (u32, u32, Vec<u8>) {
    if bytes.starts_with(b"\x89PNG") {
        let mut reader = png::Decoder::new(std::io::Cursor::new(bytes)).read_info().unwrap();
        let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
        let about = reader.next_frame(&mut pixels).unwrap();
        return (about.width, about.height, pixels);
    }
    let mut decoder = zune_jpeg::JpegDecoder::new(zune_jpeg::zune_core::bytestream::ZCursor::new(bytes));
    let pixels = decoder.decode().unwrap();
    let about = decoder.info().unwrap();
    (about.width.into(), about.height.into(), pixels)
}

/// The middles of the card's upper bars, as red, green and blue are strong or weak: white, yellow, … black.
#[track_caller]
pub fn shows_the_card(bytes: &[u8]) {
    let (width, height, pixels) = decoded(bytes);
    let bars = [[1, 1, 1], [1, 1, 0], [0, 1, 1], [0, 1, 0], [1, 0, 1], [1, 0, 0], [0, 0, 1], [0, 0, 0]];
    for (n, bar) in bars.iter().enumerate() {
        let (x, y) = ((2 * n as u32 + 1) * width / 16, height / 4);
        let at = ((y * width + x) * 3) as usize;
        let seen = [0, 1, 2].map(|channel| u8::from(pixels[at + channel] > 96));
        assert_eq!(&seen, bar, "bar {n} at {x},{y}: {:?}", &pixels[at..at + 3]);
    }
}
