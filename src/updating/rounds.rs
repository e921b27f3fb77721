//! Looking at the channel from time to time, where the configuration wants that; and the dead man's clock.

use super::{Found, Updating, job_id};
use crate::{
    error::ToolError,
    update::job::{Order, Wanted},
    world::World,
};
use std::{sync::Weak, time::Duration};
use tokio::time::sleep;

/// Who orders an update that nobody asked for.
const AUTOMATIC: &str = "update.automatic";

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

impl Updating {
    /// Installs what a check found, as the owner's configuration wants: under the server's own name, so that the agent's policy decides
    /// once more (it has to say "allow" for `manage.update_server`, since nobody is there to be asked).
    async fn install_by_itself(&self, found: &Found, world: &Weak<World>) {
        let (Some(offer), Some(world)) = (&found.offer, world.upgrade()) else { return };
        let shut = self.0.settings.update.window.wait(self.now_ms() / 1000, &self.zone());
        let begun = async {
            if let Some(seconds) = shut {
                sleep(Duration::from_secs(seconds)).await;
            }
            let old_version = Some(self.running_version().await);
            let wanted = Wanted {
                channel: offer.channel.clone(),
                version: Some(offer.release.version.clone()),
                manifest: Some(offer.release.manifest),
            };
            // The hash of no arguments at all: no call stands behind it.
            let args_sha256 = crate::access::canonical::sha256_hex(&serde_json::json!({}));
            let order = Order {
                id: job_id()?,
                tool: "manage.update_server".into(),
                principal: AUTOMATIC.into(),
                args_sha256,
                ask_id: None,
                wanted,
                old_version,
            };
            self.start(&world, order)?;
            Ok::<(), ToolError>(())
        };
        match begun.await {
            Ok(()) => tracing::info!(target: "update", version = offer.release.version, "installing by itself"),
            Err(error) => tracing::warn!(target: "update", %error, "an update could not be begun"),
        }
    }
}
