//! `camera.capture`: a picture in the answer (docs/contract/camera.md).

use super::{
    image,
    taking::{self, LONGEST_NAME, PictureInfo, PictureRequest},
};
use crate::{
    registry::{context::Context, tool::Tool},
    tools::{files::bounded_or_null, within},
};
use base::error::ToolError;
use contract::meta::{Effect, Meta};
use hw::camera::{PictureFormat, Size};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub const NAME: &str = "camera.capture";

const NARROWEST: u32 = 16;
/// Width of the largest sensor of a Raspberry Pi camera, in pixels.
const WIDEST: u32 = 4608;
const HIGHEST: u32 = 3456;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {
    /// Wished width in pixels; the answer has what the camera made of it.
    #[serde(default = "width", deserialize_with = "within::<_, NARROWEST, WIDEST>")]
    #[schemars(range(min = NARROWEST, max = WIDEST))]
    width: u32,
    /// Wished height in pixels.
    #[serde(default = "height", deserialize_with = "within::<_, NARROWEST, HIGHEST>")]
    #[schemars(range(min = NARROWEST, max = HIGHEST))]
    height: u32,
    /// Of the picture.
    #[serde(default)]
    format: PictureFormat,
    /// Of a JPEG, unless the camera makes it itself.
    #[serde(default = "quality", deserialize_with = "within::<_, 1, 100>")]
    #[schemars(range(min = 1, max = 100))]
    quality: u32,
    /// Path or name by camera.list_cameras; the first allowed one unless told.
    #[serde(default, deserialize_with = "bounded_or_null::<_, LONGEST_NAME>")]
    #[schemars(length(max = LONGEST_NAME))]
    camera: Option<String>,
}

fn width() -> u32 {
    1280
}
fn height() -> u32 {
    720
}
const fn quality() -> u32 {
    85
}

#[derive(Serialize, JsonSchema)]
pub struct Out {
    /// The picture in base64. Not in tools/call, whose content has it as an image.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schemars(default)]
    image_data: String,
    #[serde(flatten)]
    taken: PictureInfo,
    #[serde(skip)]
    image_format: PictureFormat,
}

pub struct Capture;

impl Tool for Capture {
    type Args = Args;
    type Out = Out;
    const META: Meta = Meta {
        name: NAME,
        title: "Capture a picture",
        description: "Take a picture and look at it.\n\nUse when: you want to see what a camera sees now.\n\nReturns: the picture, its size and how it was taken; nothing is kept.\n\nTip: 640x480 is enough for most questions.",
        effect: Effect::Write { destructive: false, idempotent: false },
        estimated_tokens: 1600,
        tags: &["camera", "image"],
        ..Meta::WRITE
    };

    fn check(args: &Args) -> Result<(), ToolError> {
        if args.format == PictureFormat::Png && args.quality != quality() {
            return Err(ToolError::ignored("quality", "a PNG loses nothing, so it has no quality")
                .hint("leave quality out, or ask for format jpeg"));
        }
        Ok(())
    }

    fn permit(cx: &Context, args: &Args) -> Result<(), ToolError> {
        taking::permit(cx, Self::META.name, args.camera.as_deref())
    }

    async fn call(cx: &Context, args: Args) -> Result<Out, ToolError> {
        let asked = PictureRequest {
            tool: NAME,
            camera: args.camera,
            size: Size::new(args.width, args.height),
            format: args.format,
            // At most 100.
            quality: args.quality as u8,
            max_bytes: image::room(cx.services.settings.limits.max_response_bytes),
        };
        let picture = taking::take(cx, asked).await?;
        Ok(Out { image_data: image::to_base64(&picture.bytes), image_format: picture.format, taken: picture.taken })
    }

    fn whole(out: &Out) -> Option<Value> {
        image::result(out, &out.image_data, out.image_format)
    }
}
