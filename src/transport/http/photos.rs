//! `GET /photos/{name}`: a photo as a file, for a browser or a program with a token.
//!
//! This is a call of `camera.get_photo`: role, policy, rate limit and audit apply. A token is required on loopback too,
//! because such addresses are passed on, and any page in a browser could embed one as an image.

use super::{App, post};
use crate::{
    registry::pipeline::{Call, CallOutcome},
    tools::camera::GET_PHOTO,
};
use axum::{
    body::Body,
    extract::Request,
    http::{HeaderMap, HeaderValue, Response, StatusCode, header},
    response::IntoResponse,
};
use base::error::ToolError;
use contract::access::caller::Caller;
use serde_json::json;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

const FOLDER: &str = "/photos/";

/// Whether `path` is that of a photo.
pub fn is_at(path: &str) -> bool {
    path.starts_with(FOLDER)
}

/// Whether the request carries credentials, which are required here.
pub fn shows_a_token(headers: &HeaderMap) -> bool {
    headers.contains_key(header::AUTHORIZATION)
}

/// Serves the photo.
pub(super) async fn answer(app: &App, request: Request) -> Response<Body> {
    let Some(caller) = request.extensions().get::<Arc<Caller>>().cloned() else {
        return StatusCode::UNAUTHORIZED.into_response();
    };
    // Used undecoded: valid names need no percent-encoding, and others are refused by the schema.
    let args = json!({ "name": request.uri().path().strip_prefix(FOLDER) });
    let entry = match app.server.pipeline.registry.resolve(GET_PHOTO) {
        Ok((entry, _)) => entry,
        Err(_) => return post::refuse(StatusCode::NOT_FOUND, &ToolError::not_found("this server has no photos")),
    };
    let cancel = CancellationToken::new();
    // Cancels the call if the client disconnects.
    let _gone = cancel.clone().drop_guard();
    let call = Call {
        entry,
        caller,
        args,
        request_id: "photo".into(),
        correlation_id: None,
        cancel,
        progress: Default::default(),
        peer: None,
        alias: None,
    };
    let CallOutcome { result, .. } = app.server.pipeline.run(call).await;
    match result.map(|output| output.blob) {
        Ok(Some(blob)) => {
            let headers = [
                (header::CONTENT_TYPE, HeaderValue::from_static(blob.mime)),
                // A photo may be private: no proxy may cache it, and no browser may treat it as a page.
                (header::CACHE_CONTROL, HeaderValue::from_static("private, no-store")),
                (header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
            ];
            (headers, blob.bytes).into_response()
        }
        Ok(None) => post::refuse(StatusCode::INTERNAL_SERVER_ERROR, &ToolError::internal("a photo without bytes")),
        Err(error) => {
            let status = StatusCode::from_u16(error.code.http()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
            post::refuse(status, &error)
        }
    }
}
