//! A connection of the server half that becomes the standard input and output of an agent: the two then talk to each
//! other, and nothing of it passes through this process.

use crate::{
    context::Agent,
    context::Context,
    operations::{Done, Operation},
};
use base::error::ToolError;
use serde::{Deserialize, Serialize};
use std::io;
use tokio::{
    io::BufReader,
    net::unix::{OwnedReadHalf, OwnedWriteHalf},
};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AttachRequest {
    /// The id that [`RunAgent`](super::RunAgent) is given afterwards.
    pub id: String,
}

/// Takes a connection over. Nothing else may be under way on it.
pub struct AttachAgent;

impl Operation for AttachAgent {
    const TAG: &'static str = "attach_agent";
    const ANSWER: &'static str = "done";
    type Request = AttachRequest;
    type Answer = Done;

    async fn run(_cx: &Context<'_>, _request: AttachRequest) -> Result<Done, ToolError> {
        Err(ToolError::precondition("an agent's streams take a connection of their own")
            .hint("open another connection to the agent"))
    }
}

/// Keeps the connection until the agent of that id is started.
///
/// # Errors
/// When the halves of the socket cannot be joined.
pub(crate) fn take_stream(
    agent: &Agent,
    id: &str,
    reader: BufReader<OwnedReadHalf>,
    writer: OwnedWriteHalf,
) -> io::Result<()> {
    let stream = reader.into_inner().reunite(writer).map_err(io::Error::other)?.into_std()?;
    // A program reads and writes it like a file.
    stream.set_nonblocking(false)?;
    agent.agents.keep_stream(id, stream.into());
    Ok(())
}
