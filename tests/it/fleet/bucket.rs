//! Keys with revisions: of two writers over one revision, one is refused.

use super::Fleet;
use crate::support::fleet::FLEET;
use base::error::{ErrorCode, ToolError};
use fleet_protocol::subject::rollout_bucket;

#[tokio::test]
async fn a_key_is_written_over_the_revision_that_was_read() -> Result<(), ToolError> {
    let fleet = Fleet::of(&[]).await;
    let (one, other) = (fleet.server.console(&fleet.desk).await, fleet.server.console(&fleet.desk).await);
    let bucket = rollout_bucket(FLEET);
    assert_eq!(one.kept(&bucket, "lease").await?, None);
    let first = one.keep(&bucket, "lease", b"one".to_vec(), 0).await?;
    let late = other.keep(&bucket, "lease", b"other".to_vec(), 0).await.unwrap_err();
    assert_eq!(late.code, ErrorCode::Conflict);
    let found = other.kept(&bucket, "lease").await?.unwrap();
    assert_eq!((found.value.as_slice(), found.revision), (&b"one"[..], first));
    // Another key does not make this one's revision old.
    one.keep(&bucket, "plan", vec![0, 255], 0).await?;
    let second = other.keep(&bucket, "lease", b"other".to_vec(), first).await?;
    assert!(second > first);
    assert_eq!(one.keep(&bucket, "lease", b"one".to_vec(), first).await.unwrap_err().code, ErrorCode::Conflict);
    assert_eq!(one.kept(&bucket, "plan").await?.unwrap().value, [0, 255]);
    Ok(())
}
