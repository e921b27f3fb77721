//! `raspi-mcp bridge`: connects a client that only speaks stdio, such as a desktop assistant, to a server in the
//! network.
//!
//! Each line from the client is forwarded unchanged, in either era; answers and event streams are returned line by
//! line. The server is identified by its pinned certificate, and the client never sees the token. If the server has
//! lost the session (for example after an update), the bridge reopens it without the client noticing.

pub mod call;
mod events;
mod link;
mod message;
mod standing;

use crate::{
    client::Remote,
    daemon,
    rpc::{
        connection::too_long_reply,
        frame::{Frame, Framer},
    },
    transport::stdio::{Reader, StdioWriter},
};
use base::error::ToolError;
use link::ServerLink;
use message::ClientMessage;
use std::{io, sync::Arc, time::Duration};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    sync::{Notify, mpsc},
    task::JoinSet,
    time::timeout,
};

/// Longest line from the client, in bytes: the largest configurable limit of a server.
const LINE: usize = 16 * 1024 * 1024;
/// Most messages that wait for the server's answer at once; further ones wait their turn. A notification is one for at most
/// [`UNANSWERED`].
const IN_FLIGHT: usize = 64;
/// How long a notification may take to be answered; nothing waits for it any longer, neither later messages nor the end.
const UNANSWERED: Duration = Duration::from_secs(10);
/// Most messages queued for the client; more wait in the network.
const WAITING: usize = 16;
const READ: usize = 8 * 1024;

/// Forwards messages until the client disconnects or this process is told to stop.
///
/// # Errors
/// `unavailable` if the client's end cannot be read or written.
pub async fn run(remote: Remote, reader: Reader, writer: StdioWriter) -> Result<(), ToolError> {
    let told = daemon::told_to_stop();
    let (out, waiting) = mpsc::channel(WAITING);
    let link = Arc::new(ServerLink::new(remote, out));
    let mut writing = base::task::spawn(write(waiting, writer));
    let mut requests = JoinSet::new();
    let mut listening = JoinSet::new();
    let carried = async {
        carry(&link, reader, &mut requests, &mut listening).await?;
        // A client that closes its pipe after the last request still expects the answers.
        while requests.join_next().await.is_some() {}
        Ok(())
    };
    let ended = tokio::select! {
        ended = carried => ended,
        () = told => Ok(()),
        gone = &mut writing => gone.unwrap_or_else(|panic| Err(io::Error::other(panic))),
    };
    requests.shutdown().await;
    listening.shutdown().await;
    link.close().await;
    drop(link);
    if !writing.is_finished() {
        let _ = writing.await;
    }
    ended.map_err(|error| ToolError::unavailable(format!("the client's end of the bridge cannot be used: {error}")))
}

async fn carry(
    link: &Arc<ServerLink>,
    mut reader: Reader,
    requests: &mut JoinSet<()>,
    listening: &mut JoinSet<()>,
) -> io::Result<()> {
    let mut framer = Framer::new(LINE);
    let mut buffer = vec![0; READ];
    loop {
        let count = reader.read(&mut buffer).await?;
        let mut bytes = &buffer[..count];
        while let Some(frame) = framer.take(&mut bytes) {
            forward(link, frame, requests, listening).await;
        }
        if count == 0 {
            if let Some(frame) = framer.finish() {
                forward(link, frame, requests, listening).await;
            }
            return Ok(());
        }
    }
}

async fn forward(link: &Arc<ServerLink>, frame: Frame, requests: &mut JoinSet<()>, listening: &mut JoinSet<()>) {
    let line = match frame {
        Frame::Line(line) => line,
        Frame::TooLong => return link.say_anyhow(too_long_reply(LINE)).await,
    };
    let message = ClientMessage::read(&line);
    let (is_first, is_ready) = (message.is("initialize"), message.is("notifications/initialized"));
    let is_notification = message.id.is_none() && message.method.is_some();
    // Requests need the session from `initialize`, and `initialized` must arrive before them; nothing else waits for another
    // message, which may never be answered.
    if is_first {
        link.send(message, line).await;
    } else {
        if requests.len() >= IN_FLIGHT {
            requests.join_next().await;
        }
        while requests.try_join_next().is_some() {}
        let (sent, answered) = (Arc::clone(link), Arc::new(Notify::new()));
        let told = Arc::clone(&answered);
        base::task::spawn_in(requests, async move {
            let sending = sent.send(message, line);
            match is_notification {
                true => drop(timeout(UNANSWERED, sending).await),
                false => sending.await,
            }
            told.notify_one();
        });
        if is_ready {
            answered.notified().await;
        }
    }
    if (is_first || is_ready) && listening.is_empty() && link.has_session() {
        let link = Arc::clone(link);
        base::task::spawn_in(listening, async move { link.listen().await });
    }
}

async fn write(mut waiting: mpsc::Receiver<Vec<u8>>, mut writer: StdioWriter) -> io::Result<()> {
    while let Some(mut message) = waiting.recv().await {
        // One message per line: servers may break lines in events, and JSON has the same meaning without.
        message.retain(|byte| !matches!(byte, b'\n' | b'\r'));
        message.push(b'\n');
        writer.write_all(&message).await?;
        writer.flush().await?;
    }
    Ok(())
}
