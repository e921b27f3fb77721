//! The agent's end of the connection to a guard: a process of `raspi-mcp guard`, with a socket as its standard input.

use super::{CommandProcess, Ending};
use crate::exec::guard_process::{STOP, Word};
use base::error::ToolError;
use futures::future::BoxFuture;
use std::{io, os::unix::process::ExitStatusExt, process::ExitStatus};
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader},
    net::{
        UnixStream,
        unix::{OwnedReadHalf, OwnedWriteHalf},
    },
    process::Child,
};

/// Longest line from a guard, in bytes: a system error why something could not be started.
const LINE: usize = 4096;

/// A guard and its command. Dropping it closes the socket, which ends both.
pub(super) struct Guard {
    /// Reaped when it ends, whether it is awaited or not.
    _child: Child,
    reader: BufReader<OwnedReadHalf>,
    writer: OwnedWriteHalf,
    line: Vec<u8>,
    ending: Option<Result<Ending, ToolError>>,
}

impl Guard {
    pub(super) fn new(child: Child, socket: UnixStream) -> Self {
        let (reader, writer) = socket.into_split();
        let reader = BufReader::with_capacity(512, reader);
        Self { _child: child, reader, writer, line: Vec::new(), ending: None }
    }

    pub(super) async fn order(&mut self, line: &[u8]) -> io::Result<()> {
        self.writer.write_all(line).await
    }

    async fn hear(&mut self) -> Result<Ending, ToolError> {
        let lost = |why: String| {
            ToolError::unavailable(format!("the guard of this command is gone: {why}"))
                .hint("the machine may be out of memory; logs on the device say more")
        };
        // Cancel safe: the buffer keeps what was read.
        match self.reader.read_until(b'\n', &mut self.line).await {
            Ok(_) if self.line.ends_with(b"\n") && self.line.len() <= LINE => {}
            Ok(_) => return Err(lost("it said nothing".into())),
            Err(error) => return Err(lost(error.to_string())),
        }
        match serde_json::from_slice(&self.line) {
            Ok(Word::Ended(raw)) => {
                let status = ExitStatus::from_raw(raw);
                Ok(status.code().map_or_else(|| Ending::Killed(status.signal().unwrap_or_default()), Ending::Exited))
            }
            Ok(Word::Failed(why)) => Err(ToolError::unavailable(format!("the command could not be started: {why}"))
                .hint("check program and folder in [[exec.commands]], and that the account may use them")),
            Err(error) => Err(lost(error.to_string())),
        }
    }
}

impl CommandProcess for Guard {
    fn ended(&mut self) -> BoxFuture<'_, Result<Ending, ToolError>> {
        Box::pin(async {
            if self.ending.is_none() {
                self.ending = Some(self.hear().await);
            }
            self.ending.clone().unwrap_or_else(|| Err(ToolError::internal("no ending")))
        })
    }

    fn stop(&mut self) -> BoxFuture<'_, ()> {
        Box::pin(async {
            // If the write fails the guard has ended, and its end is read.
            let _ = self.writer.write_all(STOP).await;
        })
    }
}
