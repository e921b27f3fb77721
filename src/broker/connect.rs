//! Connecting: TLS with a certificate of one's own, and waits at random.

use super::{Broker, failed};
use async_nats::{ConnectOptions, Event, ServerAddr};
use base::error::ToolError;
use std::{path::PathBuf, time::Duration};
use tokio::sync::watch;

/// Time for one attempt, with TLS: a Pi Zero takes a second.
const ATTEMPT: Duration = Duration::from_secs(20);
/// Silence before the broker is asked whether it is there; two unanswered questions end the connection. The kernel's
/// probes wake no process, but a broker behind a proxy needs traffic of the protocol's own.
const PING: Duration = Duration::from_secs(240);
/// Messages that wait for a slow reader, at most: small frames of a tunnel's largest window.
const WAITING: usize = 4096;
/// Messages that wait for the network, at most.
const SENDING: usize = 128;
/// Bytes read at once.
const READ: u16 = 16 * 1024;
/// Waits between attempts, in milliseconds: from 1 s, up to 120 s.
const WAIT_MS: (u64, u64) = (1_000, 120_000);

/// How to connect.
pub struct BrokerOptions {
    /// Addresses such as `tls://broker.example.org:4222`; one after the other is tried.
    pub servers: Vec<String>,
    /// Files in PEM, read at every connection: the one authority that is trusted, and the client's certificate with its key.
    pub authority: PathBuf,
    pub certificate: PathBuf,
    pub key: PathBuf,
    /// Shown in the broker's list of connections.
    pub name: String,
    /// The prefix of inboxes: answers to requests arrive below it.
    pub inbox: String,
    /// Whether to go on trying when the first attempt fails: [`Broker::connect`] then returns at once.
    pub persistent: bool,
}

/// The state of a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkState {
    pub connected: bool,
    /// How often a connection was made. Messages may be lost from one to the next.
    pub connections: u64,
}

impl Broker {
    /// # Errors
    /// `invalid_argument` for an address; `unavailable` when nobody answers and it is not `persistent`;
    /// `permission_denied` when the broker refuses the certificate.
    pub async fn connect(options: BrokerOptions) -> Result<Self, ToolError> {
        let servers = addresses(&options.servers)?;
        let (told, state) = watch::channel(LinkState::default());
        // The first attempt of a process is made at once, and also that of a person who waits; a device that lost its
        // connection lost it together with all others.
        let (known, alone) = (state.clone(), !options.persistent);
        let wait = move |attempt| match attempt {
            1 if alone || known.borrow().connections == 0 => Duration::ZERO,
            _ => wait(attempt),
        };
        let mut connect = ConnectOptions::new()
            .name(options.name)
            .custom_inbox_prefix(options.inbox)
            .require_tls(true)
            // By their names: with a configuration that is ready, the crate reads and parses all authorities of the system at
            // every connection and drops them again (`tls::config_tls` of async-nats 0.51).
            .add_root_certificates(options.authority)
            .add_client_certificate(options.certificate, options.key)
            .connection_timeout(ATTEMPT)
            .ping_interval(PING)
            .subscription_capacity(WAITING)
            .client_capacity(SENDING)
            .read_buffer_capacity(READ)
            .ignore_discovered_servers()
            .reconnect_delay_callback(wait)
            .event_callback(move |event| {
                heard(&told, &event);
                std::future::ready(())
            });
        if options.persistent {
            connect = connect.retry_on_initial_connect();
        }
        let client = connect.connect(servers).await.map_err(|error| refused(&error))?;
        Ok(Self { client, state })
    }
}

fn heard(told: &watch::Sender<LinkState>, event: &Event) {
    match event {
        Event::Connected => told.send_modify(|state| {
            *state = LinkState { connected: true, connections: state.connections + 1 };
        }),
        Event::Disconnected | Event::Closed => told.send_modify(|state| state.connected = false),
        // A refusal of a subject, for instance: the broker's configuration is older than this device's right to it.
        other => tracing::warn!(event = %other, "the broker of the fleet reports a problem"),
    }
}

/// The wait before attempt number `attempt`, which begins with 1: at random between the first one and twice as much each
/// time.
fn wait(attempt: usize) -> Duration {
    let (first, last) = WAIT_MS;
    let most = first.saturating_mul(1 << attempt.min(8)).min(last);
    let mut random = [0; 4];
    // Without random bytes everybody waits the longest time, which is no failure.
    let share = ring::rand::SecureRandom::fill(&ring::rand::SystemRandom::new(), &mut random)
        .map_or(u64::from(u32::MAX), |()| u64::from(u32::from_le_bytes(random)));
    Duration::from_millis(first.max((most * share) >> 32))
}

fn addresses(servers: &[String]) -> Result<Vec<ServerAddr>, ToolError> {
    let address = |server: &String| {
        server.parse::<ServerAddr>().map_err(|error| {
            ToolError::invalid(format!("{server} is no address of a broker: {error}"))
                .hint("write it like tls://broker.example.org:4222")
        })
    };
    servers.iter().map(address).collect()
}

fn refused(error: &async_nats::ConnectError) -> ToolError {
    use async_nats::ConnectErrorKind::{Authentication, AuthorizationViolation};
    match error.kind() {
        Authentication | AuthorizationViolation => ToolError::denied(format!(
            "the broker refuses this certificate: {error}"
        ))
        .hint("the owner has to sign it (`raspi-mcp fleet sign`), and the broker to load its configuration again"),
        _ => failed(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_grow_and_are_never_longer_than_two_minutes() {
        for attempt in 1..2_000 {
            let waited = wait(attempt);
            let most = Duration::from_millis((1_000 << attempt.min(8)).min(120_000));
            assert!((Duration::from_secs(1)..=most).contains(&waited), "{attempt}: {waited:?}");
        }
    }
}
