//! One call of one tool of a device, over a stream that leads to its listener: TLS and the token are the device's own.

use crate::{
    bridge::call::{LONGEST, ToolCall},
    client::{Remote, Trust},
};
use appliance::certificate::Fingerprint;
use base::error::{ErrorCode, ToolError};
use reqwest::Url;
use serde_json::Value;
use tokio::{
    io::{DuplexStream, copy_bidirectional},
    net::TcpListener,
};

/// What a device did that took the tunnel and gave no answer.
const NO_ANSWER: &str = "it took the tunnel and its server did not answer: ";
/// What the owner can do then.
const OTHER: &str = "its server may hang, or a clone answers: another machine with its identity. `raspi-mcp fleet status` and \
                     `fleet watch` name clones; restart the device if it is the only one";

/// Calls `tool` of the device that shows this certificate; returns the whole JSON-RPC answer.
///
/// The stream is reached at a port of this machine, which takes one connection. Another program that is faster finds a device
/// that wants a token, as it does in its own network, and the call fails.
///
/// # Errors
/// `verification_failed` or `unavailable` when another server, or none, is at the other end; `unauthenticated` for a token
/// that it does not accept.
pub async fn call_over(
    mut stream: DuplexStream,
    pin: Fingerprint,
    token: Option<String>,
    tool: &str,
    arguments: &Value,
) -> Result<Value, ToolError> {
    let no_port =
        |error: std::io::Error| ToolError::unavailable(format!("no port on this machine for the call: {error}"));
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.map_err(no_port)?;
    let address = listener.local_addr().map_err(no_port)?;
    let url: Url = format!("https://{address}/api/mcp").parse().map_err(|_| ToolError::internal("its own address"))?;
    let remote = Remote::listed(url, &Trust::Pin(pin), token)?;
    let through = async {
        let (mut local, _) = listener.accept().await?;
        drop(listener);
        copy_bidirectional(&mut local, &mut stream).await
    };
    let call = ToolCall { client: "raspi-mcp fleet", tool, arguments, longest: LONGEST };
    let answer = call.answer(&remote, None);
    let mut answer = std::pin::pin!(answer);
    let answer = tokio::select! {
        answer = &mut answer => answer,
        // The tunnel ended before the answer was here: the client has the reason, or finds that nothing comes.
        _ = through => answer.await,
    };
    answer.map_err(|error| match error.code {
        ErrorCode::Unavailable | ErrorCode::Timeout => {
            // The address is that of the port on this machine, of which nobody has to know.
            let message = error.message.replace(&format!("no server answers at https://{address}: "), NO_ANSWER);
            let message = message.replace(remote.url.as_str(), "its server");
            error.with_message(message).hint(OTHER)
        }
        _ => error,
    })
}
