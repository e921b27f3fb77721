//! Which services start at boot: the state of every unit file.
//!
//! To answer that, systemd reads folders of links: a second of processor time for 400 files, in which it does nothing
//! else. So the answer is kept until systemd signals a change: it does so when units are enabled through it and when it
//! reloads its files. A link made by hand is unknown to systemd until then, and so here.

use super::{MANAGER, SERVICE, name, watch};
use crate::{
    error::ToolError,
    os::bus::{DBus, refusal},
};
use futures::{StreamExt, stream::select};
use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};
use tokio::{sync::Mutex, task::JoinHandle};

/// Unit files and their states.
#[derive(Default)]
pub struct UnitFileStates(Mutex<Option<Kept>>);

struct Kept {
    files: Arc<FileStates>,
    listener: Listener,
}

/// State by file name: `enabled`, `disabled`, `static`, `masked`, ... (systemctl(1), is-enabled).
#[derive(Debug, Default)]
pub struct FileStates(HashMap<String, String>);

/// Listens for changes until it is dropped.
struct Listener {
    stale: Arc<AtomicBool>,
    task: JoinHandle<()>,
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl UnitFileStates {
    /// The current states.
    ///
    /// # Errors
    /// As [`DBus::call`].
    pub async fn files(&self, bus: &DBus) -> Result<Arc<FileStates>, ToolError> {
        let mut slot = self.0.lock().await;
        let listener = match slot.take() {
            // The listener ends with the connection.
            Some(kept) if !kept.listener.task.is_finished() => {
                if !kept.listener.stale.load(Ordering::Acquire) {
                    let files = Arc::clone(&kept.files);
                    *slot = Some(kept);
                    return Ok(files);
                }
                kept.listener
            }
            _ => listen(bus).await?,
        };
        // Cleared before the request, so that a change meanwhile marks the answer as stale.
        listener.stale.store(false, Ordering::Release);
        let files = Arc::new(read(bus).await?);
        *slot = Some(Kept { files: Arc::clone(&files), listener });
        Ok(files)
    }
}

impl FileStates {
    /// The state of a unit's file; for an instance that of its template.
    pub fn state(&self, unit: &str) -> Option<&str> {
        let of_template = || self.0.get(&name::template(unit)?);
        self.0.get(unit).or_else(of_template).map(String::as_str)
    }

    /// Services that could be started, without templates and aliases.
    pub fn services(&self) -> impl Iterator<Item = (&str, &str)> {
        let shown = |(name, state): &(&str, &str)| !name.contains("@.") && *state != "alias";
        self.0.iter().map(|(name, state)| (name.as_str(), state.as_str())).filter(shown)
    }
}

/// Whether systemd starts a unit with this state of its file at boot.
pub fn is_enabled(state: &str) -> bool {
    matches!(state, "enabled" | "enabled-runtime")
}

async fn listen(bus: &DBus) -> Result<Listener, ToolError> {
    let mut news = select(watch::manager(bus, "UnitFilesChanged").await?, watch::manager(bus, "Reloading").await?);
    watch::subscribe(bus).await?;
    let stale = Arc::new(AtomicBool::new(true));
    let flag = Arc::clone(&stale);
    let task = crate::task::spawn(async move {
        while news.next().await.is_some() {
            flag.store(true, Ordering::Release)
        }
    });
    Ok(Listener { stale, task })
}

async fn read(bus: &DBus) -> Result<FileStates, ToolError> {
    let method = "ListUnitFilesByPatterns";
    let (states, patterns): (&[&str], &[&str]) = (&[], &["*.service"]);
    let answer = bus.call(MANAGER, method, &(states, patterns)).await?;
    let body = answer.body();
    let rows: Vec<(&str, &str)> = body.deserialize().map_err(|error| refusal(SERVICE, method, &error))?;
    let file = |path: &str| path.rsplit('/').next().unwrap_or(path).to_owned();
    Ok(FileStates(rows.into_iter().map(|(path, state)| (file(path), state.to_owned())).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_instance_has_the_state_of_its_template() {
        let rows = [("getty@.service", "enabled"), ("web.service", "disabled"), ("www.service", "alias")];
        let files = FileStates(rows.into_iter().map(|(name, state)| (name.into(), state.into())).collect());
        assert_eq!(files.state("getty@tty1.service"), Some("enabled"));
        assert_eq!((files.state("web.service"), files.state("no.service")), (Some("disabled"), None));
        assert_eq!(files.services().collect::<Vec<_>>(), [("web.service", "disabled")]);
    }
}
