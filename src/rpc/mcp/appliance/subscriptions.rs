//! Subscriptions in both eras, and log messages.

use super::{super::fault::fault as plain, McpRequest, fault, resources};
use crate::{
    log::rank,
    registry::pipeline::Call,
    resources::{
        LOG, ResourceAddress,
        subscription::Ear,
        subscriptions::{PER_CONVERSATION, Subscriptions},
    },
    rpc::{
        mcp::ear::{PeerEar, SinkEar},
        router::Server,
    },
};
use base::error::ToolError;
use contract::access::caller::Caller;
use rmcp::{
    ErrorData,
    model::{ErrorCode, RequestId, SubscriptionFilter},
    service::SubscriptionContext,
};
use serde_json::Value;
use std::{any::Any, sync::Arc};
use tokio_util::sync::CancellationToken;

/// `resources/subscribe`.
///
/// # Errors
/// As reading the resource, except for errors of the tool; and beyond the limits of [`Subscriptions`].
pub async fn subscribe(asked: &McpRequest, uri: &str) -> Result<(), ErrorData> {
    needs_conversation(asked)?;
    let McpRequest { server, caller, conversation, context, .. } = asked;
    let address = resources::parse(uri)?;
    judge(server, caller, &context.id, &address).await.map_err(|error| fault(&error))?;
    let ear = Arc::new(PeerEar::new(context.peer.clone(), caller));
    enter(server, conversation.number, caller, uri, address, ear).map_err(|error| fault(&error))
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
        let id = &subscription.request_context().id;
        judge(server, caller, id, &address).await.map_err(|error| fault(&error))?;
        let ear = Arc::new(SinkEar(subscription.sink().clone()));
        enter(server, held.number, caller, uri, address, ear).map_err(|error| fault(&error))?;
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
    judge(server, caller, &context.id, &resources::parse(LOG)?).await.map_err(|error| fault(&error))?;
    let ear = Arc::new(PeerEar::new(context.peer.clone(), caller));
    let start = server.subscriptions.listen_to_log(conversation.number, caller, least, &services.log, ear);
    server.employ_notifier(start.map_err(|error| fault(&error))?);
    Ok(())
}

/// Whether the caller may read the resource, without reading it. A refusal counts and is recorded as a refused call of
/// the tool behind it.
async fn judge(
    server: &Arc<Server>,
    caller: &Arc<Caller>,
    id: &RequestId,
    address: &ResourceAddress,
) -> Result<(), ToolError> {
    let services = &server.pipeline.services;
    let registry = &server.pipeline.registry;
    let entry = address.resource.entry(registry)?;
    let args = Value::Object(address.args.clone());
    let admitted = services.policy.get().admit(&entry.meta(), caller);
    let Err(refusal) = admitted.and_then(|()| entry.prepare(args.clone()).map(drop)) else {
        return Ok(());
    };
    let call = Call {
        entry,
        caller: Arc::clone(caller),
        args,
        request_id: id.to_string(),
        correlation_id: None,
        cancel: CancellationToken::new(),
        progress: Default::default(),
        peer: None,
        alias: None,
    };
    server.pipeline.run(call).await.result.and(Err(refusal))
}

fn enter(
    server: &Arc<Server>,
    number: u64,
    caller: &Arc<Caller>,
    uri: &str,
    address: ResourceAddress,
    ear: Arc<dyn Ear>,
) -> Result<(), ToolError> {
    let log = &server.pipeline.services.log;
    server.employ_notifier(server.subscriptions.subscribe(number, caller, uri, address, log, ear)?);
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
