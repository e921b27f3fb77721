//! Who gives tokens for this server: OAuth 2.0 Protected Resource Metadata (RFC 9728), as MCP clients look for it.

use axum::{
    body::Body,
    http::{HeaderValue, Response, Uri, header},
    response::IntoResponse,
};
use bytes::Bytes;
use contract::{config::Jwt, meta::Role};
use serde_json::json;

const WELL_KNOWN: &str = "/.well-known/oauth-protected-resource";

/// The document and where it is.
pub struct Metadata {
    /// For `resource_metadata` in a challenge.
    pub url: String,
    /// The path that belongs to the resource's own (RFC 9728, 3.1).
    path: String,
    document: Bytes,
}

impl Metadata {
    /// `None` unless JWTs are on and `jwt.audience` is the URL that this server goes by: there is nothing true to say then.
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

    /// Whether `path` asks for it: at the root, too, where clients look next.
    pub fn is_at(&self, path: &str) -> bool {
        path == self.path || path == WELL_KNOWN
    }

    pub fn answer(&self) -> Response<Body> {
        let kind = (header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        ([kind], self.document.clone()).into_response()
    }
}
