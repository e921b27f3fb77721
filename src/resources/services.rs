//! Hears of changes of single services from systemd, for those who subscribed to them.

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

/// The services that are listened to, each with what listens to it.
#[derive(Default)]
pub(super) struct ServiceListeners {
    listeners: BTreeMap<String, Listener>,
    /// systemd could not be asked for some of them: tried again with the next look at the machine.
    cut_off: bool,
}

struct Listener(JoinHandle<()>);

impl Drop for Listener {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Changes of the service behind `name`: systemd tells them of the unit itself, not of its aliases.
async fn changes(services: &Services, name: &str) -> Result<MessageStream, ToolError> {
    let answer = properties::of_unit(&services.machine.bus, name).await?;
    let id = answer.read()?.owned("Id");
    watch::unit(&services.machine.bus, id.as_deref().unwrap_or(name)).await
}

impl ServiceListeners {
    /// Listens to these services and no others.
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
                        // The connection is gone, and what happens meanwhile is not heard: whoever reads again sees it.
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

    /// Whether there is one that cannot be listened to now.
    pub fn is_cut_off(&self) -> bool {
        self.cut_off
    }
}
