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
        let request = Request::new().payload(payload).timeout(Some(limit));
        let answer = self.client.send_request(subject, request).await;
        answer.map(BrokerMessage::from).map_err(|error| match error.kind() {
            RequestErrorKind::NoResponders => RequestFailure::Nobody,
            RequestErrorKind::TimedOut => RequestFailure::Timeout,
            _ => RequestFailure::Broken(failed(&error)),
        })
    }
}
