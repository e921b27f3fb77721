//! Fragments of `raspi-mcp allow`, which take effect in a running server and agent.

use super::{Faults, Settings, Sources, keys::NAMESPACES};
use std::{
    fmt,
    path::{Path, PathBuf},
    sync::Arc,
};

/// The fragment with the grants of a namespace, written by `raspi-mcp allow`.
pub fn fragment_of(site: &Path, namespace: &str) -> PathBuf {
    site.join(format!("50-allow-{namespace}.toml"))
}

type Load = dyn Fn() -> Result<Settings, String> + Send + Sync;

/// How a running server or agent reads its configuration again, and which files trigger it.
#[derive(Clone, Default)]
pub struct Reload {
    load: Option<Arc<Load>>,
    sources: Option<Arc<Sources>>,
    /// The fragments in the site folder that trigger it. Empty: the configuration is never read again.
    pub files: Vec<PathBuf>,
}

impl Reload {
    /// With `load`, from the sources that the process was started with.
    pub fn of(sources: Sources, load: fn(&Sources) -> Result<Settings, Faults>) -> Self {
        // `--config` is read in place of the folder.
        if sources.file.is_some() {
            return Self::default();
        }
        let site = sources.places.site_dir.clone();
        let files = NAMESPACES.iter().chain(&["tools"]).map(|namespace| fragment_of(&site, namespace)).collect();
        let sources = Arc::new(sources);
        let from = Arc::clone(&sources);
        let load = move || load(&from).map_err(|faults| faults.to_string());
        Self { load: Some(Arc::new(load)), sources: Some(sources), files }
    }

    /// What the process was started with, if it reads a folder.
    pub fn sources(&self) -> Option<Arc<Sources>> {
        self.sources.clone()
    }

    /// Reads the settings again.
    ///
    /// # Errors
    /// The loader's faults; also when a file was set aside. The settings in force then stay.
    pub fn read(&self) -> Result<Settings, String> {
        let load = self.load.as_ref().ok_or("nothing is read again here")?;
        let settings = load()?;
        match settings.restricted.first() {
            None => Ok(settings),
            Some(_) => Err(settings.restricted.join("\n")),
        }
    }

    /// The folder of the fragments, if there are any.
    pub fn folder(&self) -> Option<&Path> {
        self.files.first()?.parent()
    }
}

impl fmt::Debug for Reload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reload").field("files", &self.files).finish_non_exhaustive()
    }
}
