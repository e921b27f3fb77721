//! Subscriptions in both eras, and log messages.

use super::{super::fault::fault as plain, McpRequest, fault, resources};
use crate::{
    log::rank,
    resources::{
        LOG, ResourceAddress,
        subscriptions::{PER_CONVERSATION, Subscriptions},
    },
    rpc::{
        mcp::ear::{PeerEar, SinkEar},
        router::Server,
    },
};
use contract::access::caller::Caller;
use rmcp::{
    ErrorData,
    model::{ErrorCode, SubscriptionFilter},
    service::SubscriptionContext,
};
use std::{any::Any, sync::Arc};

/// `resources/subscribe`.
///
/// # Errors
/// As reading the resource, except for errors of the tool; and beyond the limits of [`Subscriptions`].
pub async fn subscribe(asked: &McpRequest, uri: &str) -> Result<(), ErrorData> {
    needs_conversation(asked)?;
    let McpRequest { server, caller, conversation, context, .. } = asked;
    let address = resources::parse(uri)?;
    server.may_read(caller, context.id.to_string(), &address).await.map_err(|error| fault(&error))?;
    let ear = Arc::new(PeerEar::new(context.peer.clone(), caller));
    server.subscribe(conversation.number, caller, uri, address, ear).map_err(|error| fault(&error))
}

/// The part of a filter that this server can serve: unknown and surplus addresses are omitted, as the acknowledgement
/// shows.
pub fn accept(requested: &SubscriptionFilter) -> SubscriptionFilter {
    let mut accepted = requested.clone();
    if let Some(uris) = &mut accepted.resource_subscriptions {
        uris.retain(|uri| ResourceAddress::parse(uri).is_ok());
        uris.truncate(PER_CONVERSATION);
    }
    accepted
}

/// `subscriptions/listen`: registers the accepted filter; dropping the returned value removes it.
///
/// # Errors
/// As [`subscribe`].
pub async fn listen(
    server: &Arc<Server>,
    caller: &Arc<Caller>,
    subscription: &SubscriptionContext,
) -> Result<Box<dyn Any + Send>, ErrorData> {
    let held = Held { subscriptions: Arc::clone(&server.subscriptions), number: server.subscriptions.conversation() };
    for uri in subscription.accepted().resource_subscriptions.iter().flatten() {
        let address = resources::parse(uri)?;
        let id = subscription.request_context().id.to_string();
        server.may_read(caller, id, &address).await.map_err(|error| fault(&error))?;
        let ear = Arc::new(SinkEar(subscription.sink().clone()));
        server.subscribe(held.number, caller, uri, address, ear).map_err(|error| fault(&error))?;
    }
    Ok(Box::new(held))
}

/// `logging/setLevel`.
///
/// # Errors
/// `permission_denied` if the caller may not read the log.
pub async fn listen_to_log(asked: &McpRequest, level: &str) -> Result<(), ErrorData> {
    needs_conversation(asked)?;
    let McpRequest { server, caller, conversation, context, .. } = asked;
    let services = &server.pipeline.services;
    let least = rank(level).unwrap_or(0);
    let id = context.id.to_string();
    server.may_read(caller, id, &resources::parse(LOG)?).await.map_err(|error| fault(&error))?;
    let ear = Arc::new(PeerEar::new(context.peer.clone(), caller));
    let start = server.subscriptions.listen_to_log(conversation.number, caller, least, &services.log, ear);
    server.employ_notifier(start.map_err(|error| fault(&error))?);
    Ok(())
}

fn needs_conversation(asked: &McpRequest) -> Result<(), ErrorData> {
    if asked.converses() {
        return Ok(());
    }
    let why = "nothing can be sent to you over this endpoint later; open a session at /mcp";
    Err(plain(ErrorCode::INVALID_REQUEST, why))
}

/// The subscriptions of one `subscriptions/listen`.
struct Held {
    subscriptions: Arc<Subscriptions>,
    number: u64,
}

impl Drop for Held {
    fn drop(&mut self) {
        self.subscriptions.forget(self.number);
    }
}
