//! The firmware's mailbox: asked by the agent alone, for the server alone.

use super::*;
use base::error::ErrorCode;

#[tokio::test]
async fn a_simulated_machine_has_none() {
    let pi = Pi::new();
    let error = pi.server().get::<op::throttled::ReadThrottled>().await.unwrap_err();
    assert_eq!(error.code, ErrorCode::CapabilityMissing, "{error}");
    assert!(!pi.log().contains("throttled"), "a read is no deed");
}
