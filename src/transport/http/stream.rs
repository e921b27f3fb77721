//! The bytes of a connection, with TLS or without.

use super::wire::Wire;
use crate::{tls::shown::ServedCertificate, transport::write_deadline::Paced};
use contract::access::seats::Seat;
use std::{
    io::{self, IoSlice},
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadBuf},
    net::TcpStream,
    time::timeout,
};
use tokio_rustls::{TlsAcceptor, server::TlsStream};

/// Longest TLS handshake: it takes two round trips and some milliseconds of a slow CPU, so a longer one only occupies a
/// place.
const HANDSHAKE: Duration = Duration::from_secs(10);
/// First byte of a TLS record that carries a handshake (RFC 8446, 5.1).
const HANDSHAKE_RECORD: u8 = 22;
/// Most bytes read from a client that does not speak TLS, so that it can read our answer.
const LISTENED_TO: u64 = 64 * 1024;

/// One type for both, so that the HTTP code is compiled once.
pub enum HttpStream {
    Plain(Paced<Wire>),
    /// Boxed: its buffers are large, and would enlarge plain connections too.
    Tls(Box<TlsStream<Paced<Wire>>>),
}

impl HttpStream {
    /// Prepares a connection for HTTP; `None` if that failed. The reason is logged.
    #[cfg_attr(not(feature = "fleet"), expect(irrefutable_let_patterns))]
    pub async fn greet(mut stream: Wire, seat: Option<Arc<Seat>>, tls: Option<&ServedCertificate>) -> Option<Self> {
        let Some(tls) = tls else { return Some(Self::Plain(Paced::new(stream, seat))) };
        let handshake = async {
            if let Wire::Tcp(stream) = &mut stream {
                let mut first = [0];
                if stream.peek(&mut first).await? == 0 {
                    return Ok(None);
                }
                if first[0] != HANDSHAKE_RECORD {
                    turn_away(stream).await?;
                    return Ok(None);
                }
            }
            TlsAcceptor::from(tls.now().config.clone()).accept(Paced::new(stream, seat)).await.map(Some)
        };
        match timeout(HANDSHAKE, handshake).await {
            Ok(Ok(stream)) => stream.map(|stream| Self::Tls(Box::new(stream))),
            Ok(Err(error)) => {
                tracing::debug!(%error, "a TLS handshake failed");
                None
            }
            Err(_) => {
                tracing::debug!("a TLS handshake took longer than {HANDSHAKE:?}");
                None
            }
        }
    }
}

/// Tells a client of plain HTTP that this port requires TLS. It is not redirected: its request, including any token,
/// was already sent unencrypted, and a redirect would hide that mistake.
async fn turn_away(stream: &mut TcpStream) -> io::Result<()> {
    const BODY: &str = "this port speaks TLS: use https://. A token that was sent here without it has been seen by others; \
                        replace it.\n";
    let answer = format!(
        "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{BODY}",
        BODY.len()
    );
    tracing::debug!("turned away a client without TLS");
    stream.write_all(answer.as_bytes()).await?;
    stream.shutdown().await?;
    // Closing with unread bytes would reset the connection and discard the answer.
    let mut rest = stream.take(LISTENED_TO);
    tokio::io::copy(&mut rest, &mut tokio::io::sink()).await.map(drop)
}

impl AsyncRead for HttpStream {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_read(cx, buf),
            Self::Tls(stream) => Pin::new(stream).poll_read(cx, buf),
        }
    }
}

impl AsyncWrite for HttpStream {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_write(cx, bytes),
            Self::Tls(stream) => Pin::new(stream).poll_write(cx, bytes),
        }
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_write_vectored(cx, slices),
            Self::Tls(stream) => Pin::new(stream).poll_write_vectored(cx, slices),
        }
    }

    fn is_write_vectored(&self) -> bool {
        match self {
            Self::Plain(stream) => stream.is_write_vectored(),
            Self::Tls(stream) => stream.is_write_vectored(),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_flush(cx),
            Self::Tls(stream) => Pin::new(stream).poll_flush(cx),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_shutdown(cx),
            Self::Tls(stream) => Pin::new(stream).poll_shutdown(cx),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use appliance::certificate;
    use contract::config::Tls;
    use tokio::net::TcpListener;

    /// What becomes of a connection whose client does `what`.
    async fn greeted(what: impl AsyncFnOnce(&mut TcpStream)) -> bool {
        let folder = tempfile::tempdir().unwrap();
        let (certificate, key) = (folder.path().join("certificate.pem"), folder.path().join("key.pem"));
        let tls = Tls { enabled: true, certificate, key };
        certificate::init(&tls, vec!["localhost".into()], false).unwrap();
        let shown = ServedCertificate::load(&tls).unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let mut client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let (stream, _) = listener.accept().await.unwrap();
        what(&mut client).await;
        HttpStream::greet(Wire::Tcp(stream), None, Some(&shown)).await.is_some()
    }

    /// Time is paused: it jumps to the next timer as soon as nothing else can happen.
    #[tokio::test(start_paused = true)]
    async fn nobody_holds_a_place_by_silence() {
        let started = tokio::time::Instant::now();
        assert!(!greeted(async |_| {}).await);
        assert_eq!(started.elapsed(), HANDSHAKE);
        // Nor with half a greeting.
        let started = tokio::time::Instant::now();
        assert!(!greeted(async |client| client.write_all(&[22, 3, 1, 2]).await.unwrap()).await);
        assert_eq!(started.elapsed(), HANDSHAKE);
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_goes_away_is_let_go_at_once() {
        let started = tokio::time::Instant::now();
        assert!(!greeted(async |client| client.shutdown().await.unwrap()).await);
        assert_eq!(started.elapsed(), Duration::ZERO);
    }
}
