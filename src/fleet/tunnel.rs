//! The console's end of a tunnel.

use crate::broker::Broker;
use base::error::ToolError;
use fleet_protocol::subject::Subjects;
use tokio::io::DuplexStream;

/// Opens a tunnel to the listener of `device`: bytes of its TLS. It ends when the stream is dropped.
///
/// # Errors
/// `unavailable` when the device is not connected or does not answer; its reason, when it refuses.
pub async fn open(broker: &Broker, subjects: &Subjects, device: &str) -> Result<DuplexStream, ToolError> {
    crate::broker::tunnel::dial(broker, subjects, device).await
}
