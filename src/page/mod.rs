//! The page at `/`: what a person sees of this machine, and the session in which they see it (docs/page.md).
//!
//! The page holds no data and no rights of its own: a session is a bearer token's standing under another principal
//! (`page:NAME`), and all that it shows are calls of tools through the pipeline. Nothing runs while no page is open.
//! `transport::http` serves what is here; this module knows no listener.

pub mod assets;
pub mod events;
pub mod headers;
pub mod notice;
pub mod origin;
pub mod sessions;

/// The page itself.
pub const ROOT: &str = "/";
/// All else of it; its cookie counts below this path only.
pub const BELOW: &str = "/page/";
/// Opens (POST), describes (GET) and ends (DELETE) a session.
pub const SESSION: &str = "/page/session";
/// One call of a tool, as JSON-RPC.
pub const CALL: &str = "/page/call";
/// What has changed, as server-sent events.
pub const EVENTS: &str = "/page/events";
