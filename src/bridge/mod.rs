//! `raspi-mcp bridge`: a client that only speaks stdio, such as a desktop assistant, talks to a server in the network.
//!
//! Each line from the client is sent as it is, in whichever era it is written; what comes back, answers and event streams
//! alike, goes to the client line by line. The server is known by its pinned certificate, and the token never
//! passes through the client. When the server has forgotten the session (it was updated, say), the bridge opens it
//! again and the client does not notice.

pub mod events;
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
    transport::stdio::{Reader, Writer},
};
use base::error::ToolError;
use link::Link;
use message::Message;
use std::{io, sync::Arc};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    sync::mpsc,
    task::JoinSet,
};

/// The longest line from the client: the most that a server may be set to take.
const LINE: usize = 16 * 1024 * 1024;
/// Requests on their way at once; the client waits with more.
const IN_FLIGHT: usize = 64;
/// Messages that wait for the client to read them; more wait in the network.
const WAITING: usize = 16;
const READ: usize = 8 * 1024;

/// Carries messages until the client hangs up or this process is told to stop.
///
/// # Errors
/// `unavailable` when the client's end cannot be read or written.
pub async fn run(remote: Remote, reader: Reader, writer: Writer) -> Result<(), ToolError> {
    let told = daemon::told_to_stop();
    let (out, waiting) = mpsc::channel(WAITING);
    let link = Arc::new(Link::new(remote, out));
    let mut writing = base::task::spawn(write(waiting, writer));
    let mut requests = JoinSet::new();
    let mut listening = JoinSet::new();
    let carried = async {
        carry(&link, reader, &mut requests, &mut listening).await?;
        // A pipe that is closed after its last request still wants the answers.
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
    link: &Arc<Link>,
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

async fn forward(link: &Arc<Link>, frame: Frame, requests: &mut JoinSet<()>, listening: &mut JoinSet<()>) {
    let line = match frame {
        Frame::Line(line) => line,
        Frame::TooLong => return link.say_anyhow(too_long_reply(LINE)).await,
    };
    let message = Message::read(&line);
    if message.id.is_none() || message.is("initialize") {
        // In order: what follows `initialize` needs its session, what follows `initialized` needs that to have arrived.
        link.send(message, line).await;
        if listening.is_empty() && link.has_session() {
            let link = Arc::clone(link);
            listening.spawn(async move { link.listen().await });
        }
        return;
    }
    if requests.len() >= IN_FLIGHT {
        requests.join_next().await;
    }
    while requests.try_join_next().is_some() {}
    let link = Arc::clone(link);
    requests.spawn(async move { link.send(message, line).await });
}

async fn write(mut waiting: mpsc::Receiver<Vec<u8>>, mut writer: Writer) -> io::Result<()> {
    while let Some(mut message) = waiting.recv().await {
        // One message a line: servers may break lines in events, JSON means the same without.
        message.retain(|byte| !matches!(byte, b'\n' | b'\r'));
        message.push(b'\n');
        writer.write_all(&message).await?;
        writer.flush().await?;
    }
    Ok(())
}
