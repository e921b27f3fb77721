//! The agent's socket: admission, limits, and one answer per line.

use super::{
    admission::{ConnectionSlots, admit, turn_away},
    context::Agent,
    operations::{Answer, AnyRequest, Done, agents, hello::Hello, update},
    peer::{Callers, Peer},
    protocol::{AgentReply, AgentRequest},
    wire::{LINE_TIMEOUT, LineRead, MAX_LINE, read_line, write_line},
};
use base::{
    error::{ErrorCode, ToolError},
    os::doors,
};
use serde_json::Value;
use std::{fs, io, os::unix::fs::PermissionsExt, path::Path, sync::Arc};
use tokio::{
    io::BufReader,
    net::{
        UnixListener, UnixStream,
        unix::{OwnedReadHalf, OwnedWriteHalf},
    },
    sync::Semaphore,
    task::JoinSet,
};
use tokio_util::sync::CancellationToken;

/// Requests in progress per connection: every pending ask may be waited for.
const MAX_IN_FLIGHT: usize = 40;

/// Listens at `path`, replacing a stale socket.
///
/// With `open`, any user may connect: the kernel names every peer and [`Peer::judge`] decides.
///
/// # Errors
/// `conflict` when another process listens there, `unavailable` when the folder cannot be used.
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
        if doors::is_served(path) {
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
    serve_all(vec![listener], agent, stop).await;
}

/// As [`serve`], for several sockets: all peers share the places, and none the queue of another socket.
pub(super) async fn serve_all(listeners: Vec<UnixListener>, agent: Arc<Agent>, stop: CancellationToken) {
    let seats = Arc::new(ConnectionSlots::default());
    let mut serving = JoinSet::new();
    for listener in listeners {
        let (agent, seats, stop) = (Arc::clone(&agent), Arc::clone(&seats), stop.clone());
        base::task::spawn_in(&mut serving, accept_from(listener, seats, agent, stop));
    }
    while serving.join_next().await.is_some() {}
}

async fn accept_from(listener: UnixListener, seats: Arc<ConnectionSlots>, agent: Arc<Agent>, stop: CancellationToken) {
    let mut connections = JoinSet::new();
    loop {
        let stream = tokio::select! {
            () = stop.cancelled() => return,
            // Finished connections are reaped; their tasks return nothing.
            Some(_) = connections.join_next() => continue,
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => stream,
                Err(error) => {
                    // Most likely out of descriptors. The peer stays queued: wait until a connection ends.
                    tracing::warn!(target: "agent", %error, "accept failed");
                    if connections.join_next().await.is_none() {
                        tokio::task::yield_now().await;
                    }
                    continue;
                }
            },
        };
        match admit(&agent, &seats, &stream) {
            Ok((peer, seat)) => {
                let agent = Arc::clone(&agent);
                base::task::spawn_in(&mut connections, async move {
                    let result = converse(agent, peer, stream).await;
                    drop(seat);
                    if let Err(error) = result {
                        tracing::debug!(target: "agent", %error, "connection ended");
                    }
                });
            }
            Err(error) => turn_away(stream, error),
        }
        // One at a time: a flood at this socket does not keep those waiting who come by another, or are connected.
        tokio::task::yield_now().await;
    }
}

type Writer = Arc<tokio::sync::Mutex<OwnedWriteHalf>>;

/// Serves one peer until it closes the connection: one answer per line.
///
/// # Errors
/// When the peer does not read, or does not end a line, in time.
pub async fn converse(agent: Arc<Agent>, peer: Peer, stream: UnixStream) -> io::Result<()> {
    let (reader, writer) = stream.into_split();
    let mut reader = BufReader::with_capacity(4096, reader);
    let writer: Writer = Arc::new(tokio::sync::Mutex::new(writer));
    let in_flight = Arc::new(Semaphore::new(MAX_IN_FLIGHT));
    // Dropped with the connection, which cancels this peer's waits.
    let mut waits = JoinSet::new();
    let mut line = Vec::new();
    let mut greeted = false;
    loop {
        while waits.try_join_next().is_some() {}
        let next = read_line(&mut reader, &mut line, MAX_LINE);
        let next = match greeted {
            true => next.await?,
            // An idle peer is disconnected, so that it does not occupy a slot.
            false => tokio::time::timeout(LINE_TIMEOUT, next).await.map_err(io::Error::from)??,
        };
        let (id, op) = match next {
            LineRead::End => return Ok(()),
            LineRead::TooLong => {
                let error =
                    ToolError::new(ErrorCode::ContentTooLarge, format!("a message has {MAX_LINE} bytes at most"));
                answer(&writer, None, Err(error)).await?;
                continue;
            }
            LineRead::Whole => match serde_json::from_slice::<AgentRequest>(&line) {
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
            let result = match op.take::<Hello>() {
                Ok(hello) => agent.perform::<Hello>(&peer, hello).await.and_then(|ours| Answer::of::<Hello>(&ours)),
                Err(_) => Err(ToolError::precondition("a connection begins with hello")),
            };
            greeted = result.is_ok();
            answer(&writer, Some(id), result).await?;
            continue;
        }
        let op = match taken_over(&agent, &peer, &reader, Arc::strong_count(&writer) == 1, op) {
            Err(other) => other,
            Ok(taken) => {
                let (session, taken) = match taken {
                    Ok(taken) => taken,
                    Err(error) => {
                        answer(&writer, Some(id), Err(error)).await?;
                        continue;
                    }
                };
                answer(&writer, Some(id), Ok(taken)).await?;
                // The only reference: no request is in progress.
                let Some(writer) = Arc::into_inner(writer) else { return Ok(()) };
                let writer = writer.into_inner();
                return match session {
                    TakenOver::Install(session) => {
                        update::take_over(reader, writer, move |stream| session.run(stream)).await
                    }
                    TakenOver::Agent(id) => agents::take_stream(&agent, &id, reader, writer),
                };
            }
        };
        let Ok(permit) = Arc::clone(&in_flight).try_acquire_owned() else {
            let error =
                ToolError::exhausted("too many requests of this connection are under way").with("limit", MAX_IN_FLIGHT);
            answer(&writer, Some(id), Err(error)).await?;
            continue;
        };
        let (agent, peer, writer) = (Arc::clone(&agent), peer.clone(), Arc::clone(&writer));
        if op.row().waits {
            base::task::spawn_in(&mut waits, async move {
                let _permit = permit;
                let result = agent.handle(&peer, op).await;
                // A peer that is gone does not need it.
                let _ = answer(&writer, Some(id), result).await;
            });
        } else {
            // All others are short, and handled in order.
            let result = agent.handle(&peer, op).await;
            answer(&writer, Some(id), result).await?;
        }
    }
}

/// What a connection becomes that is no longer a conversation.
enum TakenOver {
    Install(update::InstallSession),
    /// The streams of the agent with this id.
    Agent(String),
}

/// Begins what takes the connection over, if `op` is such a request; otherwise `op` itself. `free`: no other request is in
/// progress.
fn taken_over(
    agent: &Arc<Agent>,
    peer: &Peer,
    reader: &BufReader<OwnedReadHalf>,
    free: bool,
    op: AnyRequest,
) -> Result<Result<(TakenOver, Answer), ToolError>, AnyRequest> {
    let op = match op.take::<update::Install>() {
        Err(other) => other,
        Ok(request) => {
            let session = update::may_take_over(reader, free)
                .and_then(|()| update::begin(&agent.context(peer), request))
                .and_then(|session| Ok((TakenOver::Install(session), Answer::of::<update::Install>(&Done {})?)));
            return Ok(session);
        }
    };
    let request = op.take::<agents::AttachAgent>()?;
    Ok(peer
        .may("attach_agent", Callers::Server)
        .and_then(|()| update::may_take_over(reader, free))
        .and_then(|()| Ok((TakenOver::Agent(request.id), Answer::of::<agents::AttachAgent>(&Done {})?))))
}

async fn answer(writer: &Writer, id: Option<u64>, result: Result<Answer, ToolError>) -> io::Result<()> {
    write_line(&mut *writer.lock().await, &AgentReply::new(id, result)).await
}
