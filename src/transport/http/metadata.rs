//! OAuth 2.0 Protected Resource Metadata (RFC 9728): where MCP clients learn who issues tokens for this server.

use axum::{
    body::Body,
    http::{HeaderValue, Response, Uri, header},
    response::IntoResponse,
};
use bytes::Bytes;
use contract::{config::Jwt, meta::Role};
use serde_json::json;

const WELL_KNOWN: &str = "/.well-known/oauth-protected-resource";

/// The document and its location.
pub struct Metadata {
    /// For `resource_metadata` in a challenge.
    pub url: String,
    /// The well-known path of the resource (RFC 9728, 3.1).
    path: String,
    document: Bytes,
}

impl Metadata {
    /// `None` unless JWTs are on and `jwt.audience` is this server's URL: otherwise nothing correct can be published.
    pub fn of(jwt: &Jwt) -> Option<Self> {
        let audience: Uri = jwt.audience.parse().ok().filter(|_| jwt.is_on())?;
        let (scheme, authority) = (audience.scheme_str()?, audience.authority()?);
        let path = match audience.path() {
            "/" => WELL_KNOWN.to_owned(),
            below => format!("{WELL_KNOWN}{below}"),
        };
        let mut document = json!({
            "resource": jwt.audience,
            "authorization_servers": [jwt.issuer],
            "bearer_methods_supported": ["header"],
            "resource_name": "raspi-mcp",
        });
        if jwt.role_claim == "scope" {
            document["scopes_supported"] = json!([Role::ReadOnly, Role::OpsRw, Role::Admin]);
        }
        Some(Self { url: format!("{scheme}://{authority}{path}"), path, document: document.to_string().into() })
    }

    /// Whether `path` requests it; also at the root, where some clients look.
    pub fn is_at(&self, path: &str) -> bool {
        path == self.path || path == WELL_KNOWN
    }

    pub fn answer(&self) -> Response<Body> {
        let kind = (header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        ([kind], self.document.clone()).into_response()
    }
}
