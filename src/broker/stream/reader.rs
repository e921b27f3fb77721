//! All messages of a stream and then the new ones, by one pull consumer. Never one consumer for each device: JetStream
//! fails at some ten thousand.

use super::Broker;
use crate::broker::BrokerSubscription;
use base::error::ToolError;
use bytes::Bytes;
use serde_json::json;
use std::time::Duration;
use tokio::sync::watch;

/// Messages asked for at once; twice as many are under way at most, which is below what a subscription holds.
const BATCH: u64 = 200;
/// A stream that has messages and delivers none for so long is broken.
const SILENCE: Duration = Duration::from_secs(10);
/// How long one question for messages stays with the broker, in nanoseconds: five minutes.
const EXPIRES: u64 = 300_000_000_000;
/// The broker forgets the consumer of a console that went away after so long, in nanoseconds.
const FORGOTTEN: u64 = 120_000_000_000;
/// The status line of a question that has expired, or that the broker ended.
const EXPIRED: std::ops::RangeInclusive<u16> = 400..=599;

/// A message that a stream keeps.
#[derive(Debug)]
pub struct StreamMessage {
    pub subject: String,
    pub payload: Bytes,
    /// When the broker received it, in ms since 1970 UTC by its clock.
    pub heard_ms: i64,
    /// How many messages wait behind it.
    pub behind: u64,
}

/// Reads a stream.
pub struct StreamReader {
    broker: Broker,
    stream: String,
    consumer: String,
    inbox: String,
    messages: BrokerSubscription,
    state: watch::Receiver<super::super::LinkState>,
    connections: u64,
    /// Messages that wait in the stream, by the broker's last word.
    behind: u64,
    /// Messages that were asked for and have not come.
    asked: u64,
}

impl Broker {
    /// Reads `stream` from the first message that it keeps.
    ///
    /// # Errors
    /// `failed_precondition` without such a stream; `unavailable` without an answer.
    pub async fn read_stream(&self, stream: String) -> Result<StreamReader, ToolError> {
        let (inbox, messages) = self.subscribe_inbox().await?;
        let state = self.state();
        let mut reader = StreamReader {
            broker: self.clone(),
            stream,
            consumer: String::new(),
            inbox,
            messages,
            state,
            connections: 0,
            behind: 0,
            asked: 0,
        };
        reader.begin().await?;
        Ok(reader)
    }
}

impl StreamReader {
    /// How many messages wait to be read.
    pub fn behind(&self) -> u64 {
        self.behind
    }

    /// The next message of those that the stream has; `None` after the last one.
    ///
    /// # Errors
    /// `unavailable` when the broker delivers nothing, or the connection is lost.
    pub async fn next_kept(&mut self) -> Result<Option<StreamMessage>, ToolError> {
        if self.behind == 0 {
            return Ok(None);
        }
        match tokio::time::timeout(SILENCE, self.next()).await {
            Ok(message) => message.map(Some),
            Err(_) => Err(ToolError::unavailable(format!(
                "the broker says that {} messages wait, and delivers none",
                self.behind
            ))),
        }
    }

    /// The next message, also one that comes later. Begins with the first one again after the connection was lost:
    /// whoever reads knows what it has by its sequence.
    ///
    /// # Errors
    /// `unavailable` after the connection was closed for good; `failed_precondition` if the stream is gone.
    pub async fn next(&mut self) -> Result<StreamMessage, ToolError> {
        loop {
            if self.state.borrow().connections != self.connections {
                self.begin().await?;
            }
            // As long as many wait, the next batch is asked for before the last one has come.
            if self.asked == 0 || (self.asked <= BATCH && self.behind > self.asked) {
                self.ask().await?;
            }
            let message = tokio::select! {
                message = self.messages.next() => message,
                Ok(()) = self.state.changed() => continue,
            };
            let message = message.ok_or_else(|| ToolError::unavailable("the connection to the broker was closed"))?;
            if EXPIRED.contains(&message.status) {
                // Which question ended is not said; too many open ones do no harm, too few would.
                self.asked = 0;
                continue;
            }
            let Some((heard_ms, behind)) = message.reply.as_deref().and_then(place) else { continue };
            self.asked = self.asked.saturating_sub(1);
            self.behind = behind;
            return Ok(StreamMessage { subject: message.subject, payload: message.payload, heard_ms, behind });
        }
    }

    /// Makes the consumer.
    async fn begin(&mut self) -> Result<(), ToolError> {
        self.connections = self.state.borrow_and_update().connections;
        let consumer = json!({
            "stream_name": self.stream,
            "config": {
                "deliver_policy": "all",
                "ack_policy": "none",
                "replay_policy": "instant",
                "mem_storage": true,
                "inactive_threshold": FORGOTTEN,
            },
        });
        let made = self.broker.api(&format!("CONSUMER.CREATE.{}", self.stream), &consumer).await?;
        let name = made["name"].as_str().filter(|name| !name.contains([' ', '*', '>']));
        self.consumer = name.ok_or_else(|| ToolError::unavailable("the broker's new consumer has no name"))?.to_owned();
        self.behind = made["num_pending"].as_u64().unwrap_or_default();
        self.asked = 0;
        Ok(())
    }

    async fn ask(&mut self) -> Result<(), ToolError> {
        let next = format!("$JS.API.CONSUMER.MSG.NEXT.{}.{}", self.stream, self.consumer);
        let question = json!({ "batch": BATCH, "expires": EXPIRES }).to_string();
        self.broker.publish_from(next, self.inbox.clone(), question.into()).await?;
        self.asked += BATCH;
        Ok(())
    }
}

/// When the broker received a message and how many wait behind it, from the subject of its acknowledgement:
/// `$JS.ACK.<stream>.<consumer>.<delivered>.<sequence>.<number>.<nanoseconds>.<pending>`, from newer brokers with the
/// domain and the account behind `ACK`, and sometimes a random part at the end.
fn place(reply: &str) -> Option<(i64, u64)> {
    let tokens: Vec<&str> = reply.strip_prefix("$JS.ACK.")?.split('.').collect();
    let at = if tokens.len() == 7 { 5 } else { 7 };
    let nanoseconds: i64 = tokens.get(at)?.parse().ok()?;
    Some((nanoseconds / 1_000_000, tokens.get(at + 1)?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_place_of_a_message_is_read_in_both_forms() {
        assert_eq!(place("$JS.ACK.home_status.c1.1.7.3.1767225600123456789.42"), Some((1_767_225_600_123, 42)));
        assert_eq!(place("$JS.ACK._.hash.home_status.c1.1.7.3.1767225600123456789.42"), Some((1_767_225_600_123, 42)));
        assert_eq!(place("$JS.ACK._.h.s.c.1.7.3.1767225600123456789.0.random"), Some((1_767_225_600_123, 0)));
        for other in ["_INBOX.a.b", "$JS.ACK.a.b", "$JS.ACK.s.c.1.7.3.x.42"] {
            assert_eq!(place(other), None, "{other}");
        }
    }
}
