//! One end of a tunnel: carries the bytes of a local stream through the broker, in frames ([`fleet_protocol::tunnel`]).

mod liveness;

use super::{Broker, BrokerSubscription};
use bytes::{Buf, Bytes};
use fleet_protocol::tunnel::{CHUNK, Frame, Window};
use liveness::{Due, Liveness};
use std::collections::VecDeque;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt, DuplexStream, ReadHalf, WriteHalf},
    time::{Instant, sleep_until},
};

/// Bytes between a tunnel and what it carries.
pub const LOCAL_BUFFER: usize = 64 * 1024;

/// One end.
pub struct TunnelEnd {
    pub broker: Broker,
    /// The subject that the other end hears.
    pub to: String,
    /// The frames of the other end.
    pub frames: BrokerSubscription,
    /// Bytes that the other end has granted.
    pub credit: u32,
    /// The most that is granted to the other end, in bytes.
    pub most: u32,
}

/// What the loop of an end works on.
struct Running {
    end: TunnelEnd,
    window: Window,
    /// Data that the local stream has not taken yet, at most the receive window.
    inbound: VecDeque<Bytes>,
    /// Bytes in it.
    held: usize,
    /// The other end was told that this one waits for credit.
    told: bool,
    local: (ReadHalf<DuplexStream>, WriteHalf<DuplexStream>),
    /// Whether a side has no more data.
    local_ended: bool,
    remote_ended: bool,
}

impl TunnelEnd {
    /// Carries `local` until both sides have ended. On an error the other end is told, and `local` breaks off.
    ///
    /// # Errors
    /// Why it broke, for the log.
    pub async fn carry(self, local: DuplexStream) -> Result<(), String> {
        let mut running = Running {
            window: Window::new(self.most),
            end: self,
            inbound: VecDeque::new(),
            held: 0,
            told: false,
            local: tokio::io::split(local),
            local_ended: false,
            remote_ended: false,
        };
        let ended = running.run().await;
        if let Err(why) = &ended {
            // If the broker is gone as well, the other end notices by the silence.
            let _ = running.tell(Frame::Reset(why)).await;
        }
        ended
    }
}

impl Running {
    async fn run(&mut self) -> Result<(), String> {
        let mut state = self.end.broker.state();
        let connections = state.borrow_and_update().connections;
        let mut liveness = Liveness::new(Instant::now());
        let mut buffer = vec![0; CHUNK];
        while !(self.local_ended && self.remote_ended && self.inbound.is_empty()) {
            let room = CHUNK.min(self.end.credit as usize);
            if room == 0 && !self.local_ended && !std::mem::replace(&mut self.told, true) {
                self.tell(Frame::Blocked).await?;
            }
            let (when, due) = liveness.next();
            tokio::select! {
                message = self.end.frames.next() => {
                    let message = message.ok_or("the connection to the broker was closed")?;
                    liveness.heard(Instant::now());
                    if self.frame(message.payload).await? {
                        liveness.moved(Instant::now());
                    }
                }
                read = self.local.0.read(&mut buffer[..room]), if room > 0 && !self.local_ended => match read {
                    Ok(0) => {
                        self.local_ended = true;
                        liveness.local_ended(Instant::now());
                        self.tell(Frame::End).await?;
                    }
                    Ok(count) => {
                        self.tell(Frame::Data(&buffer[..count])).await?;
                        // At most `room`.
                        self.end.credit -= count as u32;
                    }
                    Err(error) => return Err(format!("the connection behind the tunnel broke: {error}")),
                },
                written = write(&mut self.local.1, self.inbound.front()), if !self.inbound.is_empty() => {
                    let count = written.map_err(|error| format!("the connection behind the tunnel broke: {error}"))?;
                    liveness.moved(Instant::now());
                    self.written(count).await?;
                }
                changed = state.changed() => {
                    let now = *state.borrow_and_update();
                    if changed.is_err() || !now.connected || now.connections != connections {
                        return Err("the connection to the broker was lost".into());
                    }
                }
                () = sleep_until(when) => match due {
                    Due::GiveUp(why) => return Err(why.into()),
                    Due::Probe => {
                        liveness.probed();
                        self.tell(Frame::Probe).await?;
                    }
                },
            }
        }
        Ok(())
    }

    /// Follows one frame; whether it had data.
    async fn frame(&mut self, mut message: Bytes) -> Result<bool, String> {
        match Frame::read(&message).ok_or("the other end sent no frame of a tunnel")? {
            Frame::Data(bytes) => {
                // Each would take a place in the queue, and none of the window.
                if bytes.is_empty() {
                    return Err("the other end sent data of no bytes".into());
                }
                if self.remote_ended || !self.window.received(bytes.len()) {
                    return Err("the other end sent more than it may".into());
                }
                message.advance(1);
                self.held += message.len();
                self.inbound.push_back(message);
                return Ok(true);
            }
            Frame::Credit(bytes) => {
                self.end.credit = self.end.credit.saturating_add(bytes);
                self.told = false;
            }
            Frame::End => {
                self.remote_ended = true;
                if self.inbound.is_empty() {
                    self.shut().await;
                }
            }
            Frame::Reset(why) => return Err(format!("the other end closed it: {why}")),
            Frame::Blocked => {
                if let Some(more) = self.window.blocked(self.held) {
                    self.tell(Frame::Credit(more)).await?;
                }
            }
            Frame::Probe => self.tell(Frame::Credit(0)).await?,
            // Its first frame, which was read before.
            Frame::Accept(_) => return Err("the other end accepted it twice".into()),
        }
        Ok(false)
    }

    /// The local stream took this many bytes.
    async fn written(&mut self, count: usize) -> Result<(), String> {
        if let Some(first) = self.inbound.front_mut() {
            first.advance(count);
            if first.is_empty() {
                self.inbound.pop_front();
            }
        }
        self.held -= count;
        if let Some(more) = self.window.passed(count) {
            self.tell(Frame::Credit(more)).await?;
        }
        if self.remote_ended && self.inbound.is_empty() {
            self.shut().await;
        }
        Ok(())
    }

    /// Tells the local stream that nothing more comes. If it is gone, reading from it says so.
    async fn shut(&mut self) {
        let _ = self.local.1.shutdown().await;
    }

    async fn tell(&self, frame: Frame<'_>) -> Result<(), String> {
        let sent = self.end.broker.publish(self.end.to.clone(), frame.write().into()).await;
        sent.map_err(|error| error.message.clone())
    }
}

/// Writes a part of the first data that waits.
async fn write(local: &mut WriteHalf<DuplexStream>, waiting: Option<&Bytes>) -> std::io::Result<usize> {
    match waiting {
        Some(bytes) => local.write(bytes).await,
        None => Ok(0),
    }
}
