//! The agent's end of the hand-over: from lines on the runtime to frames on a separate thread.

use base::error::ToolError;
use std::{io, net::Shutdown, os::unix::net::UnixStream as Plain, time::Duration};
use tokio::{
    io::BufReader,
    net::{
        UnixStream,
        unix::{OwnedReadHalf, OwnedWriteHalf},
    },
    sync::oneshot,
};

/// Limit for the server to read what is written to it.
const UNREAD: Duration = Duration::from_secs(60);

/// Shuts the stream down on drop, when the install is no longer awaited: its thread reads the end of the stream and
/// stops in order.
struct Ends(Plain);

impl Drop for Ends {
    fn drop(&mut self) {
        // It may be closed already.
        let _ = self.0.shutdown(Shutdown::Both);
    }
}

/// Whether the connection may become a stream: no other request is in progress on it.
///
/// # Errors
/// `failed_precondition`.
pub(crate) fn may_take_over(reader: &BufReader<OwnedReadHalf>, free: bool) -> Result<(), ToolError> {
    if free && reader.buffer().is_empty() {
        return Ok(());
    }
    Err(ToolError::precondition("an install takes a connection of its own, on which nothing else is under way")
        .hint("open another connection to the agent"))
}

/// Runs `session` on the connection, in a thread of its own: it reads, hashes and writes for minutes.
///
/// # Errors
/// When the halves of the socket cannot be joined, or no thread can be started.
pub(crate) async fn take_over(
    reader: BufReader<OwnedReadHalf>,
    writer: OwnedWriteHalf,
    session: impl FnOnce(Plain) + Send + 'static,
) -> io::Result<()> {
    let stream: UnixStream = reader.into_inner().reunite(writer).map_err(io::Error::other)?;
    let stream = stream.into_std()?;
    stream.set_nonblocking(false)?;
    stream.set_write_timeout(Some(UNREAD))?;
    let _ends = Ends(stream.try_clone()?);
    let (done, ended) = oneshot::channel::<()>();
    std::thread::Builder::new().name("install".into()).spawn(move || {
        session(stream);
        drop(done);
    })?;
    // Closed by the thread, however it ends.
    let _ = ended.await;
    Ok(())
}
