//! Configuration: what a person writes, and what raspi-mcp answers.

mod agent;
mod any;
mod camera;
mod commands;
mod export;
mod files;
mod i2c;
mod kinds;
mod layers;
mod network;
mod notifications;
mod places;
mod serial_and_spi;
mod site;
mod state;
mod table;
mod tokens;
mod update;

use contract::{
    config::{self, CliFlag, Places, Settings, Sources},
    meta::Mode,
};
use std::{fs, path::Path};
use tempfile::TempDir;

/// A machine with an empty configuration, below a folder of its own.
pub struct Machine {
    root: TempDir,
    pub sources: Sources,
}

impl Machine {
    pub fn new() -> Self {
        let root = TempDir::new().expect("a temporary folder");
        let tools = vec![
            ("system.get_clock", Mode::Allow),
            ("system.reboot", Mode::Ask),
            ("gpio.write_pin", Mode::Allow),
            ("tools.run", Mode::Allow),
        ];
        let sources = Sources::new(Places::below(root.path()), tools);
        Self { root, sources }
    }

    /// Writes a file; `path` as on the machine.
    pub fn file(self, path: &str, text: impl AsRef<[u8]>) -> Self {
        let path = self.path(path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("the folder is made");
        fs::write(path, text).expect("the file is written");
        self
    }
    pub fn image(self, text: &str) -> Self {
        self.file("/usr/lib/raspi-mcp/conf.d/00-image.toml", text)
    }
    pub fn site(self, text: &str) -> Self {
        self.file("/etc/raspi-mcp/10-site.toml", text)
    }
    pub fn state(self, text: &str) -> Self {
        self.file("/var/lib/raspi-mcp/conf.d/50-state.toml", text)
    }
    pub fn variable(mut self, name: &str, value: &str) -> Self {
        self.sources.env.push((name.into(), value.into()));
        self
    }
    pub fn flag(mut self, flag: &str, key: &str, value: &str) -> Self {
        self.sources.flags.push(CliFlag { key: key.into(), value: value.into(), flag: flag.into() });
        self
    }

    /// The real path of a path on the machine.
    pub fn path(&self, path: &str) -> std::path::PathBuf {
        self.root.path().join(path.trim_start_matches('/'))
    }

    pub fn starts(&self) -> Settings {
        config::load(&self.sources).unwrap_or_else(|faults| panic!("it should start, but:\n{faults}"))
    }
    pub fn agent_starts(&self) -> Settings {
        config::load_agent(&self.sources).unwrap_or_else(|faults| panic!("the agent should start, but:\n{faults}"))
    }

    /// Why the server does not start, with paths as on the machine.
    pub fn refuses(&self) -> Vec<String> {
        let faults = config::load(&self.sources).expect_err("it should not start");
        faults.0.iter().map(|fault| local(self.root.path(), &fault.to_string())).collect()
    }
    pub fn agent_refuses(&self) -> Vec<String> {
        let faults = config::load_agent(&self.sources).expect_err("the agent should not start");
        faults.0.iter().map(|fault| local(self.root.path(), &fault.to_string())).collect()
    }
    /// Why only the fundamental tier runs.
    pub fn restricted(&self) -> Vec<String> {
        self.starts().restricted.iter().map(|reason| local(self.root.path(), reason)).collect()
    }
}

fn local(root: &Path, text: &str) -> String {
    text.replace(root.to_str().expect("UTF-8"), "")
}
