//! Every kind of content a result can hold.

use super::answer::{Answer, NoArgs, Reply, fixture};
use crate::{error::ToolError, registry::context::Context};
use serde_json::json;

/// One red pixel, PNG, base64.
pub const PNG: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8/5+hHgAHggJ/PchI7wAAAABJRU5ErkJggg==";
/// Silence, WAV, base64.
const WAV: &str = "UklGRiQAAABXQVZFZm10IBAAAAABAAEARKwAAIhYAQACABAAZGF0YQAAAAA=";

fixture!(SimpleText, "test_simple_text", "Returns simple text content.", simple_text);
fixture!(Image, "test_image_content", "Returns image content.", image);
fixture!(Audio, "test_audio_content", "Returns audio content.", audio);
fixture!(EmbeddedResource, "test_embedded_resource", "Returns an embedded resource.", embedded_resource);
fixture!(Multiple, "test_multiple_content_types", "Returns several kinds of content.", multiple);
fixture!(Error, "test_error_handling", "Always fails.", error);

async fn simple_text(_cx: &Context, _args: NoArgs) -> Reply {
    Ok(Answer::text("This is a simple text response for testing."))
}

async fn image(_cx: &Context, _args: NoArgs) -> Reply {
    Ok(Answer::blocks(json!([{ "type": "image", "data": PNG, "mimeType": "image/png" }])))
}

async fn audio(_cx: &Context, _args: NoArgs) -> Reply {
    Ok(Answer::blocks(json!([{ "type": "audio", "data": WAV, "mimeType": "audio/wav" }])))
}

async fn embedded_resource(_cx: &Context, _args: NoArgs) -> Reply {
    Ok(Answer::blocks(json!([{ "type": "resource", "resource": {
        "uri": "test://embedded-resource",
        "mimeType": "text/plain",
        "text": "This is an embedded resource content.",
    } }])))
}

async fn multiple(_cx: &Context, _args: NoArgs) -> Reply {
    Ok(Answer::blocks(json!([
        { "type": "text", "text": "Multiple content types test:" },
        { "type": "image", "data": PNG, "mimeType": "image/png" },
        { "type": "resource", "resource": {
            "uri": "test://mixed-content-resource",
            "mimeType": "application/json",
            "text": r#"{"test":"data","value":123}"#,
        } },
    ])))
}

async fn error(_cx: &Context, _args: NoArgs) -> Reply {
    Err(ToolError::precondition("This tool intentionally returns an error for testing"))
}
