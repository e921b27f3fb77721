//! `camera.get_photo`: a stored photo. Also serves `raspi://camera/photos/{name}` and `GET /photos/{name}`.

use super::image;
use crate::registry::{
    context::Context,
    tool::{Blob, Tool},
};
use base::{clock, error::ToolError, os::blocking};
use bytes::Bytes;
use contract::meta::{Listing, Meta, Role, Tier};
use hw::camera::{
    PictureFormat,
    photo_store::{NAMES, PhotoName},
};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, de::Error};
use serde_json::Value;
use std::sync::Arc;

pub const NAME: &str = "camera.get_photo";
/// An example for schemas and documentation.
const EXAMPLE: &str = "20261122T081600123Z-1f9a03c7.jpg";

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {
    /// Name that camera.take_photo gave it; the newest unless told.
    #[serde(default, deserialize_with = "photo_name")]
    #[schemars(with = "String", regex(pattern = NAMES), example = EXAMPLE)]
    name: Option<PhotoName>,
}

fn photo_name<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<PhotoName>, D::Error> {
    let text = String::deserialize(deserializer)?;
    PhotoName::parse(&text).map(Some).ok_or_else(|| D::Error::custom(format!("not of the form {NAMES}")))
}

#[derive(Serialize, JsonSchema)]
pub struct Out {
    name: String,
    /// The photo in base64. Not in tools/call, whose content has it as an image.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schemars(default)]
    image_data: String,
    format: PictureFormat,
    size_bytes: u64,
    /// When it was taken; null for a name that holds no time.
    #[schemars(extend("format" = "date-time"))]
    timestamp: Option<String>,
    #[serde(skip)]
    bytes: Bytes,
}

pub struct GetPhoto;

impl Tool for GetPhoto {
    type Args = Args;
    type Out = Out;
    const META: Meta = Meta {
        name: NAME,
        title: "Get a photo",
        description: "Look at a photo that was taken before.\n\nUse when: camera.take_photo has given you its name, or you want the newest.\n\nReturns: the photo and when it was taken.",
        listing: Listing::Extra,
        // A read of private content.
        tier: Tier::Advanced,
        role: Role::OpsRw,
        estimated_tokens: 1600,
        tags: &["camera", "image", "photo"],
        resource_uri: Some("raspi://camera/photos/{name}"),
        ..Meta::READ
    };

    async fn call(cx: &Context, args: Args) -> Result<Out, ToolError> {
        let services = &cx.services;
        let (photos, name) = (Arc::clone(&services.cameras.photos), args.name);
        let room = image::room(services.settings.limits.max_response_bytes) as u64;
        let (name, bytes) = blocking::run("camera", move |stop| {
            let name = name.map_or_else(|| photos.newest(stop), Ok)?;
            photos.read(&name, room).map(|bytes| (name, bytes))
        })
        .await?;
        if services.machine.board.is_simulated() {
            cx.notes.simulated();
        }
        Ok(Out {
            name: name.as_str().to_owned(),
            image_data: image::to_base64(&bytes),
            format: name.format(),
            size_bytes: bytes.len() as u64,
            timestamp: name.taken().map(clock::stamp),
            bytes: bytes.into(),
        })
    }

    fn blob(out: &Out) -> Option<Blob> {
        Some(Blob { mime: out.format.mime(), bytes: out.bytes.clone() })
    }

    fn whole(out: &Out) -> Option<Value> {
        image::result(out, &out.image_data, out.format)
    }
}
