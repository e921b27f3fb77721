//! Which device this is, as far as a channel has to know.

use crate::bundle::Digest;
use ring::{
    digest::{SHA256, digest},
    hmac,
};

/// What the machine's id is mixed with: it is confidential (machine-id(5)), and nobody can go back to it from here.
const APPLICATION: &[u8] = b"raspi-mcp rollout 1";

/// A number that stays for the life of an installation, and says nothing about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceId([u8; 32]);

impl DeviceId {
    /// HMAC-SHA-256 of a name of ours, by the machine's id: what sd_id128_get_machine_app_specific(3) does.
    pub fn of(machine_id: &str) -> Self {
        let key = hmac::Key::new(hmac::HMAC_SHA256, machine_id.trim().as_bytes());
        let mut id = [0; 32];
        id.copy_from_slice(hmac::sign(&key, APPLICATION).as_ref());
        Self(id)
    }

    /// Where in a release's rollout it stands, from 0 to 9999: another place for each salt.
    pub fn place(&self, salt: &str) -> u16 {
        let mixed = digest(&SHA256, &[salt.as_bytes(), b"\0", &self.0].concat());
        let number = mixed.as_ref().iter().take(8).fold(0u64, |number, byte| number << 8 | u64::from(*byte));
        // Far fewer places than numbers: none is likelier than another by more than a hair.
        u16::try_from(number % 10_000).unwrap_or(0)
    }
}

/// What is known of the device that asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Device {
    /// What runs.
    pub version: String,
    pub counter: u64,
    /// No image with a smaller counter is installed.
    pub counter_floor: u64,
    /// Device-tree compatibles, the board's own first.
    pub hardware: Vec<String>,
    pub layout: String,
    pub ring: Option<String>,
    /// The one version that is wanted.
    pub pin: Option<String>,
    /// `None` before the machine has an id: then only what everybody gets is for it.
    pub id: Option<DeviceId>,
    /// Releases that failed here too often, by their manifests, and why.
    pub blocked: Vec<(Digest, String)>,
}
