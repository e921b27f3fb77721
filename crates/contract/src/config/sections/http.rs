//! `[http]`: the port that MCP, plain JSON-RPC and WebSocket share.

use crate::config::{
    declare::section,
    key::InState,
    kind::{SettingKind, count, seconds},
};
use std::net::{Ipv4Addr, SocketAddr};

section! {
    /// Streamable HTTP, plain JSON-RPC and WebSocket on one port.
    [http] pub struct Http {
        /// Whether to listen on HTTP.
        enabled: bool = true, SettingKind::Bool, InState::Off;
        /// Address and port. Any address beyond loopback needs `tls.enabled` and a way to authenticate callers: a token
        /// or `[jwt]`.
        // Never in a state fragment: the server must not expose itself to a network.
        listen: SocketAddr = SocketAddr::from((Ipv4Addr::LOCALHOST, 8765)), SettingKind::Address, InState::Never;
        /// Names accepted in the `Host` header, in addition to the loopback names and, with TLS, the machine's own
        /// names, those in the certificate and the address that received the request. Protects against DNS rebinding. A
        /// name beyond loopback asks every caller over TCP for a token, on loopback too.
        allowed_hosts: Vec<String> = Vec::new(), SettingKind::Hosts, InState::Never;
        /// Web pages that may call, by their `Origin` header, in addition to those on loopback.
        allowed_origins: Vec<String> = Vec::new(), SettingKind::Origins, InState::Never;
        /// Maximum number of sessions; one caller can have half of them. At the limit, a new session replaces one that
        /// was unused for 30 seconds, or is refused.
        session_limit: usize = 64, count(1, 1024), InState::Lower;
        /// Time after which an unused session is ended.
        session_idle_seconds: u64 = 900, seconds(10, 86_400), InState::Lower;
        /// Time limit for receiving one request body.
        body_timeout_seconds: u64 = 10, seconds(1, 120), InState::Lower;
        /// Maximum number of TCP connections; one caller can have half of them. One address beyond loopback can have a
        /// quarter.
        max_connections: usize = 64, count(1, 1024), InState::Lower;
        /// Whether `/metrics` is served, in Prometheus text format, to callers that may call tools.
        metrics: bool = true, SettingKind::Bool, InState::Off;
        /// Whether the page for a person is served at `/`. Signing in takes a token.
        page: bool = true, SettingKind::Bool, InState::Off;
    }
}
