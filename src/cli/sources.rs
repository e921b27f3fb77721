//! Where a command's settings come from: the files of this machine, the environment, and these flags.

#[cfg(feature = "fleet")]
use super::exit::Exit;
use super::exit::Failure;
use crate::registry::Registry;
use contract::{
    config::{self, CliFlag, Places, Settings, Sources},
    meta::Mode,
};
use std::path::{Path, PathBuf};

#[derive(clap::Args)]
pub struct Args {
    /// Read this file instead of the folder /etc/raspi-mcp (or ~/.config/raspi-mcp)
    #[arg(long, global = true, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Set one configuration key, e.g. --set limits.reads_per_minute=100; may be repeated
    #[arg(long = "set", global = true, value_name = "KEY=VALUE", value_parser = key_value)]
    set: Vec<(String, String)>,
}

fn key_value(text: &str) -> Result<(String, String), String> {
    let (key, value) = text.split_once('=').ok_or("write KEY=VALUE")?;
    Ok((key.trim().to_owned(), value.trim().to_owned()))
}

/// The socket that a command uses: `own`, that of this user's server. If that is the default and does not exist, but
/// the machine's service does, the service's. The kernel tells the service who the caller is.
pub fn reach(own: &Path, place: fn(&Places) -> PathBuf) -> PathBuf {
    let service = place(&Places::system());
    let unset = Places::detect().is_ok_and(|places| place(&places) == own);
    if unset && !own.exists() && service.exists() { service } else { own.to_owned() }
}

/// The tools that the configuration may name, with their default modes: also those that are there only with a router.
pub fn known(registry: &Registry) -> Vec<(&'static str, Mode)> {
    let rows = registry.rows().map(|row| (row.name(), row.meta.mode));
    rows.chain(crate::tools::for_routers().map(|meta| (meta.name, meta.mode))).collect()
}

impl Args {
    /// All sources, with `flags` taking precedence.
    pub fn gather(&self, registry: &Registry, flags: Vec<CliFlag>) -> Result<Sources, Failure> {
        Ok(self.gather_at(Places::detect()?, registry, flags))
    }

    /// The same with other places than those of this user.
    pub fn gather_at(&self, places: Places, registry: &Registry, flags: Vec<CliFlag>) -> Sources {
        let mut sources = Sources::new(places, known(registry));
        sources.file.clone_from(&self.config);
        sources.env = Sources::process_env();
        sources.flags = self
            .set
            .iter()
            .map(|(key, value)| CliFlag { key: key.clone(), value: value.clone(), flag: format!("--set {key}") })
            .chain(flags)
            .collect();
        sources
    }

    /// The folder of the site's configuration.
    ///
    /// # Errors
    /// With `--config`, which names one file in its place.
    #[cfg(feature = "fleet")]
    pub fn site(&self) -> Result<PathBuf, Failure> {
        match &self.config {
            None => Ok(Places::detect()?.site_dir),
            Some(file) => Err(Failure::new(
                Exit::Usage,
                format!("with --config {} the configuration is one file that you write; leave it out", file.display()),
            )),
        }
    }

    /// The settings of the server.
    pub fn settings(&self, registry: &Registry, flags: Vec<CliFlag>) -> Result<Settings, Failure> {
        Ok(config::load(&self.gather(registry, flags)?)?)
    }
}
