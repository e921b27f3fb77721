//! What counts without a restart, and who hears of a change: tokens, and what `raspi-mcp allow` has opened.

use crate::rpc::{mcp::allowed, router::Server};
use contract::config::TokenFiles;
use std::sync::Arc;

/// Follows the files of the configuration for as long as the server runs. Needs the runtime.
pub fn follow(server: &Arc<Server>) {
    follow_tokens(server);
    if let Some(folder) = server.pipeline.services.site.clone() {
        base::task::spawn_on(&server.tasks, allowed::announce(Arc::clone(server), folder));
    }
}

/// Tokens that are made or revoked count at once, and what a revoked one holds is let go.
fn follow_tokens(server: &Arc<Server>) {
    let services = &server.pipeline.services;
    let lines = Arc::downgrade(&services.gpio);
    services.tokens.on_end(move |principals| {
        if let Some(lines) = lines.upgrade() {
            principals.iter().for_each(|principal| lines.revoked(principal));
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
