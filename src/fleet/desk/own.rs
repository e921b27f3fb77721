//! The certificates of the folder itself: the broker's, the console's and the authority's. They end; signed anew for the keys
//! that they have, they change nothing for any device.

use super::{
    certificates::{Authority, authority},
    put, text,
    x509::KnownCertificate,
};
use crate::fleet::console::FleetFolder;
use base::error::ToolError;
use fleet_protocol::name;
use std::{path::Path, time::Duration};
use time::OffsetDateTime;

/// How long before its end `raspi-mcp fleet doctor` names one.
pub const RENEW_BEFORE: Duration = Duration::from_secs(120 * 86_400);

/// One of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OwnCertificate {
    /// `server.pem`: the broker shows it to everybody.
    Server,
    /// `console.pem`: this console shows it to the broker.
    Console,
    /// `ca.pem`: what the broker, the console and the devices trust.
    Authority,
}

impl OwnCertificate {
    pub const ALL: [Self; 3] = [Self::Server, Self::Console, Self::Authority];

    /// Its file, by which `raspi-mcp fleet renew` knows it: no device can have a name with a dot.
    pub fn file(self) -> &'static str {
        match self {
            Self::Server => "server.pem",
            Self::Console => "console.pem",
            Self::Authority => "ca.pem",
        }
    }

    pub fn of_file(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|own| own.file() == name)
    }

    /// What it is, for people.
    pub fn what(self) -> &'static str {
        match self {
            Self::Server => "the broker's certificate",
            Self::Console => "this console's certificate",
            Self::Authority => "the certificate of the fleet's authority",
        }
    }

    /// When it ends.
    ///
    /// # Errors
    /// `invalid_argument` that names the file.
    pub fn expires(self, folder: &Path) -> Result<OffsetDateTime, ToolError> {
        Ok(KnownCertificate::read(&folder.join(self.file()))?.expires)
    }

    /// Those that have ended at `now`, or end within `before`, with that time. One that cannot be read is not among them: whoever
    /// needs it says so.
    pub fn ending(folder: &Path, now: OffsetDateTime, before: Duration) -> Vec<(Self, OffsetDateTime)> {
        let expires = |own: Self| Some((own, own.expires(folder).ok()?));
        Self::ALL.into_iter().filter_map(expires).filter(|(_, end)| *end < now + before).collect()
    }

    /// Signs it anew for the key and the names that it has, and replaces the file. Returns when it ends.
    ///
    /// # Errors
    /// `invalid_argument` for a folder without the authority's key, or a file that cannot be used; `unavailable` when it cannot be
    /// written. Then it is as before.
    pub fn renew(self, folder: &Path) -> Result<OffsetDateTime, ToolError> {
        let fleet = FleetFolder::read(folder)?;
        let secret = text(&folder.join("ca.key"))?;
        let key = |name: &str| text(&folder.join(name));
        let issued = match self {
            Self::Authority => authority(&fleet.name, Some(&secret))?,
            Self::Server => {
                let names = KnownCertificate::read(&folder.join(self.file()))?.names;
                Authority::read(&fleet.name, &secret)?.make(names, true, Some(&key("server.key")?))?
            }
            Self::Console => {
                let names = vec![name::console_user(&fleet.name, "console")];
                Authority::read(&fleet.name, &secret)?.make(names, false, Some(&key("console.key")?))?
            }
        };
        put(&folder.join(self.file()), issued.certificate.as_bytes())?;
        Ok(issued.expires)
    }
}
