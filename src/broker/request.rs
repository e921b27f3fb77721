//! A question to whoever hears a subject, and the answer.

use super::{Broker, BrokerMessage, failed};
use async_nats::{Request, RequestErrorKind};
use base::error::ToolError;
use bytes::Bytes;
use std::time::Duration;

/// Why there was no answer.
#[derive(Debug)]
pub enum RequestFailure {
    /// Nobody hears this subject: a device is not connected.
    Nobody,
    /// No answer in time.
    Timeout,
    Broken(ToolError),
}

impl Broker {
    /// Asks, and waits for one answer for at most `limit`.
    ///
    /// # Errors
    /// Why there was none.
    pub async fn request(
        &self,
        subject: String,
        payload: Bytes,
        limit: Duration,
    ) -> Result<BrokerMessage, RequestFailure> {
        self.send(subject, Request::new().payload(payload).timeout(Some(limit))).await
    }

    /// The same with headers. Only consoles send some: a device's are refused by the form of the streams.
    ///
    /// # Errors
    /// Why there was no answer.
    #[cfg(feature = "console")]
    pub async fn request_with(
        &self,
        subject: String,
        headers: &[(&'static str, String)],
        payload: Bytes,
        limit: Duration,
    ) -> Result<BrokerMessage, RequestFailure> {
        let mut map = async_nats::HeaderMap::new();
        for (name, value) in headers {
            map.insert(*name, value.as_str());
        }
        self.send(subject, Request::new().headers(map).payload(payload).timeout(Some(limit))).await
    }

    async fn send(&self, subject: String, request: Request) -> Result<BrokerMessage, RequestFailure> {
        let answer = self.client.send_request(subject, request).await;
        answer.map(BrokerMessage::from).map_err(|error| match error.kind() {
            RequestErrorKind::NoResponders => RequestFailure::Nobody,
            RequestErrorKind::TimedOut => RequestFailure::Timeout,
            _ => RequestFailure::Broken(failed(&error)),
        })
    }

    /// A subject below this connection's own inboxes, and what arrives there.
    ///
    /// # Errors
    /// `unavailable` after the connection was closed for good.
    #[cfg(feature = "console")]
    pub async fn subscribe_inbox(&self) -> Result<(String, super::BrokerSubscription), ToolError> {
        let inbox = self.client.new_inbox();
        Ok((inbox.clone(), self.subscribe(inbox).await?))
    }

    /// Publishes, and asks for answers at `reply`.
    ///
    /// # Errors
    /// As [`Broker::publish`].
    #[cfg(feature = "console")]
    pub async fn publish_from(&self, subject: String, reply: String, payload: Bytes) -> Result<(), ToolError> {
        self.client.publish_with_reply(subject, reply, payload).await.map_err(|error| failed(&error))
    }
}
