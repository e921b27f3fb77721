//! The device's identity and state, as far as a channel needs them.

use crate::bundle::Digest;
use ring::{
    digest::{SHA256, digest},
    hmac,
};

/// The name that is hashed with the machine's id as the key. The id is confidential (machine-id(5)) and cannot be
/// recovered from the result.
const APPLICATION: &[u8] = b"raspi-mcp rollout 1";

/// A number that is stable for the life of an installation, and reveals nothing about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceId([u8; 32]);

impl DeviceId {
    /// HMAC-SHA-256 of a fixed name, keyed by the machine's id, like sd_id128_get_machine_app_specific(3).
    pub fn of(machine_id: &str) -> Self {
        let key = hmac::Key::new(hmac::HMAC_SHA256, machine_id.trim().as_bytes());
        let mut id = [0; 32];
        id.copy_from_slice(hmac::sign(&key, APPLICATION).as_ref());
        Self(id)
    }

    /// Its position in a release's rollout, from 0 to 9999; differs per salt.
    pub fn place(&self, salt: &str) -> u16 {
        let mixed = digest(&SHA256, &[salt.as_bytes(), b"\0", &self.0].concat());
        let number = mixed.as_ref().iter().take(8).fold(0u64, |number, byte| number << 8 | u64::from(*byte));
        // The modulo bias is negligible: there are far fewer places than numbers.
        u16::try_from(number % 10_000).unwrap_or(0)
    }
}

/// The device that asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TargetDevice {
    /// The running version.
    pub version: String,
    pub counter: u64,
    /// No image with a smaller counter is installed.
    pub counter_floor: u64,
    /// Device-tree compatibles, the board's own first.
    pub hardware: Vec<String>,
    pub layout: String,
    pub ring: Option<String>,
    /// The only version that is wanted.
    pub pin: Option<String>,
    /// `None` before the machine has an id: then only releases for all devices apply.
    pub id: Option<DeviceId>,
    /// Releases that failed here too often, by manifest, with the reason.
    pub blocked: Vec<(Digest, String)>,
}
