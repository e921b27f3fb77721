//! The agent's socket: who may connect, how many, and one answer for every line.

use super::{
    Agent, Peer,
    protocol::{Done, MAX_LINE, Op, Reply, Request},
    updates,
    wire::{Line, read_line, write_line},
};
use crate::error::{ErrorCode, ToolError};
use serde_json::Value;
use std::{
    collections::HashMap,
    fs, io,
    os::unix::fs::PermissionsExt,
    path::Path,
    sync::{Arc, Mutex, PoisonError},
};
use tokio::{
    io::BufReader,
    net::{
        UnixListener, UnixStream,
        unix::{OwnedWriteHalf, UCred},
    },
    sync::Semaphore,
    task::JoinSet,
};
use tokio_util::sync::CancellationToken;

/// Connections at a time: the server needs one, an approver one each.
const MAX_CONNECTIONS: usize = 16;
/// Of one user: the server's cannot lock the approvers out.
const MAX_PER_USER: usize = 8;
/// Requests of one connection that may be under way: every pending ask may be waited for.
const MAX_IN_FLIGHT: usize = 40;

/// Listens at `path`, in the place of a socket nobody answers any more.
///
/// Everybody may connect where `open` is set, since the kernel names every caller and [`Peer::judge`] decides.
///
/// # Errors
/// `conflict` when somebody answers there, `unavailable` when the folder cannot be used.
pub fn bind(path: &Path, open: bool) -> Result<UnixListener, ToolError> {
    let failed = |error: io::Error| {
        ToolError::unavailable(format!("the agent cannot listen on {}: {error}", path.display()))
            .with("path", path.display().to_string())
            .hint("check the runtime directory's owner and permissions")
    };
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(failed)?;
    }
    if path.exists() {
        if std::os::unix::net::UnixStream::connect(path).is_ok() {
            return Err(ToolError::new(ErrorCode::Conflict, format!("an agent already answers on {}", path.display()))
                .with("path", path.display().to_string())
                .hint("stop it first: systemctl stop raspi-mcp-agent"));
        }
        fs::remove_file(path).map_err(failed)?;
    }
    let listener = UnixListener::bind(path).map_err(failed)?;
    let mode = if open { 0o666 } else { 0o600 };
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).map_err(failed)?;
    Ok(listener)
}

/// Serves `agent` on `listener` until `stop`.
pub async fn serve(listener: UnixListener, agent: Arc<Agent>, stop: CancellationToken) {
    let users = Arc::new(Users::default());
    let mut connections = JoinSet::new();
    loop {
        let stream = tokio::select! {
            () = stop.cancelled() => return,
            // Reaped as they end; a connection's task has nothing to report.
            Some(_) = connections.join_next() => continue,
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => stream,
                Err(error) => {
                    // Out of descriptors, most likely. The peer is still queued: wait until a connection ends.
                    tracing::warn!(target: "agent", %error, "accept failed");
                    if connections.join_next().await.is_none() {
                        tokio::task::yield_now().await;
                    }
                    continue;
                }
            },
        };
        match admit(&agent, &users, &stream) {
            Ok((peer, seat)) => {
                let agent = Arc::clone(&agent);
                connections.spawn(async move {
                    let result = converse(agent, peer, stream).await;
                    drop(seat);
                    if let Err(error) = result {
                        tracing::debug!(target: "agent", %error, "connection ended");
                    }
                });
            }
            Err(error) => {
                connections.spawn(async move {
                    let mut stream = stream;
                    // Courtesy only: a stranger who does not read it misses it.
                    let _ = write_line(&mut stream, &Reply::new(None, Err(error))).await;
                });
            }
        }
    }
}

fn admit(agent: &Agent, users: &Arc<Users>, stream: &UnixStream) -> Result<(Peer, Seat), ToolError> {
    let cred: UCred = stream
        .peer_cred()
        .map_err(|error| ToolError::denied(format!("the kernel does not say who is calling: {error}")))?;
    let peer = agent.judge(cred.uid(), cred.gid(), cred.pid())?;
    let seat = users.seat(cred.uid())?;
    Ok((peer, seat))
}

/// How many connections each user has.
#[derive(Default)]
struct Users(Mutex<HashMap<u32, usize>>);

/// One of them.
struct Seat(Arc<Users>, u32);

impl Users {
    fn seat(self: &Arc<Self>, uid: u32) -> Result<Seat, ToolError> {
        let mut users = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let all: usize = users.values().sum();
        let mine = users.entry(uid).or_default();
        if *mine >= MAX_PER_USER || all >= MAX_CONNECTIONS {
            return Err(ToolError::exhausted("the agent has no room for another connection")
                .with("limit", MAX_CONNECTIONS)
                .with("limit_per_user", MAX_PER_USER)
                .hint("close one"));
        }
        *mine += 1;
        Ok(Seat(Arc::clone(self), uid))
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        let mut users = self.0.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = users.get_mut(&self.1) {
            *count -= 1;
            if *count == 0 {
                users.remove(&self.1);
            }
        }
    }
}

type Writer = Arc<tokio::sync::Mutex<OwnedWriteHalf>>;

/// Serves one peer until it hangs up: one answer for every line.
///
/// # Errors
/// When the peer does not read, or does not end a line, in time.
pub async fn converse(agent: Arc<Agent>, peer: Peer, stream: UnixStream) -> io::Result<()> {
    let (reader, writer) = stream.into_split();
    let mut reader = BufReader::with_capacity(4096, reader);
    let writer: Writer = Arc::new(tokio::sync::Mutex::new(writer));
    let in_flight = Arc::new(Semaphore::new(MAX_IN_FLIGHT));
    // Dropped with the connection: what still waits for this peer ends.
    let mut waits = JoinSet::new();
    let mut line = Vec::new();
    let mut greeted = false;
    loop {
        while waits.try_join_next().is_some() {}
        let (id, op) = match read_line(&mut reader, &mut line, MAX_LINE).await? {
            Line::End => return Ok(()),
            Line::TooLong => {
                let error =
                    ToolError::new(ErrorCode::ContentTooLarge, format!("a message has {MAX_LINE} bytes at most"));
                answer(&writer, None, Err(error)).await?;
                continue;
            }
            Line::Whole => match serde_json::from_slice::<Request>(&line) {
                Ok(request) => (request.id, request.op),
                Err(error) => {
                    let id = serde_json::from_slice::<Value>(&line).ok().and_then(|value| value["id"].as_u64());
                    answer(&writer, id, Err(ToolError::invalid(format!("not a request of this protocol: {error}"))))
                        .await?;
                    continue;
                }
            },
        };
        if !greeted {
            let hello = matches!(op, Op::Hello { .. });
            let result = if hello {
                agent.handle(&peer, op).await
            } else {
                Err(ToolError::precondition("a connection begins with hello"))
            };
            greeted = result.is_ok();
            answer(&writer, Some(id), result).await?;
            continue;
        }
        if let Op::Install(request) = op {
            let free = Arc::strong_count(&writer) == 1;
            let session =
                updates::may_take_over(&reader, free).and_then(|()| Agent::take_install(&agent, &peer, request));
            let session = match session {
                Ok(session) => session,
                Err(error) => {
                    answer(&writer, Some(id), Err(error)).await?;
                    continue;
                }
            };
            answer(&writer, Some(id), Ok(Done::Done {})).await?;
            // Nobody else has it: nothing is under way.
            let Some(writer) = Arc::into_inner(writer) else { return Ok(()) };
            return updates::take_over(reader, writer.into_inner(), move |stream| session.run(stream)).await;
        }
        let Ok(permit) = Arc::clone(&in_flight).try_acquire_owned() else {
            let error =
                ToolError::exhausted("too many requests of this connection are under way").with("limit", MAX_IN_FLIGHT);
            answer(&writer, Some(id), Err(error)).await?;
            continue;
        };
        let (agent, peer, writer) = (Arc::clone(&agent), peer.clone(), Arc::clone(&writer));
        if op.waits() {
            waits.spawn(async move {
                let _permit = permit;
                let result = agent.handle(&peer, op).await;
                // A peer that has left does not need it.
                let _ = answer(&writer, Some(id), result).await;
            });
        } else {
            // Everything else is short, and in order.
            let result = agent.handle(&peer, op).await;
            answer(&writer, Some(id), result).await?;
        }
    }
}

async fn answer(writer: &Writer, id: Option<u64>, result: Result<Done, ToolError>) -> io::Result<()> {
    write_line(&mut *writer.lock().await, &Reply::new(id, result)).await
}
