//! The socket of the routers' process: who may connect, and one call a connection.

use super::{
    call::RouterCall,
    plans,
    service::RouterService,
    wire::{self, Asked, MAX_REQUEST},
};
use base::{error::ToolError, os::doors};
use serde_json::Value;
use std::{fs, io, os::unix::fs::PermissionsExt, path::Path, sync::Arc, time::Duration};
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    net::{UnixListener, UnixStream, unix::OwnedWriteHalf},
    sync::mpsc,
    task::JoinSet,
};
use tokio_util::sync::CancellationToken;

/// Calls at once. The server's own limit is lower.
const CONNECTIONS: usize = 128;
/// Limit for a request to arrive, and for a line to be written.
const LINE: Duration = Duration::from_secs(10);
/// Progress that waits to be written; more is dropped.
const REPORTS: usize = 64;
/// How long calls have to end when the process is told to stop.
const GRACE: Duration = Duration::from_secs(20);

/// Listens at `path`, replacing a socket that nobody answers on. Any user may connect: the kernel names each peer.
///
/// # Errors
/// Those of the file system; `AddrInUse` if another process answers there.
pub fn bind(path: &Path) -> io::Result<UnixListener> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    if doors::is_served(path) {
        return Err(io::ErrorKind::AddrInUse.into());
    }
    let _ = fs::remove_file(path);
    let listener = UnixListener::bind(path)?;
    fs::set_permissions(path, fs::Permissions::from_mode(0o666))?;
    Ok(listener)
}

/// What a peer may ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rights {
    /// Calls of tools, for the server.
    pub call: bool,
    /// The test of a router's way back, for its owner at the machine.
    pub test: bool,
}

impl Rights {
    /// Those of the user `peer`, where `server` is the server's user and `own` that of this process.
    pub fn of(peer: u32, server: u32, own: u32) -> Self {
        // Where one user runs all of it, that user is the owner.
        Self { call: peer == server, test: peer == 0 || peer == server && server == own }
    }
}

/// Serves the user `server`, and root, until `stop`. Calls under way are then cancelled, and have 20 s to end. Jobs that an
/// earlier process left are gone on with.
pub async fn serve(listener: UnixListener, service: Arc<RouterService>, server: u32, stop: CancellationToken) {
    let mut calls = JoinSet::new();
    base::task::spawn_in(&mut calls, resume(Arc::clone(&service)));
    let own = rustix::process::getuid().as_raw();
    loop {
        tokio::select! {
            () = stop.cancelled() => break,
            Some(_) = calls.join_next() => {}
            accepted = listener.accept(), if calls.len() < CONNECTIONS => match accepted {
                Ok((stream, _)) => match stream.peer_cred().map(|peer| Rights::of(peer.uid(), server, own)) {
                    Ok(rights) if rights.call || rights.test => {
                        let (service, stop) = (Arc::clone(&service), stop.child_token());
                        base::task::spawn_in(&mut calls, async move {
                            if let Err(error) = converse(&service, stream, rights, stop).await {
                                tracing::debug!(target: "raspi_mcp::routeros", %error, "connection ended");
                            }
                        });
                    }
                    _ => {
                        tracing::warn!(target: "raspi_mcp::routeros", peer = ?stream.peer_cred(), "refused");
                        // Without waiting: the buffer of a new socket has room for it.
                        let _ = stream.try_write(&wire::answer(Err(denied())));
                    }
                },
                Err(error) => {
                    tracing::warn!(target: "raspi_mcp::routeros", %error, "accept failed");
                    // Most likely out of descriptors: wait until a call ends.
                    if calls.join_next().await.is_none() {
                        tokio::task::yield_now().await;
                    }
                }
            }
        }
    }
    let _ = tokio::time::timeout(GRACE, async { while calls.join_next().await.is_some() {} }).await;
}

async fn resume(service: Arc<RouterService>) {
    match plans::resume(&service).await {
        Ok(jobs) if jobs.is_empty() => {}
        Ok(jobs) => tracing::info!(target: "raspi_mcp::routeros", jobs = jobs.len(), "jobs of before have ended"),
        Err(error) => tracing::error!(target: "raspi_mcp::routeros", %error, "jobs of before cannot be gone on with"),
    }
}

fn denied() -> ToolError {
    ToolError::denied("calls of routers come from the server, and tests from root").hint("call the server's tools")
}

async fn converse(
    service: &RouterService,
    stream: UnixStream,
    rights: Rights,
    cancel: CancellationToken,
) -> io::Result<()> {
    let (reader, mut writer) = stream.into_split();
    // A line that is longer ends there, and is no JSON.
    let mut reader = BufReader::with_capacity(4096, reader.take(MAX_REQUEST + 1));
    let (mut line, mut next) = (Vec::new(), Vec::new());
    tokio::time::timeout(LINE, reader.read_until(b'\n', &mut line)).await??;
    let (report, mut reports) = mpsc::channel::<(u64, u64, String)>(REPORTS);
    let told = cancel.clone();
    let progress = move |done, total, message: &str| drop(report.try_send((done, total, message.to_owned())));
    let mut running = Box::pin(async {
        let wrong = |error| ToolError::invalid(format!("not a request of this protocol: {error}"));
        match serde_json::from_slice::<Asked>(&line).map_err(wrong)? {
            Asked::Test(device) if rights.test => plans::test(service, &device).await.map(Value::String),
            Asked::Subject(request) if rights.call => service.subject(&request.call()?).await,
            Asked::Call(request) if rights.call => {
                service.call(RouterCall { progress: Arc::new(progress), cancel: told, ..request.call()? }).await
            }
            _ => Err(denied()),
        }
    });
    let mut gone = false;
    let result = loop {
        tokio::select! {
            result = &mut running => break result,
            Some(said) = reports.recv() => gone |= write_progress(&mut writer, said).await.is_err(),
            // Whatever comes, also the end: the call is cancelled. A write still ends by itself.
            _ = reader.read_until(b'\n', &mut next), if !gone => {
                gone = true;
                cancel.cancel();
            }
        }
    };
    // What was said before the end comes before it.
    while let Ok(said) = reports.try_recv() {
        write_progress(&mut writer, said).await?;
    }
    write(&mut writer, &wire::answer(result)).await
}

async fn write_progress(writer: &mut OwnedWriteHalf, (done, total, message): (u64, u64, String)) -> io::Result<()> {
    write(writer, &wire::progress(done, total, &message)).await
}

async fn write(writer: &mut OwnedWriteHalf, line: &[u8]) -> io::Result<()> {
    tokio::time::timeout(LINE, writer.write_all(line)).await?
}
