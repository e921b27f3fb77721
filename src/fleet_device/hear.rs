//! What the fleet's owner says to this device: orders, "look", and dials.

use super::{FleetDevice, tunnels::Tunnels};
use crate::broker::{BrokerMessage, BrokerSubscription};
use agent::operations::fleet::{FollowOrder, OrderMessage};
use std::{sync::Arc, time::Duration};
use tokio::time::Instant;

/// Between two looks at the channel, at least. It is only a hint, and anybody at the broker can send it.
const LOOK_EVERY: Duration = Duration::from_secs(60);
/// Between two orders that were refused, at least: others in between are dropped.
const REFUSED_EVERY: Duration = Duration::from_secs(1);

/// Hears as long as it is polled.
pub(super) async fn run(device: &Arc<FleetDevice>, mut heard: BrokerSubscription, tunnels: Tunnels) {
    let (mut looked, mut refused) = (None, None);
    while let Some(message) = heard.next().await {
        let subject = message.subject.rsplit('.').next().unwrap_or_default();
        match subject {
            "order" if is_due(refused, REFUSED_EVERY) => {
                refused = (!follow(device, message).await).then(Instant::now);
            }
            "look" if is_due(looked, LOOK_EVERY) => {
                looked = Some(Instant::now());
                device.services.updates.check_soon();
            }
            "dial" => tunnels.dial(device, &message.payload).await,
            _ => {}
        }
    }
}

/// Has the agent judge and follow an order; `false` when it refused.
async fn follow(device: &FleetDevice, message: BrokerMessage) -> bool {
    let Ok(message) = String::from_utf8(message.payload.into()) else { return false };
    match device.services.agent.call::<FollowOrder>(OrderMessage { message }).await {
        Ok(followed) => {
            tracing::warn!(target: "fleet", operation = ?followed.operation, "followed an order of the fleet's owner");
            device.report.notify_one();
            true
        }
        Err(error) => {
            tracing::warn!(target: "fleet", %error, "an order was not followed");
            false
        }
    }
}

fn is_due(last: Option<Instant>, every: Duration) -> bool {
    last.is_none_or(|last| last.elapsed() >= every)
}
