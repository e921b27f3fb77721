//! The server's end of the socket. Connects on demand and reconnects when the agent has restarted.

use super::{
    doors::DOORS,
    operations::{
        Answer, AnyRequest, Operation, OperationRow,
        hello::{Greeting, Hello},
    },
    protocol::{AgentReply, AgentRequest},
    wire::{LineRead, MAX_LINE, read_line, write_bytes},
};
use base::{
    error::{ErrorCode, ToolError},
    os::{blocking, doors, local},
};
use futures::future::BoxFuture;
use std::{
    collections::HashMap,
    io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};
use tokio::{
    io::BufReader,
    net::{
        UnixStream,
        unix::{OwnedReadHalf, OwnedWriteHalf},
    },
    sync::oneshot,
    task::AbortHandle,
};

/// Limit for every operation that does not wait; the agent syncs a few small files at most.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);
/// Longest answer: a list of 32 asks with their arguments.
const MAX_ANSWER: usize = 4 * 1024 * 1024;

/// A connection to the agent's socket, made on demand. Cheap to clone.
#[derive(Clone)]
pub struct Client(Arc<Inner>);

struct Inner {
    path: PathBuf,
    connection: tokio::sync::Mutex<Option<Arc<Connection>>>,
}

struct Connection {
    writer: tokio::sync::Mutex<OwnedWriteHalf>,
    waiting: Arc<Mutex<Waiting>>,
    reader: AbortHandle,
}

#[derive(Default)]
struct Waiting {
    next_id: u64,
    closed: bool,
    /// The agent's reason, if it sent one before it closed.
    refusal: Option<ToolError>,
    answers: HashMap<u64, oneshot::Sender<Result<Answer, ToolError>>>,
}

impl Client {
    /// A client of the socket at `path`. Does not connect.
    pub fn new(path: &Path) -> Self {
        Self(Arc::new(Inner { path: path.to_owned(), connection: tokio::sync::Mutex::new(None) }))
    }

    pub fn path(&self) -> &Path {
        &self.0.path
    }

    /// Requests an operation, called `name` in refusals, and waits for its answer; `wait` is how long the agent is
    /// asked to wait before it answers. Not generic, so that it is compiled once.
    ///
    /// # Errors
    /// The agent's own; `unavailable` when it does not answer. The operation may have been done all the same.
    pub(super) fn ask(
        &self,
        request: AnyRequest,
        name: &'static str,
        wait: Duration,
    ) -> BoxFuture<'_, Result<Answered, ToolError>> {
        Box::pin(async move {
            let row = request.row();
            let connection = blocking::unless_told(name, self.connection()).await??;
            let answer = connection.request(request, wait + ANSWER_TIMEOUT).await;
            let answer = answer.map_err(|fault| self.lost(row, fault))??;
            Ok(Answered { answer, from: Some((self.clone(), connection, row)) })
        })
    }

    /// The error for a lost answer to `row`: it is unknown whether the operation was done.
    fn lost(&self, row: &OperationRow, fault: String) -> ToolError {
        let error = self.offline(fault).hint(
            "it was reached and then fell silent, as when it restarts: `systemctl status raspi-mcp-agent` says how it is, \
             `systemctl start raspi-mcp-agent` starts it",
        );
        if row.changes { error.maybe_changed() } else { error }
    }

    /// Opens a new connection. `hello` is not sent.
    ///
    /// # Errors
    /// `unavailable`.
    pub(super) async fn connect(&self) -> Result<UnixStream, ToolError> {
        let path = &self.0.path;
        doors::connect(path, &DOORS, doors::PATIENCE).await.map_err(|error| match error.kind() {
            io::ErrorKind::TimedOut => local::crowded("the agent", path, &error),
            io::ErrorKind::PermissionDenied => self
                .offline(error.to_string())
                .hint("this user may not connect to it: run it as root, or as the user that the agent runs as"),
            _ => self.offline(error.to_string()),
        })
    }

    async fn connection(&self) -> Result<Arc<Connection>, ToolError> {
        let mut slot = self.0.connection.lock().await;
        if let Some(connection) = &*slot
            && !connection.is_closed()
        {
            return Ok(Arc::clone(connection));
        }
        *slot = None;
        let stream = self.connect().await?;
        let connection = Arc::new(Connection::start(stream));
        let hello = AnyRequest::of::<Hello>(Greeting::ours());
        connection.request(hello, ANSWER_TIMEOUT).await.map_err(|fault| self.offline(fault))??;
        *slot = Some(Arc::clone(&connection));
        Ok(connection)
    }

    fn offline(&self, fault: String) -> ToolError {
        ToolError::unavailable(format!("the agent does not answer on {}: {fault}", self.0.path.display()))
            .with("path", self.0.path.display().to_string())
            .hint("start the agent: systemctl start raspi-mcp-agent")
    }
}

/// An answer that is not parsed yet; the type of its operation parses it.
pub(super) struct Answered {
    answer: Answer,
    /// Where it came from; `None` for an answer of this process.
    from: Option<(Client, Arc<Connection>, &'static OperationRow)>,
}

impl Answered {
    /// An answer from an agent in this process.
    pub(super) fn here(answer: Answer) -> Self {
        Self { answer, from: None }
    }

    /// # Errors
    /// `internal` for the answer to another operation, `unavailable` for one that cannot be parsed: its connection is
    /// closed.
    pub(super) fn read<O: Operation>(self) -> Result<O::Answer, ToolError> {
        match self.answer.read::<O>() {
            Ok(Some(answer)) => Ok(answer),
            Ok(None) => Err(ToolError::internal("the agent answered another question")),
            Err(error) => Err(self.unreadable(&error)),
        }
    }

    fn unreadable(self, error: &serde_json::Error) -> ToolError {
        let fault = format!("its answer cannot be read: {error}");
        match self.from {
            Some((client, connection, row)) => {
                connection.give_up();
                client.lost(row, fault)
            }
            None => ToolError::internal(fault),
        }
    }
}

impl Connection {
    fn start(stream: UnixStream) -> Self {
        let (reader, writer) = stream.into_split();
        let waiting = Arc::new(Mutex::new(Waiting::default()));
        let listen = base::task::spawn(listen(reader, Arc::clone(&waiting)));
        Self { writer: tokio::sync::Mutex::new(writer), waiting, reader: listen.abort_handle() }
    }

    fn is_closed(&self) -> bool {
        lock(&self.waiting).closed
    }

    /// Closes the connection: the peer does not speak this protocol.
    fn give_up(&self) {
        let mut waiting = lock(&self.waiting);
        waiting.closed = true;
        waiting.answers.clear();
    }

    /// The outer error is the connection's, the inner one the agent's.
    async fn request(&self, op: AnyRequest, limit: Duration) -> Result<Result<Answer, ToolError>, String> {
        let (send, answer) = oneshot::channel();
        let mut line = Vec::new();
        let id = {
            let mut waiting = lock(&self.waiting);
            if waiting.closed {
                return waiting.refusal.clone().map(Err).ok_or_else(|| "it closed the connection".into());
            }
            waiting.next_id += 1;
            let id = waiting.next_id;
            waiting.answers.insert(id, send);
            id
        };
        // Removed also when the caller is cancelled.
        let _forget = Forget(&self.waiting, id);
        serde_json::to_writer(&mut line, &AgentRequest { id, op }).map_err(|error| error.to_string())?;
        // The agent would refuse it and close, and others' requests with it.
        if line.len() >= MAX_LINE {
            return Ok(Err(ToolError::new(
                ErrorCode::ContentTooLarge,
                format!("the request has {} bytes, and the agent takes fewer than {MAX_LINE}", line.len()),
            )
            .with("limit_bytes", MAX_LINE)
            .hint("send less: shorter arguments, or a file and its path")));
        }
        let written = write_bytes(&mut *self.writer.lock().await, line).await;
        if let Err(error) = written {
            if error.kind() != io::ErrorKind::TimedOut {
                // The peer may have sent a reason before it closed. Wait for it; this ends with the connection.
                let _ = tokio::time::timeout(limit, answer).await;
            }
            let mut waiting = lock(&self.waiting);
            waiting.closed = true;
            return waiting.refusal.clone().map(Err).ok_or_else(|| error.to_string());
        }
        match tokio::time::timeout(limit, answer).await {
            Ok(Ok(result)) => Ok(result),
            Ok(Err(_)) => {
                let refusal = lock(&self.waiting).refusal.clone();
                refusal.map(Err).ok_or_else(|| "it closed the connection".into())
            }
            Err(_) => Err(format!("no answer within {} s", limit.as_secs())),
        }
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.reader.abort();
    }
}

struct Forget<'a>(&'a Mutex<Waiting>, u64);

impl Drop for Forget<'_> {
    fn drop(&mut self) {
        lock(self.0).answers.remove(&self.1);
    }
}

/// Dispatches each answer to its request, until the agent closes.
async fn listen(reader: OwnedReadHalf, waiting: Arc<Mutex<Waiting>>) {
    let result = give_out(reader, &waiting).await;
    let mut waiting = lock(&waiting);
    waiting.closed = true;
    // Dropping the senders wakes the waiting requests.
    waiting.answers.clear();
    if let Err(error) = result {
        tracing::debug!(target: "agent", %error, "connection to the agent ended");
    }
}

async fn give_out(reader: OwnedReadHalf, waiting: &Mutex<Waiting>) -> io::Result<()> {
    let mut reader = BufReader::with_capacity(4096, reader);
    let mut line = Vec::new();
    loop {
        match read_line(&mut reader, &mut line, MAX_ANSWER).await? {
            LineRead::End => return Ok(()),
            LineRead::TooLong => return Err(io::Error::other("an answer over the protocol's limit")),
            LineRead::Whole => {}
        }
        let reply: AgentReply = serde_json::from_slice(&line)?;
        let id = reply.id;
        let result = reply.into_result();
        let mut waiting = lock(waiting);
        match id {
            Some(id) => {
                if let Some(answer) = waiting.answers.remove(&id) {
                    // The caller may be gone.
                    let _ = answer.send(result);
                }
            }
            // Without an id: about the connection itself.
            None => waiting.refusal = result.err(),
        }
    }
}

fn lock(waiting: &Mutex<Waiting>) -> std::sync::MutexGuard<'_, Waiting> {
    waiting.lock().unwrap_or_else(PoisonError::into_inner)
}
