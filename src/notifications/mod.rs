//! News of asks and of trouble, sent to the owner's web addresses (docs/notifications.md).
//!
//! Events come from where they happen: an ask from the approval gate, an update from its client, a halt from the
//! agent, the machine's state from the samples of a sampling job. Each receiver has a bounded queue and a task that sleeps until something waits.
//! Without a receiver there is no task and no memory. A message never has a call's arguments, nor anything that
//! approves; addresses come from the owner's configuration alone.

mod asks;
mod encoded_word;
pub mod event;
mod hub;
pub mod message;
pub mod post;
mod queue;
pub mod report;
mod sign;
mod told;
mod watch;
mod worker;

pub use asks::MOST_AN_HOUR;
pub use event::Event;
pub use report::WebhookReport;

use crate::sampling::Sampling;
use agent::AgentLink;
use base::{clock::Wall, os::Root};
use contract::{
    access::caller::Caller,
    config::{NewsKind, Settings},
    halt::HaltState,
};
use hub::Hub;
use std::sync::Arc;
use tokio::sync::{Notify, watch::Receiver};
use tokio_util::sync::CancellationToken;
use update_client::UpdateClient;

/// What sends the news. Cheap to clone; next to nothing without a receiver.
#[derive(Clone, Default)]
pub struct Notifications {
    hub: Option<Arc<Hub>>,
    opened: Arc<Notify>,
}

/// Where news comes from.
pub struct NewsSources {
    pub sampling: Sampling,
    pub updates: UpdateClient,
    pub agent: AgentLink,
    pub halt: Receiver<HaltState>,
}

impl Notifications {
    /// For the receivers of the settings. `root`: the root of the machine's files.
    pub fn of(settings: &Settings, root: &Root, wall: Wall) -> Self {
        let receivers = !settings.notifications.webhooks.is_empty();
        let hub = receivers.then(|| Arc::new(Hub::new(settings, root, wall)));
        Self { hub, opened: Arc::default() }
    }

    /// Starts what sends and what listens, until `stop`. What still waits then is lost, but for what the next server
    /// finds again: an update that ended badly, a worn card.
    pub fn begin(&self, sources: NewsSources, stop: &CancellationToken) {
        let Some(hub) = &self.hub else { return };
        let go = |work: futures::future::BoxFuture<'static, ()>| {
            base::task::spawn(stop.clone().run_until_cancelled_owned(work));
        };
        for at in 0..hub.receivers() {
            let hub = Arc::clone(hub);
            go(Box::pin(async move { hub.serve(at).await }));
        }
        let NewsSources { sampling, updates, agent, halt } = sources;
        if hub.wants(NewsKind::UpdateFailed) || hub.wants(NewsKind::UpdateRolledBack) {
            let hub = Arc::clone(hub);
            go(Box::pin(async move { watch::updates(&hub, &updates, &agent).await }));
        }
        if hub.wants(NewsKind::Halted) {
            let hub = Arc::clone(hub);
            go(Box::pin(async move { watch::halts(&hub, halt).await }));
        }
        if NewsKind::SAMPLED.into_iter().any(|kind| hub.wants(kind)) {
            let hub = Arc::clone(hub);
            go(Box::pin(async move { watch::samples(&hub, &sampling, hub.root()).await }));
        }
    }

    /// A call of `caller` waits for a person. Told once for each ask, and [`MOST_AN_HOUR`] times an hour. The caller takes
    /// its share of these, and is in no message.
    pub fn ask_opened(&self, tool: &str, ask_id: &str, expires_ms: i64, caller: &Caller) {
        self.opened.notify_one();
        if let Some(hub) = &self.hub {
            hub.ask_opened(tool, ask_id, expires_ms, caller);
        }
    }

    /// Devices of the fleet that this server serves became silent: the first `names` of `count`. `broker_away`: the
    /// broker delivers nothing.
    pub fn devices_silent(&self, names: Vec<String>, count: usize, broker_away: bool) {
        if let Some(hub) = &self.hub {
            hub.tell(Event::DevicesSilent { names, count, broker_away }, None);
        }
    }

    /// Two machines run with the identity of the fleet's device `name`: what was seen.
    pub fn device_twins(&self, name: String, what: String) {
        if let Some(hub) = &self.hub {
            hub.tell(Event::DeviceTwins { name, what }, None);
        }
    }

    /// Notified of each call that waits for a person, for one listener: the fleet's log.
    #[cfg(feature = "fleet")]
    pub fn opened(&self) -> &Notify {
        &self.opened
    }

    /// What became of the messages to each receiver; empty if there is none.
    pub fn reports(&self) -> Vec<WebhookReport> {
        self.hub.as_ref().map(|hub| hub.reports()).unwrap_or_default()
    }
}
