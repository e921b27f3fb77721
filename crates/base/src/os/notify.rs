//! Notifications to the service manager: ready, status, watchdog.
//!
//! The protocol of sd_notify(3): datagrams of `NAME=value` lines to the socket in `NOTIFY_SOCKET`. Sixty lines with the
//! standard library, instead of another dependency; calls are rare.

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

/// Longest status in bytes; `systemctl status` shows one line.
const LONGEST_STATUS: usize = 512;

/// The service manager. Without one, notifications are discarded at no cost.
#[derive(Debug, Default)]
pub struct ServiceManager {
    socket: Option<UnixDatagram>,
    /// The watchdog's timeout.
    watchdog: Option<Duration>,
}

impl ServiceManager {
    /// The manager in this process's environment. An unreachable one is logged and ignored: without `READY=1` systemd
    /// itself ends the start with a reason, and in a shell with an inherited variable there is no service.
    pub fn of_process() -> Self {
        Self::named(|name| std::env::var_os(name), std::process::id()).unwrap_or_else(|error| {
            tracing::error!(%error, "the service manager cannot be told anything");
            Self::default()
        })
    }

    /// [`ServiceManager::of_process`] with the environment and the process id passed in.
    ///
    /// # Errors
    /// When `NOTIFY_SOCKET` is neither an absolute path nor an abstract name, or has no listener; when `WATCHDOG_USEC`
    /// is not a number above zero.
    pub fn named(variable: impl Fn(&str) -> Option<OsString>, pid: u32) -> io::Result<Self> {
        let Some(name) = variable("NOTIFY_SOCKET").filter(|name| !name.is_empty()) else { return Ok(Self::default()) };
        let socket = UnixDatagram::unbound()?;
        socket.connect_addr(&address(&name)?)?;
        // Non-blocking: a queue that the manager does not empty must not stop the server.
        socket.set_nonblocking(true)?;
        Ok(Self { socket: Some(socket), watchdog: watchdog(variable, pid)? })
    }

    /// Connections are accepted from now on.
    pub fn ready(&self, status: &str) {
        self.say(&format!("READY=1\nSTATUS={}", one_line(status)));
    }

    /// The process is about to end by itself.
    pub fn stopping(&self, status: &str) {
        self.say(&format!("STOPPING=1\nSTATUS={}", one_line(status)));
    }

    /// Notifies the watchdog twice per timeout, as long as it is polled: poll it on the thread to be monitored. Without
    /// a watchdog it sleeps for ever, without wake-ups.
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

/// sd_watchdog_enabled(3): the timeout, if it is meant for this process.
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
