//! `raspi-mcp routeros test`: opens a router for plans once its way back was seen to work.

use super::super::{plan::rollback_test, service::RouterService};
use base::error::ToolError;

/// Lets the router take a harmless change back, and remembers that it did with this version of RouterOS, which is returned.
///
/// # Errors
/// `not_found` for an unknown router, `conflict` while it is being changed; those of [`rollback_test`].
pub async fn test(service: &RouterService, device: &str) -> Result<String, ToolError> {
    let router = service.routers.get(device)?;
    let _claim = service.work.claim([device.to_owned()])?;
    let version = rollback_test(&router.client).await;
    router.note(version.as_ref().err());
    let version = version?;
    service.work.files.keep_test(device, &version)?;
    Ok(version)
}
