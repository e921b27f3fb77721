//! `org.raspimcp.Events1`: changes of resources, each told to its subscriber alone.

use super::{
    client::Client,
    door::{Door, Reply},
    fault::Fault,
    methods::{EVENTS, OBJECT, TOOLS},
    values::text,
};
use crate::{
    log::LinesSince,
    resources::{ResourceAddress, subscription::Ear},
};
use contract::access::caller::Caller;
use futures::future::{BoxFuture, ready};
use std::sync::{Arc, Weak, atomic::Ordering};
use zbus::Variant;

impl Door {
    /// `Subscribe`: to all of the addresses, if the caller may read each.
    ///
    /// # Errors
    /// As reading them, except for errors of the tools; and beyond the limits of
    /// [`crate::resources::subscriptions::Subscriptions`], where those before are subscribed.
    pub(super) async fn subscribe(
        self: &Arc<Self>,
        client: &Arc<Client>,
        caller: &Arc<Caller>,
        request_id: &str,
        uris: Vec<String>,
    ) -> Result<Reply, Fault> {
        let mut addresses = Vec::with_capacity(uris.len());
        for uri in uris {
            let address = ResourceAddress::parse(&uri)?;
            self.server.may_read(caller, request_id.to_owned(), &address).await?;
            addresses.push((uri, address));
        }
        let ear: Arc<dyn Ear> = Arc::new(BusEar { door: Arc::downgrade(self), client: Arc::downgrade(client) });
        for (uri, address) in addresses {
            self.server.subscribe(client.conversation, caller, &uri, address, Arc::clone(&ear))?;
        }
        if client.gone.is_cancelled() {
            // It left meanwhile.
            self.server.subscriptions.forget(client.conversation);
        }
        Ok(Reply::Fields(Vec::new()))
    }

    /// `Unsubscribe`: from those of the addresses that it is subscribed to.
    pub(super) fn unsubscribe(&self, client: &Client, uris: &[String]) -> Reply {
        uris.iter().for_each(|uri| self.server.subscriptions.unsubscribe(client.conversation, uri));
        Reply::Fields(Vec::new())
    }

    /// Tells everybody that the list of tools has changed.
    pub(super) async fn tools_changed(&self) {
        self.signal(None, OBJECT, TOOLS, "ToolsChanged", Vec::new()).await;
    }
}

/// A subscriber. It keeps neither the connection nor the door.
struct BusEar {
    door: Weak<Door>,
    client: Weak<Client>,
}

impl Ear for BusEar {
    fn updated<'a>(&'a self, uri: &'a str) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            let (Some(door), Some(client)) = (self.door.upgrade(), self.client.upgrade()) else { return };
            let sequence = client.sequence.fetch_add(1, Ordering::Relaxed) + 1;
            let fields = vec![text(uri), Variant::from(sequence)];
            door.signal(Some(&client.name), OBJECT, EVENTS, "Updated", fields).await;
        })
    }

    /// The log is a resource here.
    fn log(&self, _lines: LinesSince) -> BoxFuture<'_, ()> {
        Box::pin(ready(()))
    }
}
