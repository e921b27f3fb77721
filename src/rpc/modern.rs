//! The 2026-07-28 era over HTTP, as far as the router must distinguish it, and answers inside event streams.

use super::params::{MODERN, meta_of};
use axum::{
    body::Body,
    http::{HeaderMap, Response},
};
use http_body_util::{BodyExt, Limited};
use serde::Deserialize;
use serde_json::value::RawValue;
use std::borrow::Cow;

/// Revisions served with `initialize`. A missing header means the oldest revision that required it.
const LEGACY: &[&str] = &["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];

/// The protocol rules that a request follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Era {
    Legacy,
    /// Complete and consistent 2026-07-28.
    Modern,
    /// Neither: headers and metadata disagree, or name an unsupported version.
    Unclear,
}

/// Compares headers with the body (2026-07-28, "Standard Request Headers").
pub fn era(headers: &HeaderMap, method: &str, params: Option<&RawValue>) -> Era {
    let header = |name: &str| {
        let mut values = headers.get_all(name).iter();
        match (values.next(), values.next()) {
            (None, _) => Ok(None),
            (Some(one), None) => one.to_str().map(Some).map_err(drop),
            (Some(_), Some(_)) => Err(()),
        }
    };
    let (Ok(version), Ok(named_method), Ok(named)) =
        (header("mcp-protocol-version"), header("mcp-method"), header("mcp-name"))
    else {
        return Era::Unclear;
    };
    let meta_version = meta_of(params).and_then(|meta| meta.protocol_version);
    match (version, meta_version.as_deref()) {
        (None, None) => Era::Legacy,
        (Some(version), None) if LEGACY.contains(&version) => Era::Legacy,
        (Some(MODERN), Some(MODERN)) if named_method == Some(method) && named == name_of(method, params).as_deref() => {
            Era::Modern
        }
        _ => Era::Unclear,
    }
}

/// The value that `Mcp-Name` must repeat.
fn name_of<'a>(method: &str, params: Option<&'a RawValue>) -> Option<Cow<'a, str>> {
    #[derive(Deserialize)]
    struct Named<'a> {
        #[serde(borrow)]
        name: Cow<'a, str>,
    }
    if method != "tools/call" {
        return None;
    }
    serde_json::from_str::<Named<'_>>(params?.get()).ok().map(|named| named.name)
}

/// The JSON-RPC answer in a response that is JSON or an event stream; `None` if there is none within `limit` bytes.
pub async fn answer_in(response: Response<Body>, limit: usize) -> Option<Vec<u8>> {
    let is_stream = response
        .headers()
        .get("content-type")
        .and_then(|value| value.to_str().ok())
        .is_some_and(|value| value.starts_with("text/event-stream"));
    let bytes = Limited::new(response.into_body(), limit).collect().await.ok()?.to_bytes();
    if !is_stream {
        return serde_json::from_slice::<&RawValue>(&bytes).is_ok().then(|| bytes.to_vec());
    }
    let text = std::str::from_utf8(&bytes).ok()?;
    // rmcp writes each message on one data line; the answer is the one with a result or an error.
    text.lines()
        .filter_map(|line| line.strip_prefix("data:"))
        .map(str::trim)
        .find(|data| is_answer(data))
        .map(|data| data.as_bytes().to_vec())
}

fn is_answer(data: &str) -> bool {
    #[derive(Deserialize)]
    struct Shape {
        result: Option<serde::de::IgnoredAny>,
        error: Option<serde::de::IgnoredAny>,
    }
    serde_json::from_str::<Shape>(data).is_ok_and(|shape| shape.result.is_some() || shape.error.is_some())
}
