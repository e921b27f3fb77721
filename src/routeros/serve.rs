//! The socket of the routers' process: who may connect, and one call a connection.

use super::{
    call::RouterCall,
    service::RouterService,
    wire::{self, MAX_REQUEST, Request},
};
use base::error::ToolError;
use std::{fs, io, os::unix::fs::PermissionsExt, path::Path, sync::Arc, time::Duration};
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    net::{UnixListener, UnixStream},
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
    if std::os::unix::net::UnixStream::connect(path).is_ok() {
        return Err(io::ErrorKind::AddrInUse.into());
    }
    let _ = fs::remove_file(path);
    let listener = UnixListener::bind(path)?;
    fs::set_permissions(path, fs::Permissions::from_mode(0o666))?;
    Ok(listener)
}

/// Serves the user `uid` until `stop`, and nobody else. Calls under way are then cancelled, and have 20 s to end.
pub async fn serve(listener: UnixListener, service: Arc<RouterService>, uid: u32, stop: CancellationToken) {
    let mut calls = JoinSet::new();
    loop {
        tokio::select! {
            () = stop.cancelled() => break,
            Some(_) = calls.join_next() => {}
            accepted = listener.accept(), if calls.len() < CONNECTIONS => match accepted {
                Ok((stream, _)) if stream.peer_cred().is_ok_and(|peer| peer.uid() == uid) => {
                    let (service, stop) = (Arc::clone(&service), stop.child_token());
                    base::task::spawn_in(&mut calls, async move {
                        if let Err(error) = converse(&service, stream, stop).await {
                            tracing::debug!(target: "raspi_mcp::routeros", %error, "connection ended");
                        }
                    });
                }
                Ok((stream, _)) => refuse(&stream),
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

/// Tells a stranger so, without waiting: the buffer of a new socket has room for it.
fn refuse(stream: &UnixStream) {
    tracing::warn!(target: "raspi_mcp::routeros", peer = ?stream.peer_cred(), "refused");
    let error = ToolError::denied("only the server may talk to the process of the routers").hint("call its tools");
    let _ = stream.try_write(&wire::answer(Err(error)));
}

async fn converse(service: &RouterService, stream: UnixStream, stop: CancellationToken) -> io::Result<()> {
    let (reader, mut writer) = stream.into_split();
    // A line that is longer ends there, and is no JSON.
    let mut reader = BufReader::with_capacity(4096, reader.take(MAX_REQUEST + 1));
    let mut line = Vec::new();
    tokio::time::timeout(LINE, reader.read_until(b'\n', &mut line)).await??;
    let ends = match serde_json::from_slice::<Request>(&line) {
        Err(error) => Err(ToolError::invalid(format!("not a request of this protocol: {error}"))),
        Ok(request) => {
            let (report, reports) = mpsc::channel::<(u64, u64, String)>(REPORTS);
            let subject = request.subject;
            request.call().map(|call| {
                let progress =
                    move |done, total, message: &str| drop(report.try_send((done, total, message.to_owned())));
                (subject, RouterCall { progress: Arc::new(progress), cancel: stop, ..call }, reports)
            })
        }
    };
    let (subject, call, mut reports) = match ends {
        Ok(call) => call,
        Err(error) => return write(&mut writer, &wire::answer(Err(error))).await,
    };
    let cancel = call.cancel.clone();
    let running = async { if subject { service.subject(&call).await } else { service.call(call).await } };
    tokio::pin!(running);
    let mut gone = false;
    let result = loop {
        line.clear();
        tokio::select! {
            result = &mut running => break result,
            Some((done, total, message)) = reports.recv() => {
                gone |= write(&mut writer, &wire::progress(done, total, &message)).await.is_err();
            }
            // Whatever comes, also the end: the call is cancelled. A write still ends by itself.
            _ = reader.read_until(b'\n', &mut line), if !gone => {
                gone = true;
                cancel.cancel();
            }
        }
    };
    // What was said before the end comes before it.
    while let Ok((done, total, message)) = reports.try_recv() {
        write(&mut writer, &wire::progress(done, total, &message)).await?;
    }
    write(&mut writer, &wire::answer(result)).await
}

async fn write(writer: &mut (impl tokio::io::AsyncWrite + Unpin), line: &[u8]) -> io::Result<()> {
    tokio::time::timeout(LINE, writer.write_all(line)).await?
}
