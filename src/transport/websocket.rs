//! WebSocket: one message per text frame, in both directions.

use crate::rpc::{
    connection::{Connection, PARTING},
    envelope::{INVALID_REQUEST, RpcError},
    outbox::Outgoing,
    router::Server,
};
use axum::{
    body::Body,
    extract::ws::{CloseFrame, Message, Utf8Bytes, WebSocket, WebSocketUpgrade, close_code},
    http::Response,
};
use contract::access::{caller::Caller, presence::Presence, seats::Seat};
use futures::{
    SinkExt, StreamExt,
    stream::{SplitSink, SplitStream},
};
use std::{sync::Arc, time::Duration};

/// Accepts the upgrade and serves the connection as a task.
///
/// `seat`: its place among the connections, freed when it ends. `remaining`: remaining lifetime of the caller's token;
/// the connection ends with it.
pub fn upgrade(
    server: Arc<Server>,
    caller: Caller,
    seat: Arc<Seat>,
    remaining: Option<Duration>,
    upgrade: WebSocketUpgrade,
) -> Response<Body> {
    let limit = server.options.request_bytes;
    upgrade
        .protocols(["mcp"])
        .max_message_size(limit)
        .max_frame_size(limit)
        .read_buffer_size(8 * 1024)
        .write_buffer_size(0)
        .on_upgrade(move |socket| {
            let tasks = server.tasks.clone();
            tasks.track_future(serve(server, caller, seat, remaining, socket))
        })
}

async fn serve(server: Arc<Server>, caller: Caller, seat: Arc<Seat>, remaining: Option<Duration>, socket: WebSocket) {
    let pass = caller.pass.clone();
    let is_revoked = || pass.as_ref().is_some_and(Presence::is_gone);
    let (sink, mut stream) = socket.split();
    let (mut connection, outgoing) = Connection::new(Arc::clone(&server), caller);
    let mut writing = base::task::spawn(write(outgoing, sink));
    let expired = async {
        match remaining {
            Some(remaining) => tokio::time::sleep(remaining).await,
            None => std::future::pending().await,
        }
    };
    let mut made_room = false;
    let goodbye = tokio::select! {
        biased;
        () = seat.evicted() => {
            made_room = true;
            Some(if is_revoked() {
                parting(close_code::POLICY, "the token was revoked")
            } else {
                parting(close_code::AGAIN, "others need the place of an idle connection")
            })
        }
        goodbye = read(&server, &mut connection, &mut stream) => goodbye,
        () = expired => Some(parting(close_code::POLICY, "the token has expired")),
    };
    if goodbye.is_none() || made_room {
        connection.abandon();
    }
    connection.finish().await;
    if let Ok(Ok(Ok(mut sink))) = tokio::time::timeout(PARTING, &mut writing).await {
        let _ = sink.send(Message::Close(goodbye)).await;
    } else {
        writing.abort();
    }
}

/// Reads until the peer closes, violates the protocol, or the server stops; returns the close message.
async fn read(server: &Server, connection: &mut Connection, stream: &mut SplitStream<WebSocket>) -> Option<CloseFrame> {
    loop {
        let message = tokio::select! {
            biased;
            () = server.stop.cancelled() => return Some(parting(close_code::AWAY, "the server is stopping")),
            () = connection.gone() => return None,
            message = stream.next() => message?,
        };
        match message {
            Ok(Message::Text(text)) => tokio::select! {
                biased;
                () = connection.accept(text.as_bytes()) => {}
                // A peer that does not read its answers must not delay the server's stop.
                () = server.stop.cancelled() => return Some(parting(close_code::AWAY, "the server is stopping")),
            },
            Ok(Message::Binary(_)) => {
                connection
                    .fault(&RpcError::new(None, INVALID_REQUEST, "Invalid Request: messages go in text frames"))
                    .await;
            }
            Ok(Message::Ping(_) | Message::Pong(_)) => {}
            Ok(Message::Close(_)) => return None,
            Err(error) if is_too_long(&error) => {
                // The rest of the frame cannot be skipped: WebSocket requires closing (RFC 6455, 1009).
                connection.too_long().await;
                return Some(parting(close_code::SIZE, "the message is too long"));
            }
            Err(error) => {
                tracing::debug!(%error, "a WebSocket broke");
                return None;
            }
        }
    }
}

fn is_too_long(error: &axum::Error) -> bool {
    // axum hides the type; the text is that of tungstenite's `CapacityError::MessageTooLong`.
    error.to_string().contains("too long")
}

fn parting(code: u16, reason: &'static str) -> CloseFrame {
    CloseFrame { code, reason: Utf8Bytes::from_static(reason) }
}

async fn write(
    mut outgoing: Outgoing,
    mut sink: SplitSink<WebSocket, Message>,
) -> Result<SplitSink<WebSocket, Message>, axum::Error> {
    while let Some(bytes) = outgoing.next().await {
        let text = Utf8Bytes::try_from(bytes::Bytes::from(bytes)).map_err(axum::Error::new)?;
        sink.send(Message::Text(text)).await?;
    }
    Ok(sink)
}
