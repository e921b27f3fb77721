//! Delivers notifications to subscribers, in both eras. Nothing here logs, see [`Ear`].

use crate::{log::LinesSince, resources::subscription::Ear};
use contract::access::{caller::Caller, presence::Presence};
use futures::future::BoxFuture;
use rmcp::{
    Peer, RoleServer,
    model::{ResourceUpdatedNotification, ResourceUpdatedNotificationParam, ServerNotification},
    service::SubscriptionSink,
};
use serde_json::{Value, json};

/// A client of the revisions with `initialize`.
pub struct PeerEar {
    peer: Peer<RoleServer>,
    /// A listening client does not count as idle, so its connection is not closed to make room.
    _held: Option<Presence>,
}

impl PeerEar {
    pub fn new(peer: Peer<RoleServer>, caller: &Caller) -> Self {
        Self { peer, _held: caller.presence.as_ref().map(Presence::held) }
    }
}

impl Ear for PeerEar {
    fn updated<'a>(&'a self, uri: &'a str) -> BoxFuture<'a, ()> {
        Box::pin(async move { drop(self.peer.send_notification(updated(uri)).await) })
    }

    fn log(&self, lines: LinesSince) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            for message in messages(lines) {
                // A message that does not fit MCP is a bug that tests/it would find.
                let Ok(notification) = serde_json::from_value::<ServerNotification>(message) else { continue };
                if self.peer.send_notification(notification).await.is_err() {
                    return;
                }
            }
        })
    }
}

/// An open `subscriptions/listen` request (2026-07-28).
pub struct SinkEar(pub SubscriptionSink);

impl Ear for SinkEar {
    fn updated<'a>(&'a self, uri: &'a str) -> BoxFuture<'a, ()> {
        Box::pin(async move { drop(self.0.send(updated(uri)).await) })
    }

    /// Since 2026-07-28 log messages belong to requests; the server's own log is a resource.
    fn log(&self, _lines: LinesSince) -> BoxFuture<'_, ()> {
        Box::pin(std::future::ready(()))
    }
}

fn updated(uri: &str) -> ServerNotification {
    let params = ResourceUpdatedNotificationParam::new(uri);
    ServerNotification::ResourceUpdatedNotification(ResourceUpdatedNotification::new(params))
}

/// One `notifications/message` for each line, and one for lines that were lost.
fn messages(since: LinesSince) -> impl Iterator<Item = Value> {
    let message = |severity: &str, logger: &str, data: Value| {
        let params = json!({ "level": severity, "logger": logger, "data": data });
        json!({ "method": "notifications/message", "params": params })
    };
    let gap = (since.left_out > 0).then(|| {
        let text = format!("{} lines are left out; raspi://logs/app has what is kept", since.left_out);
        message("warning", "raspi_mcp", json!({ "message": text, "left_out": since.left_out }))
    });
    let lines = since.lines.into_iter().map(move |line| {
        let mut data = json!({ "timestamp": line.timestamp, "message": line.message });
        if !line.fields.is_empty() {
            data["fields"] = Value::Object(line.fields.clone());
        }
        message(line.severity(), &line.target, data)
    });
    gap.into_iter().chain(lines)
}
