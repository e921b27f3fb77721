//! What tests of updates are made of: boot images and bundles, the same bytes in every run.

use super::{HARDWARE, LATER, LAYOUT, NOW, PRODUCT, a_key, roots};
use ::update::{
    bundle::{self, BlockIndex, BundleContent, BundleHead, Changes, Envelope, tree},
    trust::{self, VerifiedRelease},
};
use std::io::Cursor;

pub const BLOCK: u32 = 16 << 10;

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
        changes: Changes::default(),
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
    bundle::build(plan, &mut root, &mut boot, &mut Cursor::new(Vec::new()), &mut out, &mut |_, _, _| {}).unwrap();
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
