//! Which devices a command is about.

use crate::fleet::console::{
    StatusBook,
    filter::DeviceFilter,
    report::{DeviceHealth, DeviceRow, Silence},
};
use base::clock::Wall;

#[derive(clap::Args)]
pub struct Selection {
    /// Only devices that run this version; may be repeated
    #[arg(long, value_name = "VERSION", requires = "dir")]
    version: Vec<String>,
    /// Only devices with this health: good, wrong, unknown or silent; may be repeated
    #[arg(long, value_name = "HEALTH", requires = "dir", value_parser = health)]
    health: Vec<DeviceHealth>,
    /// Only devices with this tag, in the registry or in their own configuration; may be repeated
    #[arg(long, value_name = "TAG", requires = "dir")]
    tag: Vec<String>,
    /// Only silent devices: the same as --health silent
    #[arg(long, requires = "dir")]
    silent: bool,
    /// A device is silent if its last status is older than this; devices report every 10 to 20 minutes
    #[arg(long, value_name = "MINUTES", requires = "dir", default_value_t = 45, value_parser = clap::value_parser!(i64).range(1..=525_600))]
    silent_after: i64,
    /// Only these devices
    #[arg(value_name = "NAME", requires = "dir")]
    names: Vec<String>,
}

fn health(text: &str) -> Result<DeviceHealth, String> {
    let known = DeviceHealth::ALL.into_iter().find(|health| health.word() == text);
    known.ok_or_else(|| "it is good, wrong, unknown or silent".into())
}

impl Selection {
    pub fn filter(&self) -> DeviceFilter {
        let mut healths = self.health.clone();
        if self.silent {
            healths.push(DeviceHealth::Silent);
        }
        DeviceFilter { names: self.names.clone(), versions: self.version.clone(), healths, tags: self.tag.clone() }
    }

    /// In milliseconds.
    pub fn after_ms(&self) -> i64 {
        self.silent_after * 60_000
    }

    pub fn silence(&self) -> Silence {
        Silence { now_ms: Wall::system().now_ms(), after_ms: self.after_ms() }
    }

    /// The devices of the book that are meant, by name.
    pub fn rows<'a>(&self, book: &'a StatusBook) -> Vec<DeviceRow<'a>> {
        let (filter, silence) = (self.filter(), self.silence());
        let rows = book.devices().map(|(device, status)| DeviceRow { device, status, silence });
        rows.filter(|row| filter.fits(row)).collect()
    }
}
