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
/// The longest wait before the first attempt after a loss: 10,000 devices that lost the broker together come back over
/// 7 s, each at a random time.
const SPREAD_MS: u64 = 8_000;

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
            _ => wait(attempt, random()),
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

/// The wait before attempt number `attempt`, which begins with 1: at random between the shortest wait and a longest one,
/// which is [`SPREAD_MS`] at first and twice as much each time. `random`: where between them.
fn wait(attempt: usize, random: u32) -> Duration {
    let (first, last) = WAIT_MS;
    let most = (SPREAD_MS << (attempt.max(1) - 1).min(8)).min(last);
    Duration::from_millis(first + (((most - first) * u64::from(random)) >> 32))
}

/// Without random bytes everybody waits the longest time, which is no failure.
fn random() -> u32 {
    let mut random = [0; 4];
    ring::rand::SecureRandom::fill(&ring::rand::SystemRandom::new(), &mut random)
        .map_or(u32::MAX, |()| u32::from_le_bytes(random))
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
    fn waits_grow_from_a_spread_of_eight_seconds_to_two_minutes() {
        let seconds = |attempt, random| wait(attempt, random).as_millis().div_ceil(1_000);
        for (attempt, most) in [(1, 8), (2, 16), (3, 32), (4, 64), (5, 120), (6, 120), (usize::MAX, 120)] {
            assert_eq!((seconds(attempt, 0), seconds(attempt, u32::MAX)), (1, most), "{attempt}");
        }
        // Evenly, also the first one: in each second of it about as many devices as in the others.
        let mut arrivals = [0; 8];
        (0..=u32::MAX).step_by(1 << 20).for_each(|random| arrivals[wait(1, random).as_secs() as usize] += 1);
        assert_eq!(arrivals[0], 0);
        assert!(arrivals[1..].iter().all(|many| (580..=590).contains(many)), "{arrivals:?}");
    }
}
