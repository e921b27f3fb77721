//! Applies changes of tokens, of what `raspi-mcp allow` opened, and of the halt, without a restart; announces changes of the tool
//! list.

pub mod agents;

use crate::rpc::{mcp::tool_list, router::Server};
use contract::config::TokenFiles;
use std::sync::Arc;

/// Follows the configuration's files and the registry while the server runs. Needs the runtime.
pub fn follow(server: &Arc<Server>) {
    follow_tokens(server);
    let (services, stop) = (Arc::clone(&server.pipeline.services), server.stop.clone());
    base::task::spawn_on(&server.tasks, async move { services.halt.follow(&stop).await });
    let folder = server.pipeline.services.site.clone();
    base::task::spawn_on(&server.tasks, tool_list::announce(Arc::clone(server), folder));
}

/// Created and revoked tokens take effect at once; resources held with a revoked one are released.
fn follow_tokens(server: &Arc<Server>) {
    let services = &server.pipeline.services;
    let holders = Arc::downgrade(services);
    services.tokens.on_end(move |principals| {
        if let Some(services) = holders.upgrade() {
            principals.iter().for_each(|principal| services.revoked(principal));
        }
    });
    if services.settings.token_files == TokenFiles::default() {
        return;
    }
    match services.tokens.follow(&services.settings) {
        Ok(following) => {
            let stop = server.stop.clone();
            base::task::spawn_on(&server.tasks, async move { stop.run_until_cancelled(following).await });
        }
        Err(why) => tracing::error!("{why}"),
    }
}
