//! The server's and the console's end of an install stream: sends head, index and blocks. The agent decides.

use super::{
    frame::{self, Armed, FrameKind, HEADER, InstallProgress, MAX_INDEX_PIECE, NeededBlocks, broken},
    judged::Judged,
};
use base::error::{ErrorCode, ToolError, WireError};
use std::{io, time::Duration};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{
        UnixStream,
        unix::{OwnedReadHalf, OwnedWriteHalf},
    },
    sync::{mpsc, watch},
    task::AbortHandle,
};

/// The agent reports progress every few seconds; a card that hangs longer than this has failed.
const SILENCE: Duration = Duration::from_secs(180);

/// An install under way. Dropping it ends the stream; what is written stays and is not requested again.
pub struct InstallStream {
    writer: OwnedWriteHalf,
    answers: mpsc::Receiver<Result<Answer, ToolError>>,
    /// An answer that arrived while its request was still being written.
    early: Option<Answer>,
    progress: watch::Receiver<Option<InstallProgress>>,
    reader: AbortHandle,
}

/// The agent's messages except progress.
#[derive(Debug)]
enum Answer {
    Judged(Judged),
    Wanted(NeededBlocks),
    Armed(Armed),
}

/// The result of [`InstallStream::finish`].
#[derive(Debug, PartialEq, Eq)]
pub enum InstallOutcome {
    /// Everything is written and read back; the slot is armed.
    Armed(Armed),
    /// These blocks have to be sent as well (a copy on the card had rotted); then finish again.
    More(NeededBlocks),
}

impl InstallStream {
    /// Sends the head of a bundle into a stream that the agent has accepted for an install, and returns the agent's
    /// judgement. Must be called inside the runtime.
    ///
    /// # Errors
    /// The agent's refusal; `unavailable` when it is gone.
    pub async fn begin(stream: UnixStream, head: &[u8]) -> Result<(Self, Judged), ToolError> {
        let (reader, writer) = stream.into_split();
        let (say, answers) = mpsc::channel(4);
        let (tell, progress) = watch::channel(None);
        let reader = base::task::spawn(listen(reader, say, tell)).abort_handle();
        let mut install = Self { writer, answers, early: None, progress, reader };
        install.send(FrameKind::Head, &[head]).await?;
        match install.answer().await? {
            Answer::Judged(judged) => Ok((install, judged)),
            _ => Err(out_of_turn()),
        }
    }

    /// The agent's progress.
    pub fn progress(&self) -> watch::Receiver<Option<InstallProgress>> {
        self.progress.clone()
    }

    /// Sends the next bytes of the index, in any amount.
    ///
    /// # Errors
    /// The agent's refusal; `unavailable` when it is gone. The same for all methods below.
    pub async fn index(&mut self, bytes: &[u8]) -> Result<(), ToolError> {
        for piece in bytes.chunks(MAX_INDEX_PIECE) {
            self.send(FrameKind::Index, &[piece]).await?;
        }
        Ok(())
    }

    /// Waits, after the whole index, for the blocks that the agent needs. It has written nothing yet.
    pub async fn wanted(&mut self) -> Result<NeededBlocks, ToolError> {
        match self.answer().await? {
            Answer::Wanted(wanted) => Ok(wanted),
            _ => Err(out_of_turn()),
        }
    }

    /// Sends block `n` as it is stored in the bundle. In any order; ascending is the fastest.
    pub async fn block(&mut self, n: u32, stored: &[u8]) -> Result<(), ToolError> {
        self.send(FrameKind::Block, &[&n.to_le_bytes(), stored]).await
    }

    /// Marks all wanted blocks as sent, and waits until they are written, read back and armed.
    pub async fn finish(&mut self) -> Result<InstallOutcome, ToolError> {
        self.send(FrameKind::Finish, &[]).await?;
        match self.answer().await? {
            Answer::Armed(armed) => Ok(InstallOutcome::Armed(armed)),
            Answer::Wanted(wanted) => Ok(InstallOutcome::More(wanted)),
            Answer::Judged(_) => Err(out_of_turn()),
        }
    }

    /// Cancels, and waits until the agent has closed the target. What is written stays, to be resumed.
    pub async fn cancel(mut self) -> Result<(), ToolError> {
        self.send(FrameKind::Cancel, &[]).await?;
        // The agent closes the stream when all queued blocks are on the card.
        let ended = async { while let Some(Ok(_)) = self.answers.recv().await {} };
        tokio::time::timeout(SILENCE, ended).await.map_err(|_| {
            ToolError::unavailable(format!("the agent did not end the update within {} s", SILENCE.as_secs()))
                .hint("the card may hang: look at the kernel's log")
        })
    }

    async fn send(&mut self, kind: FrameKind, parts: &[&[u8]]) -> Result<(), ToolError> {
        let length = parts.iter().map(|part| part.len()).sum::<usize>();
        // Reported here, as the caller's mistake, before the agent ends the stream for it.
        if length > kind.bound() {
            let message = format!("a frame {kind:?} has {} bytes at most, this one {length}", kind.bound());
            return Err(ToolError::new(ErrorCode::ContentTooLarge, message));
        }
        let writer = &mut self.writer;
        let write = async {
            writer.write_all(&frame::header(kind, length)).await?;
            for part in parts {
                writer.write_all(part).await?;
            }
            io::Result::Ok(())
        };
        tokio::pin!(write);
        loop {
            tokio::select! {
                biased;
                // An agent that has refused stops reading: its reason is taken before a write can fail.
                answer = self.answers.recv(), if self.early.is_none() => match answer {
                    Some(Ok(answer)) => self.early = Some(answer),
                    Some(Err(refused)) => return Err(refused),
                    None => return Err(gone()),
                },
                written = &mut write => return match written {
                    Ok(()) => Ok(()),
                    Err(error) => Err(match tokio::time::timeout(SILENCE, self.answers.recv()).await {
                        Ok(Some(Err(refused))) => refused,
                        _ => broken(&error),
                    }),
                },
            }
        }
    }

    /// The next answer; fails when the agent is silent for [`SILENCE`].
    async fn answer(&mut self) -> Result<Answer, ToolError> {
        if let Some(answer) = self.early.take() {
            return Ok(answer);
        }
        loop {
            tokio::select! {
                biased;
                answer = self.answers.recv() => return answer.unwrap_or_else(|| Err(gone())),
                moved = tokio::time::timeout(SILENCE, self.progress.changed()) => match moved {
                    Ok(Ok(())) => {}
                    // The reader has ended: its last message is in the channel.
                    Ok(Err(_)) => return self.answers.recv().await.unwrap_or_else(|| Err(gone())),
                    Err(_) => return Err(ToolError::unavailable(format!(
                        "the agent has said nothing of the update for {} s", SILENCE.as_secs()
                    )).hint("the card may hang: look at the kernel's log, then start the update again")),
                },
            }
        }
    }
}

impl Drop for InstallStream {
    fn drop(&mut self) {
        self.reader.abort();
    }
}

/// Dispatches the agent's messages until the last one, or until the agent is gone.
async fn listen(
    mut from: OwnedReadHalf,
    say: mpsc::Sender<Result<Answer, ToolError>>,
    tell: watch::Sender<Option<InstallProgress>>,
) {
    let mut payload = Vec::new();
    loop {
        let heard = hear(&mut from, &mut payload, &tell).await;
        let last = !matches!(heard, Ok(None | Some(Answer::Judged(_) | Answer::Wanted(_))));
        if let Some(answer) = heard.transpose()
            && say.send(answer).await.is_err()
        {
            return;
        }
        if last {
            return;
        }
    }
}

async fn hear(
    from: &mut OwnedReadHalf,
    payload: &mut Vec<u8>,
    tell: &watch::Sender<Option<InstallProgress>>,
) -> Result<Option<Answer>, ToolError> {
    let mut bytes = [0; HEADER];
    from.read_exact(&mut bytes).await.map_err(|error| match error.kind() {
        io::ErrorKind::UnexpectedEof => gone(),
        _ => broken(&error),
    })?;
    let (kind, length) = frame::parse(bytes, false)?;
    payload.clear();
    payload.resize(length, 0);
    from.read_exact(payload).await.map_err(|error| broken(&error))?;
    let garbled = |error: serde_json::Error| ToolError::internal(format!("a frame of the agent's: {error}"));
    match kind {
        FrameKind::Wanted => Ok(Some(Answer::Wanted(NeededBlocks::from_bytes(payload)))),
        FrameKind::Judged => Ok(Some(Answer::Judged(serde_json::from_slice(payload).map_err(garbled)?))),
        FrameKind::Armed => Ok(Some(Answer::Armed(serde_json::from_slice(payload).map_err(garbled)?))),
        FrameKind::Failed => Err(serde_json::from_slice::<WireError>(payload).map_err(garbled)?.into()),
        _ => {
            tell.send_replace(Some(serde_json::from_slice(payload).map_err(garbled)?));
            Ok(None)
        }
    }
}

fn gone() -> ToolError {
    ToolError::unavailable("the agent ended the install stream without a word")
        .hint("it may have restarted; start the update again and it goes on from where it was")
}

fn out_of_turn() -> ToolError {
    ToolError::internal("the agent answered out of turn")
}
