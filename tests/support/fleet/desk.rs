//! The folder of a fleet's owner, with an authority and the certificates that it signs.

use super::SimulatedDevice;
use base::signing::{PublicKey, SigningKey};
use contract::config::{Places, key::Section, sections::FleetSettings};
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair, KeyUsagePurpose,
};
use serde_json::json;
use std::{
    fs,
    path::{Path, PathBuf},
};
use tempfile::TempDir;

/// The name of the fleet.
pub const FLEET: &str = "home";

pub struct FleetDesk {
    root: TempDir,
    authority: Issuer<'static, KeyPair>,
    pub key: SigningKey,
}

impl FleetDesk {
    /// A folder with an authority, a console and the broker's certificate; without devices.
    pub fn new() -> Self {
        let root = TempDir::new().unwrap();
        fs::create_dir(root.path().join("devices")).unwrap();
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
        params.distinguished_name.push(DnType::CommonName, "fleet home");
        let secret = KeyPair::generate().unwrap();
        let certificate = params.self_signed(&secret).unwrap();
        let der = SigningKey::generate().unwrap();
        let key = SigningKey::from_pkcs8(&der).unwrap();
        let desk = Self { root, authority: Issuer::new(params, secret), key };
        desk.put("ca.pem", certificate.pem());
        desk.put("fleet.key", der);
        for (file, names) in [("server", ["localhost", "127.0.0.1"]), ("console", ["desk.console.home", "desk"])] {
            let (certificate, secret) = desk.signs(&names);
            desk.put(&format!("{file}.pem"), certificate);
            desk.put(&format!("{file}.key"), secret);
        }
        desk
    }

    pub fn path(&self) -> &Path {
        self.root.path()
    }

    pub fn file(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    fn put(&self, name: &str, content: impl AsRef<[u8]>) {
        fs::write(self.file(name), content).unwrap();
    }

    /// A certificate and its key, as PEM.
    fn signs(&self, names: &[&str]) -> (String, String) {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let mut params = CertificateParams::new(names).unwrap();
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth, ExtendedKeyUsagePurpose::ServerAuth];
        let secret = KeyPair::generate().unwrap();
        (params.signed_by(&secret, &self.authority).unwrap().pem(), secret.serialize_pem())
    }

    /// Writes the certificate of a device, and its key.
    fn certifies(&self, name: &str) -> [PathBuf; 2] {
        let (certificate, secret) = self.signs(&[&format!("{name}.device.{FLEET}")]);
        let [certificate_file, key_file] = ["pem", "key"].map(|ending| format!("{name}.{ending}"));
        self.put(&certificate_file, certificate);
        self.put(&key_file, secret);
        [self.file(&certificate_file), self.file(&key_file)]
    }

    /// fleet.toml, once the port of the broker is known.
    pub fn names_broker(&self, port: u16) {
        self.put("fleet.toml", format!("name = \"{FLEET}\"\nservers = [\"tls://127.0.0.1:{port}\"]\n"));
    }

    /// Enrols a device: its certificate, and its entry in the registry.
    pub fn enrolls(&self, name: &str, tags: &[&str]) -> SimulatedDevice {
        self.certifies(name);
        let device = SimulatedDevice::new(name, self.path(), self.key.public());
        self.registers(&device, tags, false);
        device
    }

    /// The settings of a real device of this name, with a certificate of its own.
    pub fn joins(&self, name: &str, port: u16) -> FleetSettings {
        let [certificate, key] = self.certifies(name);
        FleetSettings {
            servers: vec![format!("tls://127.0.0.1:{port}")],
            name: FLEET.into(),
            device: name.into(),
            ca: self.file("ca.pem"),
            certificate,
            key,
            owner_key: self.key.public().text().into(),
            ..FleetSettings::default_for(&Places::system())
        }
    }

    /// Writes the entry of a real device.
    pub fn knows(&self, name: &str, key: &PublicKey, pin: &str) {
        let entry = json!({
            "name": name, "key": key.text(), "device": key.id(), "serial": "01", "tags": [], "revoked": false,
            "pin": pin, "expires": "2030-01-01T00:00:00Z",
        });
        self.put(&format!("devices/{name}.json"), entry.to_string());
    }

    /// Writes the entry of a device.
    pub fn registers(&self, device: &SimulatedDevice, tags: &[&str], revoked: bool) {
        let name = &device.name;
        let entry = json!({
            "name": name, "key": device.key.public().text(), "device": device.id, "serial": "01", "tags": tags, "revoked": revoked,
            "pin": format!("sha256:{}", "0".repeat(64)), "expires": "2030-01-01T00:00:00Z",
        });
        self.put(&format!("devices/{name}.json"), entry.to_string());
    }
}
