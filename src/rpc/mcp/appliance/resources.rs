//! Lists and reads resources. Reading runs the tool behind the resource as the caller.

use super::{McpRequest, fault, hints};
use crate::{
    registry::{
        pipeline::{Call, CallOutcome},
        tool::Blob,
    },
    resources::{RESOURCES, Resource as Known, ResourceAddress},
    rpc::mcp::provider::until_gone,
};
use base::{
    base64url,
    error::{ErrorCode, ToolError},
};
use rmcp::{
    ErrorData,
    model::{MetaObject, ReadResourceResult, Resource, ResourceContents, ResourceTemplate},
};
use serde_json::{Value, json};
use std::sync::Arc;

const JSON: &str = "application/json";

/// The resources that the caller may read.
pub fn list(asked: &McpRequest) -> Vec<Resource> {
    admitted(asked, |known, title| {
        if known.which.is_some() {
            return None;
        }
        let resource = Resource::new(known.uri, name(known)).with_title(title);
        let resource = resource.with_description(known.description);
        Some(match known.mime {
            Some(mime) => resource.with_mime_type(mime),
            None => resource,
        })
    })
}

/// The URI templates, whose addresses take parameters.
pub fn templates(asked: &McpRequest) -> Vec<ResourceTemplate> {
    admitted(asked, |known, title| {
        let template = ResourceTemplate::new(known.template()?, name(known)).with_title(title);
        let template = template.with_description(known.description);
        Some(match known.mime {
            Some(mime) => template.with_mime_type(mime),
            None => template,
        })
    })
}

/// Reads one resource.
///
/// # Errors
/// -32002 (since 2026-07-28 -32602) if there is no such resource, otherwise the tool's error.
pub async fn read(asked: &McpRequest, uri: &str) -> Result<ReadResourceResult, ErrorData> {
    let address = parse(uri)?;
    let ttl_ms = address.resource.ttl_ms;
    let contents = contents(asked, uri, address).await.map_err(|error| fault(&error))?;
    let mut result = ReadResourceResult::new(vec![contents]);
    (result.ttl_ms, result.cache_scope) = hints(asked, ttl_ms);
    Ok(result)
}

/// Parses the address in an MCP request.
///
/// # Errors
/// As [`read`].
pub fn parse(uri: &str) -> Result<ResourceAddress, ErrorData> {
    ResourceAddress::parse(uri).map_err(|error| {
        if error.code != ErrorCode::NotFound {
            return fault(&error);
        }
        let mut data = error.data();
        data["uri"] = error.details["uri"].clone();
        ErrorData::resource_not_found(error.into_message(), Some(data))
    })
}

/// The current contents of the resource at this address.
///
/// # Errors
/// Those of the tool behind it.
pub async fn contents(asked: &McpRequest, uri: &str, address: ResourceAddress) -> Result<ResourceContents, ToolError> {
    let CallOutcome { result, meta } = run(asked, address).await?;
    let output = result?;
    let contents = match &output.blob {
        Some(blob) => file(blob, uri),
        None => ResourceContents::text(output.json.get(), uri).with_mime_type(JSON),
    };
    Ok(match json!(meta) {
        Value::Object(meta) => contents.with_meta(MetaObject(meta)),
        _ => contents,
    })
}

/// A file of text as text, any other in base64.
fn file(blob: &Blob, uri: &str) -> ResourceContents {
    let text = if blob.mime.starts_with("text/") { std::str::from_utf8(&blob.bytes).ok() } else { None };
    match text {
        Some(text) => ResourceContents::text(text, uri),
        None => ResourceContents::blob(base64url::standard(&blob.bytes), uri),
    }
    .with_mime_type(blob.mime)
}

async fn run(asked: &McpRequest, address: ResourceAddress) -> Result<CallOutcome, ToolError> {
    let McpRequest { server, caller, cancel, context, .. } = asked;
    let call = Call {
        entry: address.resource.entry(&server.pipeline.registry)?,
        caller: Arc::clone(caller),
        args: Value::Object(address.args),
        request_id: context.id.to_string(),
        correlation_id: context.meta.get("correlation_id").and_then(Value::as_str).map(str::to_owned),
        cancel: cancel.clone(),
        progress: Default::default(),
        peer: None,
        alias: None,
    };
    Ok(until_gone(context, cancel, server.pipeline.run(call)).await)
}

fn admitted<T>(asked: &McpRequest, show: impl Fn(&Known, &str) -> Option<T>) -> Vec<T> {
    let pipeline = &asked.server.pipeline;
    let may = |known: &&Known| known.admit(pipeline, &asked.caller).ok().map(|entry| entry.meta().title.to_owned());
    RESOURCES.iter().filter_map(|known| show(known, &may(&known)?)).collect()
}

fn name(known: &Known) -> String {
    let base = known.base().trim_start_matches("raspi://").trim_end_matches('/');
    format!("{base}{}", known.end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_text_and_a_photo_is_not() {
        let of = |mime, bytes: &'static [u8]| json!(file(&Blob { mime, bytes: bytes.into() }, "raspi://x"));
        let page = of("text/markdown", b"# One");
        assert_eq!(page, json!({ "uri": "raspi://x", "mimeType": "text/markdown", "text": "# One" }));
        let photo = of("image/jpeg", b"# One");
        assert_eq!(photo, json!({ "uri": "raspi://x", "mimeType": "image/jpeg", "blob": "IyBPbmU=" }));
        assert_eq!(of("text/markdown", b"\xff")["blob"], "/w==");
    }
}
