//! The task of an open port: it moves what arrives into the buffer, and ends the lease when its time is over.

use super::{leases::Serial, open::OpenPort};
use rustix::io::Errno;
use std::{
    os::fd::OwnedFd,
    sync::{Arc, Weak},
};
use tokio::{
    io::unix::AsyncFd,
    time::{Instant, sleep_until},
};

/// Most bytes of one read: the kernel's own buffer of a terminal.
const CHUNK: usize = 4096;

/// Ends when the port is closed or its lease is over.
pub async fn follow(serial: Weak<Serial>, port: Arc<OpenPort>, reader: AsyncFd<OwnedFd>) {
    let mut chunk = vec![0; CHUNK];
    let mut reader = Some(reader);
    loop {
        let (until, holds_back) = {
            let state = port.state();
            if state.closed {
                return;
            }
            (state.until, state.holds_back(CHUNK))
        };
        let arrived = async {
            match &reader {
                Some(reader) if !holds_back => read(reader, &mut chunk).await,
                _ => std::future::pending().await,
            }
        };
        tokio::select! {
            () = port.wake.notified() => {}
            () = sleep_until(until.unwrap_or_else(Instant::now)), if until.is_some() => {
                let Some(serial) = serial.upgrade() else { return };
                tracing::info!(port = port.name, "its lease is over; it is closed");
                serial.forget(&port);
                return;
            }
            count = arrived => match count {
                Ok(0) => {
                    reader = None;
                    port.hung_up(None);
                    tell(&serial);
                }
                Ok(count) => {
                    let mut state = port.state();
                    state.buffer.add(&chunk[..count]);
                    let told = std::mem::replace(&mut state.news, true);
                    drop(state);
                    port.arrived.notify_waiters();
                    if !told {
                        tell(&serial);
                    }
                }
                Err(fault) => {
                    reader = None;
                    port.hung_up(Some(fault.into()));
                    tell(&serial);
                }
            },
        }
    }
}

/// The next bytes; 0 when the line is gone.
async fn read(reader: &AsyncFd<OwnedFd>, chunk: &mut [u8]) -> Result<usize, Errno> {
    loop {
        let Ok(mut ready) = reader.readable().await else { return Ok(0) };
        match rustix::io::read(reader.get_ref(), &mut *chunk) {
            Err(Errno::AGAIN) => ready.clear_ready(),
            Err(Errno::INTR) => {}
            // What a pseudoterminal says when its other end is closed.
            Err(Errno::IO) => return Ok(0),
            read => return read,
        }
    }
}

fn tell(serial: &Weak<Serial>) {
    if let Some(serial) = serial.upgrade() {
        serial.news.notify_one();
    }
}
