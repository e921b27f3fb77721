//! What this process tells the service manager that started it: that it is ready, what it does, that it lives.
//!
//! The protocol of sd_notify(3): datagrams of `NAME=value` lines to the socket in `NOTIFY_SOCKET`. Sixty lines over the
//! standard library, where a crate for it would be one more to follow; nothing here is called twice a minute.

use std::{
    ffi::OsString,
    io,
    os::{
        linux::net::SocketAddrExt,
        unix::{
            ffi::OsStrExt,
            net::{SocketAddr, UnixDatagram},
        },
    },
    time::Duration,
};

/// A status line is for one line of `systemctl status`.
const LONGEST_STATUS: usize = 512;

/// The service manager, or nobody: then every word is lost, at no cost. Cheap while nothing is said.
#[derive(Debug, Default)]
pub struct Manager {
    socket: Option<UnixDatagram>,
    /// How long the manager waits for a sign of life.
    watchdog: Option<Duration>,
}

impl Manager {
    /// The manager that this process's environment names. One that cannot be reached is logged and then nobody: without
    /// `READY=1` systemd itself ends the start with its reason, and a shell that inherited the variable is no service.
    pub fn of_process() -> Self {
        Self::named(|name| std::env::var_os(name), std::process::id()).unwrap_or_else(|error| {
            tracing::error!(%error, "the service manager cannot be told anything");
            Self::default()
        })
    }

    /// [`Manager::of_process`] with the environment and the process's number passed in.
    ///
    /// # Errors
    /// When `NOTIFY_SOCKET` is neither a full path nor an abstract name, or nobody listens there; when `WATCHDOG_USEC`
    /// is no number above zero.
    pub fn named(variable: impl Fn(&str) -> Option<OsString>, pid: u32) -> io::Result<Self> {
        let Some(name) = variable("NOTIFY_SOCKET").filter(|name| !name.is_empty()) else { return Ok(Self::default()) };
        let socket = UnixDatagram::unbound()?;
        socket.connect_addr(&address(&name)?)?;
        // A full queue must not stop the server: it is the manager's to empty.
        socket.set_nonblocking(true)?;
        Ok(Self { socket: Some(socket), watchdog: watchdog(variable, pid)? })
    }

    /// The doors are open.
    pub fn ready(&self, status: &str) {
        self.say(&format!("READY=1\nSTATUS={}", one_line(status)));
    }

    /// The process is about to end; what follows is its own doing.
    pub fn stopping(&self, status: &str) {
        self.say(&format!("STOPPING=1\nSTATUS={}", one_line(status)));
    }

    /// Gives a sign of life twice in the time the manager waits for one, for as long as it is polled: poll it on the
    /// thread whose life is in question. Without a watchdog it sleeps for good and wakes nobody up.
    pub async fn watchdog(&self) -> std::convert::Infallible {
        let Some(limit) = self.watchdog else { return std::future::pending().await };
        let mut beat = tokio::time::interval(limit / 2);
        beat.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            beat.tick().await;
            self.say("WATCHDOG=1");
        }
    }

    fn say(&self, words: &str) {
        let Some(socket) = &self.socket else { return };
        if let Err(error) = socket.send(words.as_bytes()) {
            tracing::warn!(%error, words, "the service manager did not take a message");
        }
    }
}

fn address(name: &OsString) -> io::Result<SocketAddr> {
    match name.as_bytes() {
        [b'@', name @ ..] => SocketAddr::from_abstract_name(name),
        [b'/', ..] => SocketAddr::from_pathname(name),
        _ => Err(invalid(format!("NOTIFY_SOCKET is {name:?}; it must be a full path or begin with @"))),
    }
}

/// sd_watchdog_enabled(3): the limit, where it is meant for this process.
fn watchdog(variable: impl Fn(&str) -> Option<OsString>, pid: u32) -> io::Result<Option<Duration>> {
    let text = |name: &str| variable(name).map(|value| value.to_string_lossy().into_owned());
    let Some(limit) = text("WATCHDOG_USEC") else { return Ok(None) };
    if text("WATCHDOG_PID").is_some_and(|meant| meant != pid.to_string()) {
        return Ok(None);
    }
    match limit.parse() {
        Ok(micros) if micros > 0 => Ok(Some(Duration::from_micros(micros))),
        _ => Err(invalid(format!("WATCHDOG_USEC is {limit:?}; it must be a number of microseconds above 0"))),
    }
}

fn invalid(why: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, why)
}

/// A line break would begin another assignment.
fn one_line(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(LONGEST_STATUS).collect()
}
