//! Notifies subscribers: the first change at once, later ones together, at most once a second; changes of pins, serial ports and asks
//! twenty times a second, whatever else is held back.
//!
//! A notifier runs only while there are subscriptions. The log, the audit, asks and the halt wake it; it polls the machine
//! only for subscribers of health or capabilities.

use super::{
    UpdateTrigger,
    asks::Asks,
    change,
    pins::{Pins, may_read},
    services::ServiceListeners,
    subscription::{Due, SubscriptionEvent},
    subscriptions::{Needs, Subscriptions},
};
use crate::{
    services::Services,
    tools::system::{
        capabilities::{self, Present},
        health_snapshot,
    },
};
use futures::future::join_all;
use serde_json::Value;
use std::{sync::Arc, time::Duration};
use tokio::time::{Instant, sleep, sleep_until, timeout};
use tokio_util::sync::CancellationToken;

/// How often health and capabilities are compared while they have subscribers.
pub const EVERY: Duration = Duration::from_secs(10);
/// The shortest time between two deliveries.
pub const PACE: Duration = Duration::from_secs(1);
/// The same if only pins, serial ports or asks have changed.
pub const PIN_PACE: Duration = Duration::from_millis(50);
/// How long a client that does not read may delay the others.
const PATIENCE: Duration = Duration::from_secs(1);

/// Delivers until there are no subscribers or the server stops.
pub async fn run(services: Arc<Services>, subscriptions: Arc<Subscriptions>, stop: CancellationToken) {
    // Cancels deliveries too: a stop does not wait for a client that does not read.
    stop.run_until_cancelled(notify(&services, &subscriptions)).await;
}

async fn notify(services: &Arc<Services>, subscriptions: &Arc<Subscriptions>) {
    let (mut units, mut pins) = (ServiceListeners::default(), Pins::default());
    let (mut seen, mut asks) = (Seen::default(), Asks::default());
    let mut next_look = Instant::now();
    // When what is not quick may be delivered again, and whether something may be held back until then.
    let (mut next_all, mut held_back) = (Instant::now(), false);
    let (mut update, mut halt) = (services.updates.marks(), services.halt.changes());
    if services.halt.standing().is_some() {
        // It may have been set after the first subscription and before this runs.
        halt.mark_changed();
    }
    while !subscriptions.dismiss() {
        let needs = subscriptions.needs(|pin, caller| may_read(services, pin, caller));
        seen.forget_all_but(&needs);
        if !needs.health && !needs.server {
            halt.mark_unchanged();
        }
        if !needs.server {
            asks = Asks::default();
        }
        units.listen_to(services, subscriptions, &needs.services).await;
        pins.listen_to(services, subscriptions, &needs.pins);
        tokio::select! {
            () = subscriptions.changed() => {}
            () = services.log.arrived(), if needs.log && !held_back => {}
            () = services.sampling.taken(), if needs.samples => subscriptions.moved(UpdateTrigger::Samples),
            () = services.serial.arrived(), if needs.serial => subscriptions.serial_moved(&services.serial.take_news()),
            () = services.updates.changed(&mut update), if needs.update => subscriptions.moved(UpdateTrigger::Update),
            // Its sender lives as long as the server.
            _ = halt.changed(), if needs.health || needs.server => {
                // Whatever the last look saw: it may have been taken since.
                subscriptions.moved(UpdateTrigger::Health);
                subscriptions.moved(UpdateTrigger::Server);
                seen.look(services, subscriptions, &needs).await;
            }
            () = asks.changed(&services.agent), if needs.server => subscriptions.moved(UpdateTrigger::Server),
            () = sleep_until(next_all), if held_back => {}
            () = sleep_until(next_look), if needs.health || needs.capabilities || units.is_cut_off() => {
                seen.look(services, subscriptions, &needs).await;
                next_look = Instant::now() + EVERY;
            }
        }
        let all = Instant::now() >= next_all;
        held_back = !all;
        let due = subscriptions.due(&services.log, all);
        if due.is_empty() {
            continue;
        }
        let only_quick = due.iter().all(Due::is_quick);
        deliver(due).await;
        if !only_quick {
            (next_all, held_back) = (Instant::now() + PACE, true);
        }
        sleep(PIN_PACE).await;
    }
}

async fn deliver(due: Vec<Due>) {
    join_all(due.into_iter().map(|Due { ear, news }| async move {
        let told = async {
            match news {
                SubscriptionEvent::Updated(uri) => ear.updated(&uri).await,
                SubscriptionEvent::Log(since) => ear.log(since).await,
            }
        };
        // A client that is too slow has the message in its queue, or has missed it: an update only says "read again".
        let _ = timeout(PATIENCE, told).await;
    }))
    .await;
}

/// The machine's state at the last notification of subscribers.
#[derive(Default)]
struct Seen {
    health: Option<Value>,
    capabilities: Option<Present>,
}

impl Seen {
    /// Drops the state of sources without subscribers: it would be outdated when used again.
    fn forget_all_but(&mut self, needs: &Needs) {
        if !needs.health {
            self.health = None;
        }
        if !needs.capabilities {
            self.capabilities = None;
        }
    }

    async fn look(&mut self, services: &Services, subscriptions: &Subscriptions, needs: &Needs) {
        if needs.health {
            // A failure to read the machine is a change too: a client that reads then learns the reason.
            let now = match health_snapshot::glance(services).await {
                Ok(snapshot) => serde_json::to_value(snapshot).unwrap_or_default(),
                Err(error) => Value::String(error.into_message()),
            };
            match &self.health {
                Some(before) if !change::of_health(before, &now) => {}
                Some(_) => {
                    subscriptions.moved(UpdateTrigger::Health);
                    self.health = Some(now);
                }
                None => self.health = Some(now),
            }
        }
        if needs.capabilities {
            let now = capabilities::present(services).await;
            if self.capabilities.replace(now.clone()).is_some_and(|before| before != now) {
                subscriptions.moved(UpdateTrigger::Capabilities);
            }
        }
    }
}
