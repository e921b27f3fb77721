//! A write deadline that progress extends: a peer that does not read, or reads a byte now and then, cannot hold its
//! connection indefinitely, while a slow one that does read receives everything.
//!
//! A peer has a budget of [`PATIENCE`] for blocked writes. Waiting consumes it; each byte that the peer accepts
//! restores some, at [`LEAST_RATE`]. A timer runs only while a write waits.

use contract::access::seats::Seat;
use std::{
    io::{self, IoSlice},
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
    time::Duration,
};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    time::{Instant, Sleep, sleep},
};

/// Longest time without progress. The kernel reports progress in steps of a third of its buffer (see `SEND_BUFFER` in
/// `http/listen.rs`), so a slow peer uses up part of it.
pub const PATIENCE: Duration = Duration::from_secs(30);
/// Average rate that a peer must sustain, in bytes a second: the slowest mobile networks have twice that.
pub const LEAST_RATE: u64 = 1024;

/// A stream whose writes are limited by that budget.
pub struct Paced<S> {
    stream: S,
    seat: Option<Arc<Seat>>,
    left: Duration,
    waits: Option<Waits>,
}

struct Waits {
    since: Instant,
    until: Pin<Box<Sleep>>,
}

impl<S> Paced<S> {
    /// `seat`: where a stall is reported, so that this connection can be closed to make room before its budget is used
    /// up.
    pub fn new(stream: S, seat: Option<Arc<Seat>>) -> Self {
        Self { stream, seat, left: PATIENCE, waits: None }
    }

    /// Updates the budget after a write. While it is pending, polls the deadline.
    fn pace<T>(
        &mut self,
        cx: &mut Context<'_>,
        polled: Poll<io::Result<T>>,
        bytes: impl Fn(&T) -> usize,
    ) -> Poll<io::Result<T>> {
        match &polled {
            Poll::Pending => {
                let left = self.left;
                let seat = &self.seat;
                let waits = self.waits.get_or_insert_with(|| {
                    let since = Instant::now();
                    if let Some(seat) = seat {
                        seat.stalled(Some(since));
                    }
                    Waits { since, until: Box::pin(sleep(left)) }
                });
                ready!(waits.until.as_mut().poll(cx));
                tracing::debug!("closed a connection whose peer does not read, or too slowly");
                Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, "the peer does not read")))
            }
            Poll::Ready(Ok(value)) => {
                if let Some(waits) = self.waits.take() {
                    self.left = self.left.saturating_sub(waits.since.elapsed());
                    if let Some(seat) = &self.seat {
                        seat.stalled(None);
                    }
                }
                let earned = Duration::from_micros(bytes(value) as u64 * 1_000_000 / LEAST_RATE);
                self.left = (self.left + earned).min(PATIENCE);
                polled
            }
            Poll::Ready(Err(_)) => polled,
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Paced<S> {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_read(cx, buf)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Paced<S> {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let polled = Pin::new(&mut this.stream).poll_write(cx, bytes);
        this.pace(cx, polled, |count| *count)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let polled = Pin::new(&mut this.stream).poll_write_vectored(cx, slices);
        this.pace(cx, polled, |count| *count)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        match Pin::new(&mut this.stream).poll_flush(cx) {
            // A socket's flush does nothing, so it is not progress.
            Poll::Ready(flushed) => Poll::Ready(flushed),
            Poll::Pending => this.pace(cx, Poll::Pending, |()| 0),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let polled = Pin::new(&mut this.stream).poll_shutdown(cx);
        this.pace(cx, polled, |()| 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};

    /// Time is paused: it jumps to the next timer as soon as nothing else can happen.
    #[tokio::test(start_paused = true)]
    async fn a_peer_that_never_reads_is_let_go() {
        let (ours, _theirs) = duplex(64);
        let started = Instant::now();
        let error = Paced::new(ours, None).write_all(&[0; 65]).await.unwrap_err();
        assert_eq!((error.kind(), started.elapsed()), (io::ErrorKind::TimedOut, PATIENCE));
    }

    #[tokio::test(start_paused = true)]
    async fn a_byte_now_and_then_is_not_reading() {
        let (ours, mut theirs) = duplex(64);
        let started = Instant::now();
        let reading = async {
            while let Ok(1) = theirs.read(&mut [0]).await {
                sleep(Duration::from_secs(5)).await;
            }
        };
        let mut paced = Paced::new(ours, None);
        let written = tokio::select! {
            written = paced.write_all(&[0; 4096]) => written,
            () = reading => unreachable!("it never ends by itself"),
        };
        assert_eq!(written.unwrap_err().kind(), io::ErrorKind::TimedOut);
        assert!(started.elapsed() <= PATIENCE + Duration::from_secs(1), "{:?}", started.elapsed());
    }

    #[tokio::test(start_paused = true)]
    async fn a_slow_peer_gets_a_whole_photo() {
        const PHOTO: usize = 16 * 1024 * 1024;
        let (ours, mut theirs) = duplex(64 * 1024);
        let mut paced = Paced::new(ours, None);
        let sending = async {
            paced.write_all(&vec![7; PHOTO]).await.unwrap();
            paced.shutdown().await.unwrap();
        };
        // Two kilobytes a second, with a pause of twenty seconds before each forty of them.
        let reading = async {
            let (mut count, mut part) = (0, vec![0; 40 * 1024]);
            loop {
                sleep(Duration::from_secs(20)).await;
                match theirs.read_exact(&mut part).await {
                    Ok(_) => count += part.len(),
                    Err(_) => return count,
                }
            }
        };
        let (started, ((), read)) = (Instant::now(), tokio::join!(sending, reading));
        assert!(read >= PHOTO - 64 * 1024 && started.elapsed() > Duration::from_secs(2 * 3600), "{read}");
    }
}
