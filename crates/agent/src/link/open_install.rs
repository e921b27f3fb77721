//! The server's end of the hand-over: a separate connection, which after `hello` and the request becomes a stream.

use crate::{
    operations::{
        AnyRequest,
        hello::{Greeting, Hello},
    },
    protocol::{AgentReply, AgentRequest},
    wire::{LineRead, MAX_LINE, read_line, write_line},
};
use base::error::ToolError;
use std::{io, time::Duration};
use tokio::{io::BufReader, net::UnixStream};

/// The same as for every short operation of the agent.
const ANSWER: Duration = Duration::from_secs(10);

/// Sends `hello` over `stream`, and the request that has the agent take it over: an install, or the streams of an agent.
///
/// # Errors
/// The agent's own: `conflict` when an update is under way, `capability_missing` when this machine has no slots;
/// `unavailable` when it does not answer.
pub(super) async fn open(mut stream: UnixStream, request: AnyRequest) -> Result<UnixStream, ToolError> {
    ask(&mut stream, 1, AnyRequest::of::<Hello>(Greeting::ours())).await?;
    ask(&mut stream, 2, request).await?;
    Ok(stream)
}

async fn ask(stream: &mut UnixStream, id: u64, op: AnyRequest) -> Result<(), ToolError> {
    let lost =
        |error: io::Error| ToolError::unavailable(format!("the agent does not take the connection over: {error}"));
    let mut line = Vec::new();
    let asked = async {
        write_line(stream, &AgentRequest { id, op }).await?;
        // The agent sends nothing more after an answer until it is asked again, so the buffer holds only this line.
        read_line(&mut BufReader::with_capacity(4096, stream), &mut line, MAX_LINE).await
    };
    let heard = tokio::time::timeout(ANSWER, asked)
        .await
        .map_err(|_| ToolError::unavailable(format!("the agent does not answer within {} s", ANSWER.as_secs())))?;
    match heard.map_err(lost)? {
        LineRead::Whole => {
            let reply: AgentReply = serde_json::from_slice(&line).map_err(|error| lost(error.into()))?;
            reply.into_result().map(drop)
        }
        LineRead::End | LineRead::TooLong => Err(lost(io::ErrorKind::UnexpectedEof.into())),
    }
}
