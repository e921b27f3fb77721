//! Attacks: on the network door, against the real listener; on the fields of every tool; on the folders that files.* may reach.

mod button;
mod claim;
mod fields;
mod files;
mod flood;
mod names;
mod passphrase;
mod photos;
mod policy;
mod revoked;
mod shares;
mod tls;
mod tokens;
mod unread;

use crate::support::served::soon;
use futures::StreamExt;
use tokio::net::TcpStream;
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, tungstenite::Message};

/// The reason with which the server closes a WebSocket.
async fn goodbye(socket: &mut WebSocketStream<MaybeTlsStream<TcpStream>>) -> String {
    let close = async {
        loop {
            match socket.next().await {
                Some(Ok(Message::Close(frame))) => return frame,
                Some(Ok(_)) => {}
                other => panic!("no goodbye: {other:?}"),
            }
        }
    };
    soon(close).await.expect("a reason").reason.to_string()
}
