//! Request bodies, bounded in size and time.

use axum::body::Body;
use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt;
use std::time::Duration;

/// Why a body could not be read.
#[derive(Debug, PartialEq, Eq)]
pub enum Unread {
    TooLong,
    TooSlow,
    /// The client disconnected before the end.
    Broken,
}

/// Reads a whole body of at most `limit` bytes within `patience`.
///
/// # Errors
/// [`Unread`]; a body over the limit is discarded.
pub async fn read(body: Body, limit: usize, patience: Duration) -> Result<Bytes, Unread> {
    let declared = axum::body::HttpBody::size_hint(&body).lower();
    if declared > limit as u64 {
        return Err(Unread::TooLong);
    }
    tokio::time::timeout(patience, collect(body, limit)).await.unwrap_or(Err(Unread::TooSlow))
}

async fn collect(mut body: Body, limit: usize) -> Result<Bytes, Unread> {
    let mut first: Option<Bytes> = None;
    let mut joined = BytesMut::new();
    while let Some(frame) = body.frame().await {
        let Ok(frame) = frame else { return Err(Unread::Broken) };
        let Ok(data) = frame.into_data() else { continue };
        if joined.len() + first.as_ref().map_or(0, Bytes::len) + data.len() > limit {
            return Err(Unread::TooLong);
        }
        // Most bodies are one frame, which needs no copy.
        match first.take() {
            None if joined.is_empty() => first = Some(data),
            None => joined.extend_from_slice(&data),
            Some(head) => {
                joined.extend_from_slice(&head);
                joined.extend_from_slice(&data);
            }
        }
    }
    Ok(first.unwrap_or_else(|| joined.freeze()))
}
