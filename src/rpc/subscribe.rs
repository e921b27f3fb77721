//! Subscriptions to resources, whatever door the subscriber came in by.

use super::router::Server;
use crate::{
    registry::pipeline::Call,
    resources::{self, ResourceAddress, subscription::Ear},
};
use base::error::ToolError;
use contract::access::caller::Caller;
use serde_json::Value;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

impl Server {
    /// Whether the caller may read the resource, without reading it. A refusal counts and is recorded as a refused call of
    /// the tool behind it.
    ///
    /// # Errors
    /// The refusal.
    pub async fn may_read(
        &self,
        caller: &Arc<Caller>,
        request_id: String,
        address: &ResourceAddress,
    ) -> Result<(), ToolError> {
        let entry = address.resource.entry(&self.pipeline.registry)?;
        let args = Value::Object(address.args.clone());
        let admitted = self.pipeline.services.policy.get().admit(&entry.meta(), caller);
        let Err(refusal) = admitted.and_then(|()| entry.prepare(args.clone()).map(drop)) else {
            return self.may_be_sent(address);
        };
        let call = Call {
            entry,
            caller: Arc::clone(caller),
            args,
            request_id,
            correlation_id: None,
            cancel: CancellationToken::new(),
            progress: Default::default(),
            peer: None,
            alias: None,
        };
        self.pipeline.run(call).await.result.and(Err(refusal))
    }

    /// The log is sent line by line, not read: nobody could be asked about it.
    fn may_be_sent(&self, address: &ResourceAddress) -> Result<(), ToolError> {
        if resources::may_be_sent(address, &self.pipeline) {
            return Ok(());
        }
        Err(ToolError::denied(
            "a person is asked before the log is read, and nobody is asked about lines that are sent",
        )
        .hint("read raspi://logs/app instead"))
    }

    /// Subscribes a caller who may read it.
    ///
    /// # Errors
    /// As [`crate::resources::subscriptions::Subscriptions::subscribe`].
    pub fn subscribe(
        &self,
        conversation: u64,
        caller: &Arc<Caller>,
        uri: &str,
        address: ResourceAddress,
        ear: Arc<dyn Ear>,
    ) -> Result<(), ToolError> {
        let log = &self.pipeline.services.log;
        self.employ_notifier(self.subscriptions.subscribe(conversation, caller, uri, address, log, ear)?);
        Ok(())
    }
}
