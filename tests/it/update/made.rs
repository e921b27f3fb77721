//! What tests of updates are made of: keys, a root of trust, boot images and bundles, the same bytes in every run.

use ::update::{
    bundle::{self, BlockIndex, BundleContent, BundleHead, Envelope, tree},
    trust::{self, KeyRole, Purpose, RootFile, RootOfTrust, SecretKey, Signed, VerifiedRelease},
};
use std::io::Cursor;

/// 2026-11-22T00:00:00Z: `created` of all bundles and roots here.
pub const NOW: u64 = 1_795_305_600;
/// When they expire: 90 days later.
pub const LATER: u64 = NOW + 90 * 86_400;
pub const PRODUCT: &str = "test-appliance";
pub const LAYOUT: &str = "mbr-ab-1";
/// The board that bundles here are for.
pub const HARDWARE: &str = "raspberrypi,4-model-b";
pub const BLOCK: u32 = 16 << 10;

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

pub fn ids(numbers: &[u8]) -> Vec<bundle::Digest> {
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

/// What a bundle says of itself, unless told otherwise.
pub fn a_plan(version: &str, counter: u64) -> BundleContent {
    BundleContent {
        product: PRODUCT.into(),
        version: version.into(),
        counter,
        channel: "stable".into(),
        layout: LAYOUT.into(),
        hardware: vec![HARDWARE.into(), "linux,dummy-virt".into()],
        min_eeprom: None,
        created: NOW,
        expires: LATER,
        revoke_below: None,
        config_keys: Vec::new(),
        block_size: BLOCK,
        level: 3,
    }
}

/// A bundle, signed by the release keys of these numbers (11 and 12 are enough). `boot` must be a FAT: [`a_boot`] makes one.
pub fn a_bundle(version: &str, counter: u64, boot: &[u8], root: &[u8], keys: &[u8]) -> Vec<u8> {
    a_bundle_of(&a_plan(version, counter), boot, root, keys)
}

pub fn a_bundle_of(plan: &BundleContent, boot: &[u8], root: &[u8], keys: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let (mut root, mut boot) = (Cursor::new(root), Cursor::new(boot));
    bundle::build(plan, &mut root, &mut boot, &mut Cursor::new(Vec::new()), &mut out).unwrap();
    let mut envelope = envelope(&out);
    keys.iter().for_each(|number| trust::sign(&mut envelope, &a_key(*number)).unwrap());
    let head = envelope.encode().unwrap();
    out[..head.len()].copy_from_slice(&head);
    out
}

/// The head of a whole bundle.
pub fn envelope(bundle: &[u8]) -> Envelope {
    match Envelope::read(bundle).unwrap() {
        BundleHead::Whole(envelope) => envelope,
        BundleHead::More(_) => panic!("it ends in its head"),
    }
}

/// The verified parts of a whole bundle.
pub fn opened(bundle: &[u8]) -> (VerifiedRelease, BlockIndex) {
    let envelope = envelope(bundle);
    let release = roots().verify_release(&envelope).unwrap();
    let index = bundle[envelope.index_at as usize..envelope.blocks_at as usize].to_vec();
    let index = release.index(index).unwrap();
    (release, index)
}

/// Bytes that look like a file system's: zeros, text, and what no compressor makes smaller; others for each `seed`.
pub fn an_image(size: usize, seed: u64) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut image = Vec::with_capacity(size);
    for chunk in 0..size.div_ceil(4096) {
        match chunk % 4 {
            0 => image.resize(image.len() + 4096, 0),
            1 => {
                image.extend(format!("{seed} is what line {chunk} says.\n").into_bytes().into_iter().cycle().take(4096))
            }
            _ => image.extend((0..512).flat_map(|_| {
                state ^= state << 13;
                state ^= state >> 7;
                state ^= state << 17;
                state.to_le_bytes()
            })),
        }
    }
    image.truncate(size);
    image
}

/// An image of `size` bytes of which the end is the hash tree over the rest.
pub fn with_tree(data: &[u8], size: usize) -> Vec<u8> {
    let layout = tree::HashTreeLayout::of(size as u64).unwrap();
    let data = &data[..layout.data as usize];
    let mut hasher = tree::Hasher::new(layout, tree::SALT);
    hasher.feed(data);
    [data, &hasher.finish()].concat()
}

/// A FAT16 file system of `size` bytes (4 to 30 MiB) with these files (8.3 names, `FOLDER/NAME.EXT` at most one folder deep).
pub fn a_boot(size: usize, files: &[(&str, &[u8])]) -> Vec<u8> {
    super::fat::fat16(size, files)
}

/// The boot image of a simulated machine's system.
pub fn a_boot_of(version: &str) -> Vec<u8> {
    update::simulated::boot_image(128 << 10, version).unwrap()
}
