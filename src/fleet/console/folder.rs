//! The folder of a fleet's owner, read: fleet.toml, the certificate of this console, and the registry of devices.

use crate::{broker::BrokerOptions, tls::client_certificate};
use appliance::certificate::Fingerprint;
use base::{clock, error::ToolError, signing::PublicKey};
use fleet_protocol::name;
use serde::Deserialize;
use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    time::Duration,
};
use time::OffsetDateTime;

/// Bytes of fleet.toml or of one device's entry, at most.
const LONGEST: u64 = 64 * 1024;
/// Devices of one folder, at most: the broker's limits, and the console's memory of about 2 kB for each.
pub const MOST: usize = 100_000;

/// How long before its end a device's certificate has to be renewed.
pub const ENDING: Duration = Duration::from_secs(60 * 86_400);

/// A fleet as its owner has written it down.
pub struct FleetFolder {
    pub path: PathBuf,
    pub name: String,
    pub servers: Vec<String>,
    /// Whether the broker has an account for each device, which limits what it can take of the broker. Folders of older versions
    /// have not: their streams are in the one account of all.
    pub accounts: bool,
    /// By name; revoked ones too.
    pub devices: BTreeMap<String, KnownDevice>,
}

/// `devices/<name>.json`.
#[derive(Clone, Debug, Deserialize)]
pub struct KnownDevice {
    pub name: String,
    /// The public key of its agent: SubjectPublicKeyInfo in base64url.
    #[serde(deserialize_with = "public_key")]
    pub key: PublicKey,
    /// Its id: 64 hexadecimal digits.
    pub device: String,
    /// The fingerprint of its TLS certificate; a device without TLS has none and cannot be called.
    #[serde(default)]
    pub pin: Option<String>,
    /// When its certificate for the broker ends, RFC 3339.
    #[serde(default)]
    pub expires: Option<String>,
    #[serde(default)]
    pub tags: Vec<String>,
    #[serde(default)]
    pub revoked: bool,
    /// Why the last status under its name was refused, of those that a console has read; not in the file.
    #[serde(skip)]
    pub refused: Option<String>,
}

#[derive(Deserialize)]
struct Written {
    name: String,
    servers: Vec<String>,
    #[serde(default)]
    accounts: bool,
}

fn public_key<'de, D: serde::Deserializer<'de>>(from: D) -> Result<PublicKey, D::Error> {
    let text = String::deserialize(from)?;
    let key = PublicKey::parse(&text).filter(PublicKey::is_ed25519);
    key.ok_or_else(|| serde::de::Error::custom("key is no Ed25519 key as the agent writes it"))
}

impl FleetFolder {
    /// Reads everything but secret keys.
    ///
    /// # Errors
    /// `invalid_argument` that names the file and what is wrong with it.
    pub fn read(path: &Path) -> Result<Self, ToolError> {
        let file = path.join("fleet.toml");
        let text = text(&file)?;
        let Written { name, servers, accounts } =
            toml::from_str(&text).map_err(|error| wrong(&file, &error.to_string().trim_end().replace('\n', " ")))?;
        name::check("fleet", &name)?;
        if servers.is_empty() {
            return Err(wrong(&file, "servers names no broker"));
        }
        let devices = devices(&path.join("devices"))?;
        Ok(Self { path: path.to_owned(), name, servers, accounts, devices })
    }

    /// A device that is not revoked.
    ///
    /// # Errors
    /// `not_found`; `permission_denied` if it was revoked.
    pub fn device(&self, name: &str) -> Result<&KnownDevice, ToolError> {
        match self.devices.get(name) {
            Some(device) if device.revoked => Err(ToolError::denied(format!("{name} was revoked"))),
            Some(device) => Ok(device),
            None => Err(ToolError::not_found(format!("the fleet {} has no device {name}", self.name))
                .hint(format!("`raspi-mcp fleet ls --dir {}` lists them", self.path.display()))),
        }
    }

    /// The fingerprint that a device has to show.
    ///
    /// # Errors
    /// Those of [`FleetFolder::device`]; `failed_precondition` if it has no TLS.
    pub fn pin(&self, name: &str) -> Result<Fingerprint, ToolError> {
        self.device(name)?.pin.as_deref().and_then(Fingerprint::parse).ok_or_else(|| {
            ToolError::precondition(format!("the folder has no fingerprint of {name}: it has no TLS"))
                .hint("switch on tls.enabled there, and enrol it again")
        })
    }

    /// Those that are not revoked, by name.
    pub fn active(&self) -> impl Iterator<Item = &KnownDevice> {
        self.devices.values().filter(|device| !device.revoked)
    }

    /// Those whose certificate has ended at `now`, or ends within [`ENDING`].
    pub fn ending(&self, now: OffsetDateTime) -> impl Iterator<Item = &KnownDevice> {
        self.active().filter(move |device| {
            let end = device.expires.as_deref().and_then(|text| clock::parse(text).ok());
            end.is_some_and(|end| end < now + ENDING)
        })
    }

    /// How this console connects to the broker.
    ///
    /// # Errors
    /// `invalid_argument` that names the file and what is wrong with it.
    pub fn broker_options(&self) -> Result<BrokerOptions, ToolError> {
        let [authority, certificate, key] = ["ca.pem", "console.pem", "console.key"].map(|name| self.path.join(name));
        client_certificate::check(&authority, &certificate, &key).map_err(|error| error.with("configuration", true))?;
        Ok(BrokerOptions {
            servers: self.servers.clone(),
            authority,
            certificate,
            key,
            name: "console".into(),
            // Not a name of a device: `_INBOX.<d>.>` is what device <d> may hear.
            inbox: "_INBOX_console".into(),
            persistent: false,
        })
    }
}

fn devices(folder: &Path) -> Result<BTreeMap<String, KnownDevice>, ToolError> {
    let mut found = BTreeMap::new();
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        // The first device is not enrolled yet.
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(found),
        Err(error) => return Err(wrong(folder, &error.to_string())),
    };
    for entry in entries {
        let file = entry.map_err(|error| wrong(folder, &error.to_string()))?.path();
        if file.extension().is_none_or(|ending| ending != "json") {
            continue;
        }
        let device: KnownDevice =
            serde_json::from_str(&text(&file)?).map_err(|error| wrong(&file, &error.to_string()))?;
        if !name::is_name(&device.name) || file.file_stem().is_none_or(|stem| stem != device.name.as_str()) {
            return Err(wrong(
                &file,
                &format!("it is about the device {:?}; its name is that of the file", device.name),
            ));
        }
        if found.len() == MOST {
            return Err(wrong(folder, &format!("more than {MOST} devices")));
        }
        found.insert(device.name.clone(), device);
    }
    Ok(found)
}

fn text(file: &Path) -> Result<String, ToolError> {
    let about = fs::metadata(file).map_err(|error| wrong(file, &error.to_string()))?;
    if about.len() > LONGEST {
        return Err(wrong(file, &format!("it has more than {LONGEST} bytes")));
    }
    fs::read_to_string(file).map_err(|error| wrong(file, &error.to_string()))
}

fn wrong(file: &Path, why: &str) -> ToolError {
    ToolError::invalid(format!("{}: {why}", file.display()))
        .hint("--dir names the folder that `raspi-mcp fleet init` made")
        .with("configuration", true)
}
