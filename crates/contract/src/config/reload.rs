//! Fragments of `raspi-mcp allow`, which take effect in a running server and agent.

use super::{Faults, Settings, Sources, keys::NAMESPACES};
use std::{
    fmt,
    path::{Path, PathBuf},
    sync::Arc,
};

/// Where `raspi-mcp allow` keeps what it opened of a namespace.
pub fn fragment_of(site: &Path, namespace: &str) -> PathBuf {
    site.join(format!("50-allow-{namespace}.toml"))
}

type Load = dyn Fn() -> Result<Settings, String> + Send + Sync;

/// How a running half reads its configuration again, and which files tell it to.
#[derive(Clone, Default)]
pub struct Reload {
    load: Option<Arc<Load>>,
    /// The folder of the site and each fragment that may be in it. Empty: nothing is ever read again.
    pub files: Vec<PathBuf>,
}

impl Reload {
    /// By `load`, from the sources that the process was started with.
    pub fn of(sources: Sources, load: fn(&Sources) -> Result<Settings, Faults>) -> Self {
        // `--config` is read in place of the folder.
        if sources.file.is_some() {
            return Self::default();
        }
        let site = sources.places.site_dir.clone();
        let files = NAMESPACES.iter().chain(&["tools"]).map(|namespace| fragment_of(&site, namespace)).collect();
        let load = move || load(&sources).map_err(|faults| faults.to_string());
        Self { load: Some(Arc::new(load)), files }
    }

    /// The settings as they are now.
    ///
    /// # Errors
    /// What the loader says; also when a file was set aside: then what was in force stays.
    pub fn read(&self) -> Result<Settings, String> {
        let load = self.load.as_ref().ok_or("nothing is read again here")?;
        let settings = load()?;
        match settings.restricted.first() {
            None => Ok(settings),
            Some(_) => Err(settings.restricted.join("\n")),
        }
    }

    /// The folder that the fragments are in, where there may be any.
    pub fn folder(&self) -> Option<&Path> {
        self.files.first()?.parent()
    }
}

impl fmt::Debug for Reload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reload").field("files", &self.files).finish_non_exhaustive()
    }
}
