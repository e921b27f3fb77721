//! The transports: each converts its traffic into messages and back.

pub mod bus;
pub mod http;
pub mod lines;
mod local;
pub mod stdio;
pub mod unix;
pub mod websocket;
pub mod write_deadline;

use std::{io, time::Duration};
use tokio_util::sync::CancellationToken;

/// Pauses after a failed accept. Most failures concern one peer and pass at once; running out of descriptors does not.
async fn pause_after(error: &io::Error, stop: &CancellationToken) {
    if matches!(error.raw_os_error(), Some(code) if code == rustix::io::Errno::MFILE.raw_os_error() || code == rustix::io::Errno::NFILE.raw_os_error())
    {
        tracing::error!(%error, "cannot accept: out of file descriptors; trying again in a second");
        let _ = tokio::time::timeout(Duration::from_secs(1), stop.cancelled()).await;
    } else {
        tracing::debug!(%error, "a peer went away before it was accepted");
    }
}
