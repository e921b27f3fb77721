//! `GET /page/events`: what has changed, from the server's own subscriptions. An event says which resource to read again;
//! it holds nothing of it.

use crate::{
    log::LinesSince,
    resources::{
        self, ResourceAddress,
        subscription::{Ear, RecordedCall},
        subscriptions::Subscriptions,
    },
    rpc::router::Server,
};
use axum::body::Body;
use base::error::ToolError;
use bytes::Bytes;
use contract::access::caller::{Caller, PAGE};
use futures::{
    future::{BoxFuture, ready},
    stream,
};
use std::{convert::Infallible, sync::Arc};
use tokio::sync::mpsc;

/// What an open page follows, as far as its caller may read it.
pub const LIVE: &[&str] = &[
    "raspi://gpio",
    "raspi://update",
    "raspi://audit",
    "raspi://health",
    "raspi://server",
    "raspi://sampling",
    "raspi://logs/app?level=info",
];
/// Most events that wait for a slow browser; the notifier lets go of more.
const QUEUE: usize = 16;
/// How long a browser waits before it connects again, in milliseconds.
const RETRY_MS: u64 = 2000;

/// Subscribes `caller`, and returns the stream of events. It ends the subscriptions when it is dropped.
///
/// # Errors
/// `resource_exhausted` beyond the limits of [`Subscriptions`].
pub fn open(server: &Arc<Server>, caller: &Arc<Caller>) -> Result<Body, ToolError> {
    let (sender, receiver) = mpsc::channel(QUEUE);
    let subscriptions = Arc::clone(&server.subscriptions);
    let number = subscriptions.conversation();
    let listening = Listening { receiver, subscriptions, number };
    let ear: Arc<dyn Ear> = Arc::new(BrowserEar(sender.clone()));
    let mut followed = Vec::new();
    for uri in LIVE {
        if !resources::admits(uri, &server.pipeline, caller) {
            continue;
        }
        server.subscribe(number, caller, uri, ResourceAddress::parse(uri)?, Arc::clone(&ear))?;
        followed.push(*uri);
    }
    let first = format!("retry: {RETRY_MS}\nevent: following\ndata: {}\n\n", followed.join(" "));
    // The queue is empty: there is room.
    let _ = sender.try_send(Bytes::from(first));
    let events = stream::unfold(listening, |mut listening| async move {
        let event = listening.receiver.recv().await?;
        Some((Ok::<_, Infallible>(event), listening))
    });
    Ok(Body::from_stream(events))
}

/// An open page.
struct Listening {
    receiver: mpsc::Receiver<Bytes>,
    subscriptions: Arc<Subscriptions>,
    number: u64,
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.subscriptions.forget(self.number);
    }
}

struct BrowserEar(mpsc::Sender<Bytes>);

impl Ear for BrowserEar {
    /// What any page reads is no news: pages read at each change, so two open ones would never rest.
    fn hears(&self, call: &RecordedCall<'_>) -> bool {
        call.changed || !call.principal.starts_with(PAGE)
    }

    fn updated<'a>(&'a self, uri: &'a str) -> BoxFuture<'a, ()> {
        Box::pin(async move { drop(self.0.send(Bytes::from(format!("event: updated\ndata: {uri}\n\n"))).await) })
    }

    /// The page reads the log as a resource.
    fn log(&self, _lines: LinesSince) -> BoxFuture<'_, ()> {
        Box::pin(ready(()))
    }
}
