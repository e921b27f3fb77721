//! The client that started us, over standard input and output.
//!
//! Pipes and sockets (which Node uses) are read without blocking threads: five to ten times less CPU than tokio's stdin.
//! Terminals and files cannot be, and go through tokio's threads.

use super::lines;
use crate::rpc::router::Server;
use contract::{
    access::caller::{Caller, Door},
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

/// Standard input, or output, as bytes that can be awaited.
pub type Reader = Box<dyn AsyncRead + Unpin + Send>;
pub type Writer = Box<dyn AsyncWrite + Unpin + Send>;

/// Serves standard input and output until the client hangs up or the server stops.
///
/// # Errors
/// When the descriptors cannot be used at all.
pub async fn serve(server: Arc<Server>, role: Role, owner: Option<&str>) -> io::Result<()> {
    let (reader, writer) = ends()?;
    lines::serve(server, Caller::new("stdio", role, Door::Stdio).of_owner(owner), reader, writer).await;
    Ok(())
}

/// Standard input and output of this process.
///
/// # Errors
/// When the descriptors cannot be used at all.
pub fn ends() -> io::Result<(Reader, Writer)> {
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

fn writer(fd: BorrowedFd<'_>) -> io::Result<Writer> {
    Ok(match kind(fd)? {
        Kind::Pipe(fd) => Box::new(pipe::Sender::from_owned_fd(fd)?),
        Kind::Socket(stream) => Box::new(stream),
        Kind::Other => Box::new(tokio::io::stdout()),
    })
}
