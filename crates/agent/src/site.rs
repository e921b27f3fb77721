//! The owner's orders that change the site's configuration: grants and tokens.
//!
//! What they do is in the crate above, which has the same functions for its command line; it gives them to the agent
//! with its settings.

use base::error::ToolError;
use serde_json::{Map, Value};
use std::fmt::Debug;

/// The field in which `revoke_token` hands the hashes of what it revoked to the agent, in its answer or in the details of its
/// error.
pub const REVOKED: &str = "revoked_sha256";

/// Does such orders. May block for small files on the card.
pub trait SiteOrders: Debug + Send + Sync {
    /// Does `operation`, ordered by the approver `by`; `None` when it knows no operation of that name. The answer has
    /// `text`, lines for people, and fields for programs.
    fn perform(&self, operation: &str, args: Map<String, Value>, by: &str) -> Option<Result<Value, ToolError>>;
}
