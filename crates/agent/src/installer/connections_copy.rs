//! Copies NetworkManager's connections into the agent-state area whenever one of its files changes. [`appliance`]
//! restores them from there when the data partition is lost.
//!
//! Changes come from inotify(7); there is no polling.

use super::{Installer, System};
use appliance::connections::{FOLDER, SavedConnections};
use base::{
    error::ToolError,
    os::{blocking, readable},
};
use rustix::{
    fs::inotify::{self, CreateFlags, WatchFlags},
    io::Errno,
};
use std::{io, sync::Arc};
use update::slots::Step;

impl Installer {
    /// Keeps the copy up to date as long as it is polled. Returns at once without NetworkManager or without an
    /// agent-state area.
    pub async fn keep_connections(&self) {
        let Ok(system) = self.system() else { return };
        if let Err(error) = system.watch_connections().await {
            tracing::warn!(target: "agent", %error, folder = FOLDER, "no copy is kept of the network's connections from now on");
        }
    }
}

impl System {
    async fn watch_connections(self: Arc<Self>) -> io::Result<()> {
        let watch = readable::listen(inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC)?)?;
        // Only complete files: closed after writing, or renamed into place.
        let flags = WatchFlags::CLOSE_WRITE | WatchFlags::MOVED_TO | WatchFlags::MOVED_FROM | WatchFlags::DELETE;
        match inotify::add_watch(watch.get_ref(), self.settings.root.path(FOLDER), flags) {
            Ok(_) => {}
            Err(Errno::NOENT) => return Ok(()),
            Err(error) => return Err(error.into()),
        }
        loop {
            let system = Arc::clone(&self);
            if let Err(error) = blocking::run("update", move |_| system.copy_connections()).await {
                tracing::warn!(target: "agent", %error, "the copy of the network's connections is an older one");
            }
            let mut ready = watch.readable().await?;
            readable::drain(watch.get_ref())?;
            ready.clear_ready();
        }
    }

    /// Writes the record once, or not at all when nothing changed.
    fn copy_connections(&self) -> Result<(), ToolError> {
        let root = &self.settings.root;
        let unreadable = |error: io::Error| {
            ToolError::unavailable(format!("/{FOLDER} cannot be read: {error}"))
                .hint("look at the kernel's log: the card may be failing")
        };
        let (found, left_out) = SavedConnections::read(root).map_err(unreadable)?;
        for why in left_out {
            tracing::warn!(target: "agent", why, "a connection is not kept");
        }
        self.record.step(|state| Ok(found.to_keep(root, state).map_or_else(Step::default, Step::to)))
    }
}
