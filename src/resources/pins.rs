//! Watches single pins for their subscribers: edges of inputs are reported by the kernel, all other changes by the
//! lines themselves.

use super::subscriptions::Subscriptions;
use crate::services::Services;
use contract::{access::caller::Caller, values::Pin};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};
use tokio::{sync::broadcast::error::RecvError, task::JoinHandle};

/// The watched pins, each with its task.
#[derive(Default)]
pub(super) struct Pins(BTreeMap<Pin, Listener>);

struct Listener(JoinHandle<()>);

impl Drop for Listener {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Pins {
    /// Watches exactly these pins.
    pub fn listen_to(&mut self, services: &Arc<Services>, subscriptions: &Arc<Subscriptions>, wanted: &BTreeSet<Pin>) {
        self.0.retain(|pin, listener| wanted.contains(pin) && !listener.0.is_finished());
        for pin in wanted.iter().copied() {
            self.0.entry(pin).or_insert_with(|| {
                let (services, subscriptions) = (Arc::clone(services), Arc::clone(subscriptions));
                Listener(base::task::spawn(listen(services, subscriptions, pin)))
            });
        }
    }
}

/// Whether `gpio.read_pin` reads this pin for this caller, without a person being asked.
pub(super) fn may_read(services: &Services, pin: Pin, caller: &Caller) -> bool {
    let (rules, policy) = (&services.gpio.rules, services.policy.held());
    if !policy.words().lets("gpio:read") {
        return false;
    }
    let granted = || {
        let mut grants = policy.grants("gpio.read_pin", Some(&caller.principal));
        !pin.is_reserved() && !rules.keeps(pin) && grants.any(|grant| grant.pins.contains(&pin.bcm()))
    };
    rules.allows(pin) || granted()
}

async fn listen(services: Arc<Services>, subscriptions: Arc<Subscriptions>, pin: Pin) {
    let lines = &services.gpio;
    let may = |caller: &Caller| may_read(&services, pin, caller);
    let mut altered = lines.altered();
    loop {
        // Pins that are not inputs, or are used by another program, report no edges. A change of their function is
        // reported.
        let mut edges = lines.listen(pin).ok();
        loop {
            let edge = async {
                match &mut edges {
                    Some(edges) => edges.next().await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                edge = edge => match edge {
                    Some(_) => subscriptions.pin_moved(pin, may),
                    None => break,
                },
                change = altered.recv() => match change {
                    Ok(changed) if changed == pin => {
                        subscriptions.pin_moved(pin, may);
                        break;
                    }
                    Ok(_) => {}
                    Err(RecvError::Lagged(_)) => break,
                    Err(RecvError::Closed) => return,
                },
            }
        }
    }
}
