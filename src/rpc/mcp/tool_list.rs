//! Notifies clients that the list of tools has changed: after `raspi-mcp allow` or `revoke`, and when tools were added or
//! removed while the server runs.

use crate::{registry::context::ListChange, rpc::router::Server};
use base::os::folders::Folders;
use contract::access::policy::Policy;
use std::{io, path::PathBuf, sync::Arc};

/// Announces changes until the server stops. `folder` holds the fragments of the configuration, if the server reads any
/// again. Calls look for a changed policy themselves and do not depend on this.
pub async fn announce(server: Arc<Server>, folder: Option<PathBuf>) {
    let mut folders = folder.and_then(watch);
    let mut registry = server.pipeline.registry.changes();
    let policy = &server.pipeline.services.policy;
    let mut told: Arc<Policy> = policy.held();
    loop {
        let event = async {
            tokio::select! {
                // The registry lives as long as the server.
                _ = registry.changed() => Ok(None),
                ready = ready(folders.as_ref()) => ready.map(Some),
            }
        };
        match server.stop.run_until_cancelled(event).await {
            None => return,
            Some(Ok(None)) => server.listeners.announce(ListChange::Tools).await,
            Some(Ok(Some(folders))) => {
                folders.changed();
                // A subscriber may have been granted access to a pin, and tokens lie in the same files.
                server.subscriptions.look_again();
                let now = policy.get();
                if *now != *told {
                    told = now;
                    server.listeners.announce(ListChange::Tools).await;
                }
            }
            Some(Err(error)) => {
                tracing::warn!(%error, "clients are not told any more when `raspi-mcp allow` changes the list of tools");
                folders = None;
            }
        }
    }
}

fn watch(folder: PathBuf) -> Option<Folders> {
    Folders::watch(vec![folder.clone()])
        .inspect_err(|error| {
            tracing::warn!(%error, folder = %folder.display(), "clients are not told when `raspi-mcp allow` changes the list of tools");
        })
        .ok()
}

/// Resolves when something in the folders has changed; never without folders.
async fn ready(folders: Option<&Folders>) -> io::Result<&Folders> {
    match folders {
        Some(folders) => folders.ready().await.map(|()| folders),
        None => std::future::pending().await,
    }
}
