//! The broker of a fleet, NATS, behind one type: another one could take its place here and nowhere else.
//!
//! Used by both sides: `fleet_device` and the console in `fleet`. Knows neither of them, nor a tool. Messages are delivered at
//! most once and in the order of one sender, to whom the broker permits; none of that is relied on for safety (docs/fleet.md).

mod connect;
mod request;
#[cfg(feature = "console")]
pub mod stream;
pub mod tunnel;

pub use connect::{BrokerOptions, LinkState};
pub use request::RequestFailure;

use base::error::ToolError;
use bytes::Bytes;
use futures::StreamExt;
use tokio::sync::watch;

/// A connection that is kept up: after a loss it connects again after 1 to 120 s at random, and subscribes again.
#[derive(Clone)]
pub struct Broker {
    client: async_nats::Client,
    state: watch::Receiver<LinkState>,
}

/// A received message.
#[derive(Debug)]
pub struct BrokerMessage {
    pub subject: String,
    pub payload: Bytes,
    /// Where an answer is expected. Chosen by the sender: a device never answers there.
    pub reply: Option<String>,
    /// The status line of a message of the broker itself, such as 404; 0 otherwise.
    pub status: u16,
}

/// Messages of one subject, or of several with `*` and `>`. Ends when it is dropped.
pub struct BrokerSubscription(async_nats::Subscriber);

impl Broker {
    /// Publishes without confirmation. Waits while the queue towards the broker is full.
    ///
    /// # Errors
    /// `unavailable` after the connection was closed for good; `invalid_argument` for a message beyond the broker's limit.
    pub async fn publish(&self, subject: String, payload: Bytes) -> Result<(), ToolError> {
        self.client.publish(subject, payload).await.map_err(|error| failed(&error))
    }

    /// Waits until all that was published before is with the network. A link that is cut, and not noticed yet, takes it too.
    ///
    /// # Errors
    /// `unavailable` when the connection was lost meanwhile: what was published may be lost.
    pub async fn flush(&self) -> Result<(), ToolError> {
        self.client.flush().await.map_err(|error| failed(&error))
    }

    /// Hears a subject from now on.
    ///
    /// # Errors
    /// `unavailable` after the connection was closed for good.
    pub async fn subscribe(&self, subject: String) -> Result<BrokerSubscription, ToolError> {
        self.client.subscribe(subject).await.map(BrokerSubscription).map_err(|error| failed(&error))
    }

    /// Whether it is connected, and how often it was.
    pub fn state(&self) -> watch::Receiver<LinkState> {
        self.state.clone()
    }
}

impl BrokerSubscription {
    /// The next message; `None` after the connection was closed for good.
    pub async fn next(&mut self) -> Option<BrokerMessage> {
        self.0.next().await.map(BrokerMessage::from)
    }
}

impl From<async_nats::Message> for BrokerMessage {
    fn from(message: async_nats::Message) -> Self {
        Self {
            subject: message.subject.to_string(),
            payload: message.payload,
            reply: message.reply.map(|reply| reply.to_string()),
            status: message.status.map_or(0, |status| status.as_u16()),
        }
    }
}

fn failed(error: &dyn std::error::Error) -> ToolError {
    ToolError::unavailable(format!("the broker cannot be used: {error}"))
        .hint("`raspi-mcp fleet doctor` says what is wrong with the connection")
}
