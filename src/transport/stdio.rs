//! The parent process as client, over standard input and output.
//!
//! Pipes and sockets (which Node uses) are read without blocking threads, with five to ten times less CPU than tokio's
//! stdin. Terminals and files do not support that and use tokio's threads.

use super::lines;
use crate::rpc::router::Server;
use contract::{
    access::caller::{Caller, Transport},
    meta::Role,
};
use rustix::fs::{FileType, fstat};
use std::{
    io,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    sync::Arc,
};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::{UnixStream, unix::pipe},
};

/// Standard input or output as an async stream.
pub type Reader = Box<dyn AsyncRead + Unpin + Send>;
pub type StdioWriter = Box<dyn AsyncWrite + Unpin + Send>;

/// Serves standard input and output until the client disconnects or the server stops.
///
/// # Errors
/// If the descriptors cannot be used.
pub async fn serve(server: Arc<Server>, role: Role, owner: Option<&str>) -> io::Result<()> {
    let (reader, writer) = ends()?;
    lines::serve(server, Caller::new("stdio", role, Transport::Stdio).of_owner(owner), reader, writer).await;
    Ok(())
}

/// Standard input and output of this process.
///
/// # Errors
/// If the descriptors cannot be used.
pub fn ends() -> io::Result<(Reader, StdioWriter)> {
    Ok((reader(io::stdin().as_fd())?, writer(io::stdout().as_fd())?))
}

enum Kind {
    Pipe(OwnedFd),
    Socket(UnixStream),
    Other,
}

fn kind(fd: BorrowedFd<'_>) -> io::Result<Kind> {
    match FileType::from_raw_mode(fstat(fd)?.st_mode) {
        FileType::Fifo => Ok(Kind::Pipe(fd.try_clone_to_owned()?)),
        FileType::Socket => {
            let stream = std::os::unix::net::UnixStream::from(fd.try_clone_to_owned()?);
            stream.set_nonblocking(true)?;
            Ok(Kind::Socket(UnixStream::from_std(stream)?))
        }
        _ => Ok(Kind::Other),
    }
}

fn reader(fd: BorrowedFd<'_>) -> io::Result<Reader> {
    Ok(match kind(fd)? {
        Kind::Pipe(fd) => Box::new(pipe::Receiver::from_owned_fd(fd)?),
        Kind::Socket(stream) => Box::new(stream),
        Kind::Other => Box::new(tokio::io::stdin()),
    })
}

fn writer(fd: BorrowedFd<'_>) -> io::Result<StdioWriter> {
    Ok(match kind(fd)? {
        Kind::Pipe(fd) => Box::new(pipe::Sender::from_owned_fd(fd)?),
        Kind::Socket(stream) => Box::new(stream),
        Kind::Other => Box::new(tokio::io::stdout()),
    })
}
