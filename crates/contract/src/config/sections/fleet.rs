//! `[fleet]`: the broker of a fleet that this device reports to.

use crate::config::{
    declare::section,
    key::InState,
    kind::{SettingKind, count},
};
use std::path::PathBuf;

section! {
    /// The fleet that this device belongs to (docs/fleet.md). `raspi-mcp fleet join` writes it. Without `servers`, the
    /// device connects to nobody. Read when the server and the agent start.
    [fleet] pub struct FleetSettings given places {
        /// Addresses of the broker, such as "tls://broker.example.org:4222". One after the other is tried.
        servers: Vec<String> = Vec::new(), SettingKind::Brokers, InState::Never;
        /// The name of the fleet.
        name: String = String::new(), SettingKind::FleetName, InState::Never;
        /// The name of this device in the fleet, as in its certificate.
        device: String = String::new(), SettingKind::FleetName, InState::Never;
        /// The authority of the fleet's certificates (PEM).
        ca: PathBuf = places.site_dir.join("fleet/ca.pem"), SettingKind::File, InState::Never;
        /// The certificate of this device in the fleet (PEM).
        certificate: PathBuf = places.site_dir.join("fleet/certificate.pem"), SettingKind::File, InState::Never;
        /// Private key of the certificate (PEM, PKCS #8). Only the server's user may read it.
        key: PathBuf = places.site_dir.join("fleet/key.pem"), SettingKind::File, InState::Never;
        /// The public key that signs the fleet's orders: base64url of its SubjectPublicKeyInfo. Empty: no order is followed.
        owner_key: String = String::new(), SettingKind::Text, InState::Never;
        /// How often the device reports, beside reports of changes; each time a third more or less at random.
        report_minutes: u32 = 15, count(1, 1440), InState::Never;
        /// Words by which the console selects devices, such as "greenhouse".
        tags: Vec<String> = Vec::new(), SettingKind::Tags, InState::Never;
    }
}

impl FleetSettings {
    /// Whether this device belongs to a fleet.
    pub fn is_on(&self) -> bool {
        !self.servers.is_empty()
    }

    /// The violated rules.
    pub fn faults(&self) -> Vec<String> {
        let missing = [("name", &self.name), ("device", &self.device)];
        missing
            .into_iter()
            .filter(|(_, value)| self.is_on() && value.is_empty())
            .map(|(key, _)| format!("fleet.servers needs fleet.{key}: `raspi-mcp fleet join` writes both"))
            .collect()
    }
}
