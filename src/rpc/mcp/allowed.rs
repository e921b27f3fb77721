//! Notifies clients that the list of tools has changed after `raspi-mcp allow` or `revoke`.

use crate::{registry::context::Change, rpc::router::Server};
use base::os::folders::Folders;
use contract::access::policy::Policy;
use std::{path::PathBuf, sync::Arc};

/// Watches `folder`, which holds the fragments, until the server stops. Calls check for changes themselves and do not
/// depend on this.
pub async fn announce(server: Arc<Server>, folder: PathBuf) {
    let folders = match Folders::watch(vec![folder.clone()]) {
        Ok(watched) => watched,
        Err(error) => {
            tracing::warn!(%error, folder = %folder.display(), "clients are not told when `raspi-mcp allow` changes the list of tools");
            return;
        }
    };
    let policy = &server.pipeline.services.policy;
    let mut told: Arc<Policy> = policy.held();
    loop {
        match server.stop.run_until_cancelled(folders.ready()).await {
            None => return,
            Some(Err(error)) => {
                tracing::warn!(%error, "clients are not told any more when `raspi-mcp allow` changes the list of tools");
                return;
            }
            Some(Ok(())) => {
                folders.changed();
            }
        }
        let now = policy.get();
        if *now != *told {
            told = now;
            // A subscriber may have been granted access to a pin.
            server.subscriptions.look_again();
            server.listeners.announce(Change::Tools).await;
        }
    }
}
