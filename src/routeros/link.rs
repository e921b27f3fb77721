//! The way from the server to what does the calls: a process of its own, or this one.

use super::{
    call::{Report, RouterCall},
    service::RouterService,
    wire::{self, Asked, MAX_ANSWER, MAX_REQUEST, Request, Said},
};
use base::{
    error::{ErrorCode, ToolError},
    os::{doors, local},
};
use contract::config::PlaceSettings;
use futures::future::BoxFuture;
use serde_json::{Value, json};
use std::{
    io,
    path::{Path, PathBuf},
    sync::Arc,
};
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    net::UnixStream,
};
use tokio_util::sync::CancellationToken;

/// The way to the routers' process.
#[derive(Clone)]
pub enum RouterosLink {
    /// On a simulated board, and in tests.
    InProcess(Arc<RouterService>),
    /// A process with a user of its own, behind its socket.
    Socket(Arc<RoutersSocket>),
}

/// The socket of that process, and the routers that are configured.
pub struct RoutersSocket {
    pub path: PathBuf,
    pub devices: Vec<String>,
}

/// Where the socket is: `/run/raspi-mcp-routeros/routeros.sock` on an installed system.
pub fn socket(places: &PlaceSettings) -> PathBuf {
    places.runtime_dir.with_file_name("raspi-mcp-routeros").join("routeros.sock")
}

impl RouterosLink {
    /// # Errors
    /// See [`RouterService::call`]; `unavailable` when the process does not answer.
    pub fn call(&self, call: RouterCall) -> BoxFuture<'_, Result<Value, ToolError>> {
        match self {
            Self::InProcess(service) => Box::pin(async move { service.call(call).await }),
            Self::Socket(socket) => Box::pin(async move {
                let (asked, is_write) = (Asked::Call(Request::of(&call)), call.tool.effect.is_write());
                ask(&socket.path, &asked, is_write, &call.cancel, &call.progress).await
            }),
        }
    }

    /// # Errors
    /// See [`RouterService::subject`]; `unavailable` when the process does not answer.
    pub fn subject<'a>(&'a self, call: &'a RouterCall) -> BoxFuture<'a, Result<Value, ToolError>> {
        match self {
            Self::InProcess(service) => Box::pin(service.subject(call)),
            Self::Socket(socket) => Box::pin(async move {
                let asked = Asked::Subject(Request::of(call));
                ask(&socket.path, &asked, false, &call.cancel, &call.progress).await
            }),
        }
    }

    /// The ids of the configured routers.
    pub fn devices(&self) -> Vec<String> {
        match self {
            Self::InProcess(service) => service.routers.all().map(|router| router.id().to_owned()).collect(),
            Self::Socket(socket) => socket.devices.clone(),
        }
    }
}

/// Asks the process at `path`. Each call has a connection of its own: one that breaks ends that call, and a process that was
/// started anew is reached by the next.
///
/// # Errors
/// Those of the process; `unavailable` when it does not answer, with `details.changed` `"unknown"` once a write was sent.
pub async fn ask(
    path: &Path,
    asked: &Asked,
    is_write: bool,
    cancel: &CancellationToken,
    report: &Report,
) -> Result<Value, ToolError> {
    let request = wire::line(&json!(asked));
    if request.len() as u64 > MAX_REQUEST {
        return Err(ToolError::new(ErrorCode::ContentTooLarge, "the arguments have more than 1 MiB")
            .with("limit_bytes", MAX_REQUEST)
            .hint("send less, in several calls"));
    }
    let stream = doors::connect(path, &[], doors::PATIENCE).await.map_err(|error| match error.kind() {
        io::ErrorKind::TimedOut => local::crowded("the process of the routers", path, &error),
        _ => offline(path, &error),
    })?;
    converse(stream, &request, cancel, report).await.unwrap_or_else(|error| {
        let lost = offline(path, &error);
        Err(if is_write { lost.maybe_changed() } else { lost })
    })
}

async fn converse(
    stream: UnixStream,
    request: &[u8],
    cancel: &CancellationToken,
    report: &Report,
) -> io::Result<Result<Value, ToolError>> {
    let (reader, mut writer) = stream.into_split();
    writer.write_all(request).await?;
    let mut line = Vec::new();
    // Progress has a share of it; an answer is longer than the limit of the other side only if that is not it.
    let mut reader = BufReader::with_capacity(4096, reader.take(2 * MAX_ANSWER as u64));
    let mut told = false;
    loop {
        line.clear();
        let mut next = std::pin::pin!(reader.read_until(b'\n', &mut line));
        // A part of a line stays in `line`, so the read is not begun anew.
        let read = loop {
            tokio::select! {
                read = &mut next => break read?,
                () = cancel.cancelled(), if !told => {
                    told = true;
                    writer.write_all(b"\n").await?;
                }
            }
        };
        if read == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        match wire::read(&line) {
            Some(Said::Progress(done, total, message)) => report(done, total, &message),
            Some(Said::Ended(result)) => return Ok(result),
            None => return Err(io::Error::other("it does not speak this protocol")),
        }
    }
}

fn offline(path: &Path, error: &io::Error) -> ToolError {
    ToolError::unavailable(format!("the process of the routers does not answer on {}: {error}", path.display()))
        .with("path", path.display().to_string())
        .with("unit", "raspi-mcp-routeros.service")
        .hint("systemctl status raspi-mcp-routeros says why; start it: systemctl restart raspi-mcp-routeros")
}
