//! A picture in an answer. In the bare dialect its bytes are a base64 field (docs/contract/camera.md). MCP has an image
//! content block, which models see. Repeating the same megabytes in `structuredContent` and in the text would only cost
//! tokens, so both omit that field.

use base::base64url;
use hw::camera::PictureFormat;
use serde::Serialize;
use serde_json::{Value, json};

/// Largest size of the answer around a picture, in bytes.
const AROUND: usize = 4096;

/// The largest picture that fits into an answer of `response` bytes.
pub fn room(response: usize) -> usize {
    response.saturating_sub(AROUND) / 4 * 3
}

pub fn to_base64(bytes: &[u8]) -> String {
    base64url::standard(bytes)
}

/// The MCP result: `out` without `image_data`, and the picture.
pub fn result(out: &impl Serialize, image_data: &str, format: PictureFormat) -> Option<Value> {
    // Serialising plain data with string keys cannot fail.
    let mut structured = serde_json::to_value(out).ok()?;
    structured.as_object_mut()?.shift_remove("image_data");
    Some(json!({
        "content": [
            { "type": "text", "text": structured.to_string() },
            { "type": "image", "data": image_data, "mimeType": format.mime() },
        ],
        "structuredContent": structured,
        "isError": false,
    }))
}
