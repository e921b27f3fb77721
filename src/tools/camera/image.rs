//! A picture in an answer. In the bare dialect its bytes are a field in base64 (docs/contract/camera.md). MCP has a block of
//! its own for pictures, which models see; there the same megabytes once more in `structuredContent` and a third time in the
//! text would be paid for as text and read by nobody, so both leave that field out.

use base::base64url;
use hw::camera::Format;
use serde::Serialize;
use serde_json::{Value, json};

/// What stands around a picture in an answer, at most, in bytes.
const AROUND: usize = 4096;

/// The largest picture that fits an answer of `response` bytes.
pub fn room(response: usize) -> usize {
    response.saturating_sub(AROUND) / 4 * 3
}

pub fn to_base64(bytes: &[u8]) -> String {
    base64url::standard(bytes)
}

/// The MCP result: what `out` says but for `image_data`, and the picture.
pub fn result(out: &impl Serialize, image_data: &str, format: Format) -> Option<Value> {
    // `out` is plain data with string keys; without it there would be no answer of either kind.
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
