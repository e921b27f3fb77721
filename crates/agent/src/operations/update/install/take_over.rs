//! The agent's end of the hand-over: from lines on the one thread to frames on a thread of its own.

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

/// How long the server may take to read what it is told.
const UNREAD: Duration = Duration::from_secs(60);

/// Ends the stream when nobody waits for the install any more: its thread then reads the end of it and stops in order.
struct Ends(Plain);

impl Drop for Ends {
    fn drop(&mut self) {
        // Already closed, then.
        let _ = self.0.shutdown(Shutdown::Both);
    }
}

/// Whether the connection may become a stream: nothing else is under way on it.
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

/// Runs `session` on the connection, in a thread of its own: for minutes it reads, hashes and writes.
///
/// # Errors
/// When the halves cannot be made one, or no thread started.
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
