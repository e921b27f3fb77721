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
        /// Whether to listen on HTTP at all.
        enabled: bool = true, SettingKind::Bool, InState::Off;
        /// Address and port. Beyond loopback it needs `tls.enabled` and a way to know callers: a token, or `[jwt]`.
        // Never in a state fragment: the server must not expose itself to a network.
        listen: SocketAddr = SocketAddr::from((Ipv4Addr::LOCALHOST, 8765)), SettingKind::Address, InState::Never;
        /// Names accepted in the `Host` header beside the loopback ones, and with TLS the machine's own, those in the
        /// certificate and the address a request came to. Guards against DNS rebinding.
        allowed_hosts: Vec<String> = Vec::new(), SettingKind::Hosts, InState::Never;
        /// Web pages that may call, as `Origin` gives them, beside those on loopback.
        allowed_origins: Vec<String> = Vec::new(), SettingKind::Origins, InState::Never;
        /// Sessions at once, half of them for one caller; one more takes the place of one unused for 30 seconds, or is
        /// refused.
        session_limit: usize = 64, count(1, 1024), InState::Lower;
        /// A session nobody used for so long is ended.
        session_idle_seconds: u64 = 900, seconds(10, 86_400), InState::Lower;
        /// How long a sender may take over one request body.
        body_timeout_seconds: u64 = 10, seconds(1, 120), InState::Lower;
        /// TCP connections at once, half of them for one caller. One address beyond loopback gets a quarter of them.
        max_connections: usize = 64, count(1, 1024), InState::Lower;
        /// Whether `/metrics` answers, in Prometheus' text format, to whoever may call tools.
        metrics: bool = true, SettingKind::Bool, InState::Off;
    }
}
