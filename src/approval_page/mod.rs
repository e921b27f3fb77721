//! The approval page: a small web server of its own that carries signed asks to a browser, and its answers back.
//!
//! It runs as a user of its own with a TLS key of its own, and systemd holds its port: a server half that was taken over
//! can neither serve this page nor change its script. At the agent it may carry asks, answers and orders, nothing else.
//! It has no MCP, no cookies and no state (docs/approvals.md).

mod assets;
mod export;
mod serve;

pub use assets::CONTENT_SECURITY_POLICY;
pub use export::export;
pub use serve::{Page, serve};
