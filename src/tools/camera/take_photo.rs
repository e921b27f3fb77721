//! `camera.take_photo`: takes a photo into a file whose name the server chooses (docs/contract/camera.md).

use super::taking::{self, LONGEST_NAME, PictureInfo, PictureRequest};
use crate::{
    registry::{context::Context, tool::Tool},
    tools::files::bounded_or_null,
};
use base::{error::ToolError, os::blocking};
use contract::meta::{Effect, Listing, Meta};
use hw::camera::{PictureFormat, Size};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use time::OffsetDateTime;

const NAME: &str = "camera.take_photo";
/// Quality of JPEGs encoded here.
const QUALITY: u8 = 90;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {
    /// Wished size; the answer has what the camera made of it.
    #[serde(default)]
    resolution: Resolution,
    /// Of the file.
    #[serde(default)]
    format: PictureFormat,
    /// Path or name by camera.list_cameras; the first allowed one unless told.
    #[serde(default, deserialize_with = "bounded_or_null::<_, LONGEST_NAME>")]
    #[schemars(length(max = LONGEST_NAME))]
    camera: Option<String>,
}

#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
enum Resolution {
    #[serde(rename = "640x480")]
    Vga,
    #[default]
    #[serde(rename = "1280x720")]
    Hd,
    #[serde(rename = "1920x1080")]
    FullHd,
}

impl From<Resolution> for Size {
    fn from(resolution: Resolution) -> Self {
        match resolution {
            Resolution::Vga => Self::new(640, 480),
            Resolution::Hd => Self::new(1280, 720),
            Resolution::FullHd => Self::new(1920, 1080),
        }
    }
}

#[derive(Serialize, JsonSchema)]
pub struct Out {
    /// Full path on the device.
    file_path: String,
    /// Where callers with a token fetch it over HTTP; null unless camera.public_url is configured.
    public_url: Option<String>,
    /// For camera.get_photo.
    name: String,
    #[serde(flatten)]
    taken: PictureInfo,
    /// Older photos that went to stay within the configured bounds.
    removed_photos: u64,
}

pub struct TakePhoto;

impl Tool for TakePhoto {
    type Args = Args;
    type Out = Out;
    const META: Meta = Meta {
        name: NAME,
        title: "Take a photo",
        description: "Take a photo and keep it as a file on the device.\n\nUse when: a picture is to be kept; to look at one now, use camera.capture.\n\nReturns: path, name, size and how it was taken.\n\nNote: old photos go by themselves.",
        listing: Listing::Extra,
        effect: Effect::Write { destructive: false, idempotent: false },
        estimated_tokens: 200,
        tags: &["camera", "image", "photo"],
        ..Meta::WRITE
    };

    fn permit(cx: &Context, args: &Args) -> Result<(), ToolError> {
        taking::permit(cx, Self::META.name, args.camera.as_deref())
    }

    async fn call(cx: &Context, args: Args) -> Result<Out, ToolError> {
        let photos = Arc::clone(&cx.services.cameras.photos);
        let tidied = {
            let photos = Arc::clone(&photos);
            blocking::run("camera", move |stop| photos.tidy(OffsetDateTime::now_utc(), stop)).await?
        };
        if tidied > 0 {
            cx.notes.changed();
        }
        let asked = PictureRequest {
            tool: NAME,
            camera: args.camera,
            size: args.resolution.into(),
            format: args.format,
            quality: QUALITY,
            max_bytes: usize::try_from(photos.max_bytes).unwrap_or(usize::MAX),
        };
        let picture = taking::take(cx, asked).await?;
        let (bytes, format, at) = (picture.bytes, picture.format, picture.at);
        let kept = blocking::run("camera", move |stop| photos.keep(&bytes, format, at, stop)).await?;
        cx.notes.changed();
        let name = kept.name.as_str();
        cx.notes.resource(format!("raspi://camera/photos/{name}"));
        let base = cx.services.settings.camera.public_url.trim_end_matches('/');
        Ok(Out {
            file_path: kept.path.display().to_string(),
            public_url: (!base.is_empty()).then(|| format!("{base}/photos/{name}")),
            name: name.to_owned(),
            taken: picture.taken,
            removed_photos: (tidied + kept.removed) as u64,
        })
    }
}
