//! A copy of NetworkManager's connections, taken whenever one of its files changes: into the agent-state area, from which
//! [`appliance`] puts them back where the data partition is lost.
//!
//! inotify(7) tells of a change; nothing looks in between.

use super::{Installer, System};
use appliance::connections::{Connections, FOLDER};
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
    /// Keeps the copy up to date for as long as it is polled. Returns where there is nothing to be kept: without NetworkManager, and on a
    /// machine without an agent-state area.
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
        // Whole files only: those that were closed after they were written, and those that got their name then.
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

    /// One write of the record, or none when nothing is another.
    fn copy_connections(&self) -> Result<(), ToolError> {
        let root = &self.settings.root;
        let unreadable = |error: io::Error| {
            ToolError::unavailable(format!("/{FOLDER} cannot be read: {error}"))
                .hint("look at the kernel's log: the card may be failing")
        };
        let (found, left_out) = Connections::read(root).map_err(unreadable)?;
        for why in left_out {
            tracing::warn!(target: "agent", why, "a connection is not kept");
        }
        self.record.step(|state| Ok(found.to_keep(root, state).map_or_else(Step::default, Step::to)))
    }
}
