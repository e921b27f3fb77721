//! Watches single services through systemd for their subscribers.

use super::subscriptions::Subscriptions;
use crate::services::Services;
use base::{
    error::ToolError,
    os::systemd::{properties, watch},
};
use futures::StreamExt;
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};
use tokio::task::JoinHandle;
use zbus::MessageStream;

/// The watched services, each with its task.
#[derive(Default)]
pub(super) struct ServiceListeners {
    listeners: BTreeMap<String, Listener>,
    /// systemd could not be reached for some of them: tried again at the next poll.
    cut_off: bool,
}

struct Listener(JoinHandle<()>);

impl Drop for Listener {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Changes of the service with this name: systemd reports them for the unit itself, not for its aliases.
async fn changes(services: &Services, name: &str) -> Result<MessageStream, ToolError> {
    let answer = properties::of_unit(&services.machine.bus, name).await?;
    let id = answer.read()?.owned("Id");
    watch::unit(&services.machine.bus, id.as_deref().unwrap_or(name)).await
}

impl ServiceListeners {
    /// Watches exactly these services.
    pub async fn listen_to(
        &mut self,
        services: &Services,
        subscriptions: &Arc<Subscriptions>,
        wanted: &BTreeSet<String>,
    ) {
        self.listeners.retain(|name, listener| wanted.contains(name) && !listener.0.is_finished());
        self.cut_off = false;
        for name in wanted {
            if self.listeners.contains_key(name) {
                continue;
            }
            match changes(services, name).await {
                Ok(mut changes) => {
                    let (subscriptions, unit) = (Arc::clone(subscriptions), name.clone());
                    let listen = async move {
                        while changes.next().await.is_some() {
                            subscriptions.service_moved(&unit);
                        }
                        // The connection is lost, and changes may be missed: notify, so that the client reads again.
                        subscriptions.service_moved(&unit);
                    };
                    self.listeners.insert(name.clone(), Listener(base::task::spawn(listen)));
                }
                Err(error) => {
                    tracing::debug!(target: "resources", %error, service = name, "cannot be listened to yet");
                    self.cut_off = true;
                }
            }
        }
    }

    /// Whether a service cannot be watched now.
    pub fn is_cut_off(&self) -> bool {
        self.cut_off
    }
}
