//! Keys and a root of trust that are the same in every run.

use ::update::{
    bundle::Digest,
    trust::{KeyRole, Purpose, RootFile, RootOfTrust, SecretKey, Signed},
};

/// 2026-11-22T00:00:00Z: `created` of all bundles and roots here.
pub const NOW: u64 = 1_795_305_600;
/// When they expire: 90 days later.
pub const LATER: u64 = NOW + 90 * 86_400;
pub const PRODUCT: &str = "test-appliance";
pub const LAYOUT: &str = "mbr-ab-1";
/// The board that bundles here are for.
pub const HARDWARE: &str = "raspberrypi,4-model-b";

/// TEST KEYS, known to everybody: made of a number. Never trust them.
pub fn a_key(number: u8) -> SecretKey {
    // RFC 8410: what is before the 32 bytes of an Ed25519 key in PKCS #8.
    let mut der = vec![0x30, 0x2e, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x04, 0x22, 0x04, 0x20];
    der.extend_from_slice(&[number; 32]);
    SecretKey::from_pkcs8(&der).unwrap()
}

/// Root keys 1 to 3 (two must sign), release keys 11 to 13 (two), channel keys 21 and 22 (one).
pub fn a_root_file(version: u64) -> RootFile {
    let role = |numbers: &[u8], threshold| KeyRole { keys: ids(numbers), threshold };
    let keys = [1, 2, 3, 11, 12, 13, 21, 22].map(|number| a_key(number).public());
    RootFile {
        format: 1,
        product: PRODUCT.into(),
        version,
        created: NOW,
        expires: LATER,
        keys: keys.to_vec(),
        root: role(&[1, 2, 3], 2),
        release: role(&[11, 12, 13], 2),
        channel: role(&[21, 22], 1),
    }
}

pub fn ids(numbers: &[u8]) -> Vec<Digest> {
    numbers.iter().map(|number| a_key(*number).public().id()).collect()
}

/// A signed text, by the keys of these numbers.
pub fn signed(purpose: Purpose, text: &[u8], keys: &[u8]) -> Vec<u8> {
    let signatures = keys.iter().map(|number| a_key(*number).sign(purpose, text)).collect();
    Signed { purpose, signatures, text: text.to_vec() }.encode()
}

/// The bytes of the first root of trust.
pub fn a_root() -> Vec<u8> {
    signed(Purpose::Root, &serde_json::to_vec(&a_root_file(1)).unwrap(), &[1, 2])
}

pub fn roots() -> RootOfTrust {
    RootOfTrust::parse(&a_root()).unwrap()
}
