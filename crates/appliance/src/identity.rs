//! The identity: the machine's owner and how it is reached. It survives everything except a physical reset.
//!
//! JSON in the agent-state area, under [`KEY`] of [`StateRecord::kept`]. Fields of a newer version are kept, so that nothing
//! is lost when an older version runs in between. Valid fields are used; an invalid field is reported as a fault and
//! kept unchanged.

use crate::{
    certificate::{self, Fingerprint},
    device_key,
};
use base::error::ToolError;
use contract::config::TokenSetting;
use rustls::pki_types::{CertificateDer, pem::PemObject};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use update::{bundle::Digest, slots::StateRecord};

/// Its key in [`StateRecord::kept`].
pub const KEY: &str = "identity";

/// The identity. Its debug form contains no secret.
#[derive(Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Identity {
    /// Whether it has an owner. Only a physical reset takes that back.
    pub claimed: bool,
    /// The server's certificate in PEM, created at the first boot.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub certificate: Option<String>,
    /// The private key in PEM.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// The host name, of one label.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wifi: Option<Wifi>,
    /// The accepted tokens, as hashes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tokens: Vec<TokenSetting>,
    #[serde(skip_serializing_if = "ReleaseChannel::is_nothing")]
    pub update: ReleaseChannel,
    /// Approvers that came with the ownership, until the agent has enrolled them in place of all others.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub approvers: Option<FirstApprovers>,
    /// The fleet that it belongs to.
    #[serde(skip_serializing_if = "FleetIdentity::is_nothing")]
    pub fleet: FleetIdentity,
    /// SHA-256 of the provisioning file that was recorded and may still be on partition 1, completely or in part.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub erasing: Option<Digest>,
    /// Fields of a newer version.
    #[serde(flatten)]
    pub more: Map<String, Value>,
}

/// Approvers that came with the ownership.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct FirstApprovers {
    /// Where they came from, for the list of approvers.
    pub from: String,
    /// Name, kind, key and origin of each, checked when they came.
    pub list: Vec<Value>,
}

impl FirstApprovers {
    /// None yet, from this source.
    pub fn of(from: &str) -> Self {
        Self { from: from.into(), list: Vec::new() }
    }
}

/// The wireless network.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Wifi {
    /// 1 to 32 bytes (IEEE 802.11).
    pub ssid: String,
    /// A passphrase of 8 to 63 printable ASCII characters, or the 64 hexadecimal digits of the key; empty for an open
    /// network.
    pub secret: String,
    /// Two capital letters (ISO 3166-1), or empty.
    pub country: String,
    /// Whether the network does not broadcast its name.
    pub hidden: bool,
}

/// Its membership in a fleet. Both keys are secrets.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct FleetIdentity {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub member: Option<FleetMember>,
    /// The key of a request that waits for an answer, in PEM.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub new_key: Option<String>,
}

/// What a member has: three files in PEM, and the section `[fleet]` that names them.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct FleetMember {
    pub key: String,
    pub ca: String,
    pub certificate: String,
    pub settings: String,
}

impl FleetIdentity {
    fn is_nothing(&self) -> bool {
        *self == Self::default()
    }
}

/// The source of releases, and the root of trust.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, expecting = "struct Channel")]
pub struct ReleaseChannel {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub channel: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub mirrors: Vec<String>,
    /// The signed root of trust that replaces the image's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trust: Option<String>,
}

impl ReleaseChannel {
    fn is_nothing(&self) -> bool {
        *self == Self::default()
    }
}

impl Identity {
    /// The identity of a state, and its faults. Without one it is empty: unclaimed, without a key.
    pub fn of(state: &StateRecord) -> (Self, Vec<String>) {
        let Some(bytes) = state.kept.get(KEY) else { return (Self::default(), Vec::new()) };
        match serde_json::from_slice::<Map<String, Value>>(bytes) {
            Ok(map) => Self::from_map(map),
            // The machine had an owner when it was written, so it must not be claimable now.
            Err(error) => {
                let fault = format!("the recorded identity cannot be read: {error}");
                (Self { claimed: true, ..Self::default() }, vec![fault])
            }
        }
    }

    /// Reads field by field: an invalid field only affects itself, and stays in the record unchanged.
    fn from_map(mut map: Map<String, Value>) -> (Self, Vec<String>) {
        let mut faults = Vec::new();
        let mut unread = Map::new();
        let mut known = Self::default();
        for name in
            ["claimed", "certificate", "key", "name", "wifi", "tokens", "update", "approvers", "fleet", "erasing"]
        {
            let Some(value) = map.remove(name) else { continue };
            let alone = Map::from_iter([(name.to_owned(), value.clone())]);
            match serde_json::from_value::<Self>(Value::Object(alone)) {
                Ok(one) => known.take(name, one),
                Err(error) => {
                    faults.push(format!("the recorded identity's {name} is not what this version knows: {error}"));
                    // An unknown value still means that there is an owner.
                    known.claimed |= name == "claimed";
                    unread.insert(format!("unread_{name}"), value);
                }
            }
        }
        map.extend(unread);
        (Self { more: map, ..known }, faults)
    }

    fn take(&mut self, name: &str, one: Self) {
        match name {
            "claimed" => self.claimed = one.claimed,
            "certificate" => self.certificate = one.certificate,
            "key" => self.key = one.key,
            "name" => self.name = one.name,
            "wifi" => self.wifi = one.wifi,
            "tokens" => self.tokens = one.tokens,
            "update" => self.update = one.update,
            "approvers" => self.approvers = one.approvers,
            "fleet" => self.fleet = one.fleet,
            _ => self.erasing = one.erasing,
        }
    }

    /// The state with this identity; nothing else changes.
    #[must_use]
    pub fn in_state(&self, state: &StateRecord) -> StateRecord {
        let mut next = state.clone();
        // Strings and maps of strings, so this cannot fail.
        next.kept.insert(KEY.into(), serde_json::to_vec(self).unwrap_or_default());
        next
    }

    /// Whether two states have the same identity, so that either can be lost. `erasing` is ignored, because the next
    /// start finds what is left of the file.
    pub fn is_same(one: &StateRecord, other: &StateRecord) -> bool {
        let plain = |state: &StateRecord| {
            let (identity, faults) = Self::of(state);
            faults.is_empty().then_some(Self { erasing: None, ..identity })
        };
        // The device's ID is a part of who it is.
        device_key::kept(one) == device_key::kept(other)
            && (one.kept.get(KEY) == other.kept.get(KEY)
                || plain(one).is_some_and(|identity| Some(identity) == plain(other)))
    }

    /// Whether it has a certificate and a key.
    pub const fn has_key(&self) -> bool {
        self.certificate.is_some() && self.key.is_some()
    }

    /// Creates key and certificate.
    ///
    /// # Errors
    /// `internal` when the system provides no random bytes.
    pub fn make_key(&mut self) -> Result<(), ToolError> {
        // Clients check the fingerprint and connect to any address; a name may be given later.
        let names = ["raspi-mcp", "raspi-mcp.local", "localhost"].map(str::to_owned).to_vec();
        let made = certificate::make(names)?;
        (self.certificate, self.key) = (Some(made.certificate), Some(made.key));
        Ok(())
    }

    /// The fingerprint that clients pin; `None` without a valid certificate.
    pub fn fingerprint(&self) -> Option<Fingerprint> {
        let pem = self.certificate.as_ref()?;
        CertificateDer::from_pem_slice(pem.as_bytes()).ok().map(|der| Fingerprint::of(&der))
    }

    /// Makes the holder of this token the owner.
    pub fn belongs_to(&mut self, token: TokenSetting) {
        self.claimed = true;
        self.tokens.retain(|other| other.name != token.name);
        self.tokens.push(token);
    }
}

impl std::fmt::Debug for Identity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut shown = f.debug_struct("Identity");
        shown.field("claimed", &self.claimed).field("name", &self.name).finish_non_exhaustive()
    }
}

impl std::fmt::Debug for Wifi {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Wifi").field("ssid", &self.ssid).finish_non_exhaustive()
    }
}
