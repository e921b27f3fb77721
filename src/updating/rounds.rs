//! Looking at the channel from time to time, where the configuration wants that; and the dead man's clock.

use super::Updating;
use crate::world::World;
use std::{sync::Weak, time::Duration};
use tokio::time::sleep;

/// Asks the channel every `update.check_interval_hours`, the first time some minutes after the start: a fleet that got its power
/// back does not come all at once. Returns at once where nobody wants that.
pub(super) async fn rounds(updating: &Updating, world: &Weak<World>) {
    let settings = &updating.0.settings.update;
    if settings.check_interval_hours == 0 || settings.url.is_empty() {
        return;
    }
    let mut pause = Duration::from_secs(60 + u64::from(std::process::id()) % 240);
    loop {
        sleep(pause).await;
        if world.strong_count() == 0 {
            return;
        }
        match updating.find(&settings.channel, None).await {
            Ok(found) if settings.automatic => updating.install_by_itself(&found, world).await,
            Ok(_) => {}
            Err(error) => tracing::warn!(target: "update", %error, "the channel was not heard"),
        }
        pause = Duration::from_secs(u64::from(settings.check_interval_hours) * 3600);
    }
}
