//! One message per line over a byte stream (stdio, unix socket).

use crate::rpc::{
    connection::{Connection, PARTING},
    frame::{Frame, Framer},
    outbox::Outgoing,
    router::Server,
};
use contract::access::caller::Caller;
use std::{io, pin::pin, sync::Arc};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

/// Read buffer in bytes. Small, because idle connections keep it.
const READ: usize = 8 * 1024;
/// Answers that are ready together are written together, up to this many bytes.
const WRITE: usize = 32 * 1024;

/// Serves one peer until it disconnects or the server stops.
pub async fn serve(
    server: Arc<Server>,
    caller: Caller,
    mut reader: impl AsyncRead + Unpin,
    writer: impl AsyncWrite + Unpin + Send + 'static,
) {
    let (mut connection, outgoing) = Connection::new(Arc::clone(&server), caller);
    let mut writing = base::task::spawn(write(outgoing, writer));
    let mut framer = Framer::new(server.options.request_bytes);
    let mut buffer = vec![0; READ];
    let ended = {
        // Created once, because registering takes a lock.
        let (mut stopped, mut gone) = (pin!(server.stop.cancelled()), pin!(connection.gone()));
        let mut evicted = pin!(connection.evicted());
        'reading: loop {
            let read = tokio::select! {
                biased;
                () = &mut stopped => break false,
                () = &mut gone => break false,
                () = &mut evicted => {
                    connection.abandon();
                    break false;
                }
                read = reader.read(&mut buffer) => read,
            };
            let Ok(count @ 1..) = read else { break true };
            let mut bytes = &buffer[..count];
            while let Some(frame) = framer.take(&mut bytes) {
                tokio::select! {
                    biased;
                    () = take(&mut connection, frame) => {}
                    // A peer that does not read its answers must not delay the server's stop.
                    () = &mut stopped => break 'reading false,
                }
            }
        }
    };
    if ended && let Some(frame) = framer.finish() {
        take(&mut connection, frame).await;
    }
    connection.finish().await;
    // The answers are complete; a peer that does not read them in time loses them.
    if tokio::time::timeout(PARTING, &mut writing).await.is_err() {
        writing.abort();
    }
}

async fn take(connection: &mut Connection, frame: Frame) {
    match frame {
        Frame::Line(line) => connection.accept(&line).await,
        Frame::TooLong => connection.too_long().await,
    }
}

async fn write(mut outgoing: Outgoing, mut writer: impl AsyncWrite + Unpin) -> io::Result<()> {
    while let Some(mut bytes) = outgoing.next().await {
        bytes.push(b'\n');
        while bytes.len() < WRITE
            && let Some(more) = outgoing.ready()
        {
            bytes.extend_from_slice(&more);
            bytes.push(b'\n');
        }
        writer.write_all(&bytes).await?;
        writer.flush().await?;
    }
    writer.shutdown().await
}
