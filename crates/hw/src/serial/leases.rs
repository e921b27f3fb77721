//! All open ports of one server, and what their callers do with them.

use super::{
    allow::SerialAllow,
    buffer::{Ended, SerialRead},
    follow::follow,
    open::{OpenPort, PortState},
    port::{Line, SerialBackend, SerialPort, Wire},
    simulated::SimulatedSerial,
    told::SerialError,
    tty::Ttys,
};
use crate::gpio::lease::Owner;
use base::os::{Root, blocking, readable};
use contract::{access::presence::Presence, config::SerialSettings};
use std::{
    collections::BTreeMap,
    io,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio::{
    sync::Notify,
    time::{Instant, sleep, timeout, timeout_at},
};

/// Most ports that are open at once: 64 KiB of memory each at most.
const MOST: usize = 16;

/// How soon and how late it is looked again whether bytes have left.
const SOONEST: Duration = Duration::from_millis(1);
const LATEST: Duration = Duration::from_millis(20);

/// The serial ports of one server.
pub struct Serial {
    backend: Arc<dyn SerialBackend>,
    allow: SerialAllow,
    open: Mutex<BTreeMap<String, Arc<OpenPort>>>,
    /// Something has arrived at a port since [`Serial::take_news`].
    pub(super) news: Notify,
}

/// What is written, and how.
#[derive(Clone, Debug)]
pub struct SerialWrite {
    pub bytes: Vec<u8>,
    /// The length of a break before the bytes.
    pub broken: Option<Duration>,
    /// Whether to wait until they have left.
    pub drain: bool,
    pub limit: Duration,
}

/// An open port as others see it.
#[derive(Clone, Debug)]
pub struct SerialStatus {
    pub owner: Owner,
    /// Whether it is the viewer's.
    pub yours: bool,
    /// When its lease ends unless it is used.
    pub ends: Option<Instant>,
    pub line: Line,
    /// Bytes since it was opened.
    pub received: u64,
    /// Bytes that nobody has read.
    pub waiting: usize,
    pub hung_up: bool,
}

impl Serial {
    /// Those of this machine, or of a simulated board.
    pub fn of(settings: &SerialSettings, root: &Root, simulated: Option<&SimulatedSerial>) -> Arc<Self> {
        let allow = SerialAllow::of(settings, simulated.is_some());
        match simulated {
            Some(ports) => Self::on(Arc::new(ports.clone()), allow),
            None => Self::on(Arc::new(Ttys(root.clone())), allow),
        }
    }

    pub fn on(backend: Arc<dyn SerialBackend>, allow: SerialAllow) -> Arc<Self> {
        Arc::new(Self { backend, allow, open: Mutex::default(), news: Notify::new() })
    }

    pub fn allow(&self) -> &SerialAllow {
        &self.allow
    }

    /// The ports there are, by name.
    pub fn ports(&self) -> Vec<SerialPort> {
        self.backend.ports(&self.allow.names())
    }

    /// How an open port is.
    pub fn status(&self, name: &str, viewer: &Owner) -> Option<SerialStatus> {
        let port = self.opened().get(name).cloned()?;
        let state = port.state();
        Some(SerialStatus {
            owner: state.owner.clone(),
            yours: state.is_of(viewer),
            ends: state.until,
            line: state.line,
            received: state.buffer.received,
            waiting: state.buffer.len(),
            hung_up: state.wire.is_none(),
        })
    }

    /// Opens a port for this owner, or changes the settings of one that is already open for it. The lease lasts for
    /// `lasts` after each use, or as long as the connection. `tool` is the caller's tool.
    ///
    /// # Errors
    /// Why it cannot be had.
    pub async fn open(
        self: &Arc<Self>,
        tool: &'static str,
        owner: &Owner,
        name: &str,
        line: Line,
        lasts: Option<Duration>,
    ) -> Result<(), SerialError> {
        if let Some(port) = self.opened().get(name).cloned()
            && let Some(()) = reopen(&port, owner, line, lasts)?
        {
            port.wake.notify_one();
            return Ok(());
        }
        let (backend, wanted) = (Arc::clone(&self.backend), name.to_owned());
        let opened = blocking::run(tool, move |stop| {
            stop.check()?;
            Ok(backend.open(&wanted, line))
        });
        let wire = opened.await.map_err(SerialError::Call)??;
        let reader = readable::listen(wire.descriptor()?)?;
        let mut open = self.opened();
        if owner.is_gone() || owner.pass.as_ref().is_some_and(Presence::is_gone) {
            return Err(SerialError::Gone);
        }
        if open.len() >= MOST {
            return Err(SerialError::TooMany(MOST));
        }
        let port = OpenPort::new(name.to_owned(), owner.clone(), line, wire, lasts);
        // The kernel let nobody else have it: what was open under this name is gone.
        if let Some(before) = open.insert(name.to_owned(), Arc::clone(&port)) {
            before.close();
        }
        drop(open);
        base::task::spawn(follow(Arc::downgrade(self), port, reader));
        Ok(())
    }

    /// Takes at most `most` bytes of what has arrived: up to `delimiter`; without one as soon as the line is quiet for a
    /// moment. Waits for `limit` at most.
    ///
    /// # Errors
    /// [`SerialError::HungUp`] when the line is gone and everything was read.
    pub async fn read(
        &self,
        owner: &Owner,
        name: &str,
        most: usize,
        delimiter: Option<&[u8]>,
        limit: Duration,
    ) -> Result<SerialRead, SerialError> {
        let port = self.held(owner, name)?;
        let deadline = Instant::now() + limit;
        let mut quiet = None;
        loop {
            // Created before the look, so that nothing that arrives meanwhile is missed.
            let arrived = port.arrived.notified();
            {
                let mut state = port.state();
                state.news = false;
                let whole = match state.buffer.whole(most, delimiter) {
                    None if state.wire.is_none() && state.buffer.len() == 0 => return Err(state.gone()),
                    None if state.wire.is_none() => Some((most, Ended::HungUp)),
                    None if Instant::now() >= deadline => Some((most, Ended::Timeout)),
                    None if quiet.is_some_and(|quiet| Instant::now() >= quiet) => Some((most, Ended::Quiet)),
                    whole => whole,
                };
                if let Some((count, ended)) = whole {
                    state.renew();
                    let read = SerialRead { faults: state.new_faults(), ..state.buffer.take(count, ended) };
                    drop(state);
                    port.wake.notify_one();
                    return Ok(read);
                }
                let has_some = delimiter.is_none() && state.buffer.len() > 0;
                quiet = has_some.then(|| Instant::now() + state.pause());
            }
            // Whether it arrived or not, the buffer is looked at again.
            let _ = timeout_at(quiet.map_or(deadline, |quiet| quiet.min(deadline)), arrived).await;
        }
    }

    /// The first bytes that wait, which stay; empty for others than its owner.
    pub fn peek(&self, owner: &Owner, name: &str, most: usize) -> Vec<u8> {
        let Some(port) = self.opened().get(name).cloned() else { return Vec::new() };
        let state = port.state();
        if state.is_of(owner) { state.buffer.first(most) } else { Vec::new() }
    }

    /// Sends a break of that length if there is one, behind what was written before, then the bytes; with `drain` it also waits until they
    /// have left.
    ///
    /// # Errors
    /// [`SerialError::Slow`] after `limit`: what had not left is dropped.
    pub async fn write(
        &self,
        tool: &'static str,
        owner: &Owner,
        name: &str,
        SerialWrite { bytes, broken, drain, limit }: SerialWrite,
    ) -> Result<(), SerialError> {
        let port = self.held(owner, name)?;
        let (mut sent, mut turn) = (0, None);
        let work = async {
            // Never closed.
            turn = Some(port.turn.acquire().await);
            let wire = port.wire()?;
            if let Some(length) = broken {
                // The kernel waits for them without a limit.
                left(&port, &wire).await?;
                let own = Arc::clone(&wire);
                let begun = blocking::run(tool, move |stop| {
                    stop.check()?;
                    Ok(Break::begin(own))
                });
                let pause = begun.await.map_err(SerialError::Call)??;
                sleep(length).await;
                drop(pause);
            }
            while sent < bytes.len() {
                match wire.send(&bytes[sent..]) {
                    Ok(count) => sent += count,
                    Err(fault) if fault.kind() == io::ErrorKind::WouldBlock => {
                        drop(readable::until_writable(wire.descriptor()?)?.writable().await?);
                    }
                    Err(fault) if fault.kind() == io::ErrorKind::Interrupted => {}
                    Err(fault) => return Err(fault.into()),
                }
            }
            if drain { left(&port, &wire).await } else { Ok(()) }
        };
        let ended = blocking::unless_told(tool, timeout(limit, work)).await;
        let mut discard = || {
            // Without its turn there are only bytes of other writes.
            let Some(wire) = port.wire().ok().filter(|_| turn.is_some()) else { return 0 };
            sent -= wire.unsent().unwrap_or_default().min(sent);
            wire.discard();
            wire.unsent().unwrap_or_default().min(bytes.len() - sent)
        };
        let ended = match ended {
            Ok(Ok(Err(SerialError::Call(error)))) | Err(error) => {
                discard();
                Err(SerialError::Call(error))
            }
            Ok(Ok(ended)) => ended,
            Ok(Err(_)) => {
                let kept = discard();
                Err(SerialError::Slow { sent, of: bytes.len(), kept, waited: limit })
            }
        };
        drop(turn);
        port.state().renew();
        port.wake.notify_one();
        ended
    }

    /// Gives a port back. Returns whether it was open.
    ///
    /// # Errors
    /// [`SerialError::Lent`] when it is another caller's.
    pub fn close(&self, owner: &Owner, name: &str) -> Result<bool, SerialError> {
        let Some(port) = self.opened().get(name).cloned() else { return Ok(false) };
        lent(&port, owner)?;
        self.forget(&port);
        Ok(true)
    }

    /// A connection has ended: its ports are closed, but for those whose caller gave them a time.
    pub fn left(&self, presence: &Presence) {
        self.close_those(|port| port.owner.presence.as_ref() == Some(presence) && port.lasts.is_none());
    }

    /// A credential was revoked: its ports are closed at once.
    pub fn revoked(&self, principal: &str) {
        self.close_those(|port| port.owner.principal == principal);
    }

    /// The server stops: every port is closed.
    pub fn end(&self) {
        self.close_those(|_| true);
    }

    /// Waits until something has arrived at a port, or one has gone.
    pub async fn arrived(&self) {
        self.news.notified().await;
    }

    /// The ports at which something has arrived since the last call.
    pub fn take_news(&self) -> Vec<String> {
        let open = self.opened();
        let new = open.values().filter(|port| std::mem::take(&mut port.state().news));
        new.map(|port| port.name.clone()).collect()
    }

    /// Closes this port, if it is still the one of its name.
    pub(super) fn forget(&self, port: &Arc<OpenPort>) {
        let mut open = self.opened();
        if open.get(&port.name).is_some_and(|known| Arc::ptr_eq(known, port)) {
            open.remove(&port.name);
        }
        drop(open);
        port.close();
    }

    fn close_those(&self, those: impl Fn(&PortState) -> bool) {
        let ports: Vec<_> = self.opened().values().filter(|port| those(&port.state())).cloned().collect();
        ports.iter().for_each(|port| self.forget(port));
    }

    /// The port that this owner has opened; a use of it.
    fn held(&self, owner: &Owner, name: &str) -> Result<Arc<OpenPort>, SerialError> {
        let port = self.opened().get(name).cloned().ok_or(SerialError::NotOpen)?;
        lent(&port, owner)?;
        port.state().renew();
        port.wake.notify_one();
        Ok(port)
    }

    /// Every change is a single insertion or removal, so a poisoned lock is safe to use.
    fn opened(&self) -> MutexGuard<'_, BTreeMap<String, Arc<OpenPort>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// # Errors
/// [`SerialError::Lent`] when the port is another caller's.
fn lent(port: &OpenPort, owner: &Owner) -> Result<(), SerialError> {
    let state = port.state();
    if state.is_of(owner) {
        return Ok(());
    }
    let free_in = state.until.map(|until| until.saturating_duration_since(Instant::now()));
    Err(SerialError::Lent { to: state.owner.principal.clone(), free_in })
}

/// Changes the settings of an open port; `None`: its line is gone, and it has to be opened anew.
fn reopen(port: &OpenPort, owner: &Owner, line: Line, lasts: Option<Duration>) -> Result<Option<()>, SerialError> {
    lent(port, owner)?;
    if owner.is_gone() {
        return Err(SerialError::Gone);
    }
    let mut state = port.state();
    let Some(wire) = &state.wire else { return Ok(None) };
    wire.configure(line)?;
    // Its connection may be another than the one that opened it.
    (state.line, state.lasts, state.owner) = (line, lasts, owner.clone());
    state.renew();
    Ok(Some(()))
}

/// Waits until all bytes that the driver took have left; its caller limits that. No event says so, so it looks again when they can have.
async fn left(port: &OpenPort, wire: &Arc<dyn Wire>) -> Result<(), SerialError> {
    loop {
        let unsent = match wire.unsent()? {
            0 => return Ok(()),
            unsent => u32::try_from(unsent).unwrap_or(u32::MAX),
        };
        // Ten bits a byte.
        let takes = Duration::from_secs(10).saturating_mul(unsent) / port.state().line.baud.max(1);
        sleep(takes.clamp(SOONEST, LATEST)).await;
        // Closed, or unplugged.
        port.wire()?;
    }
}

/// A break, until it is dropped.
struct Break(Arc<dyn Wire>);

impl Break {
    fn begin(wire: Arc<dyn Wire>) -> io::Result<Self> {
        wire.set_break(true)?;
        Ok(Self(wire))
    }
}

impl Drop for Break {
    fn drop(&mut self) {
        if let Err(fault) = self.0.set_break(false) {
            tracing::warn!(%fault, "a break on a serial line could not be ended");
        }
    }
}
