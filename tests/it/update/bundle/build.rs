//! Built, signed, opened, unpacked.

use crate::update::{a_boot, a_bundle, a_plan, an_image, opened};
use ::update::bundle::{self, BundleError, Digest, ImageKind, Unpacker};
use std::io::Cursor;

#[test]
fn what_is_unpacked_is_what_was_built() {
    let (boot, root) = (a_boot(4 << 20, &[("config.txt", b"arm_64bit=1\n")]), an_image(700 << 10, 1));
    let bundle = a_bundle("1.0.0", 1, &boot, &root, &[11, 12]);
    let (release, index) = opened(&bundle);
    assert_eq!(release.manifest.version, "1.0.0");
    assert_eq!(release.total, bundle.len() as u64);
    assert_eq!(index.len() as u64, release.manifest.images.iter().map(|image| image.blocks()).sum::<u64>());
    let (mut unpacker, mut raw) = (Unpacker::new().unwrap(), Vec::new());
    for (kind, image) in [(ImageKind::Root, &root), (ImageKind::Boot, &boot)] {
        let mut whole = Vec::new();
        for n in index.range(kind) {
            let block = index.block(n);
            assert_eq!((block.image, block.at), (kind, whole.len() as u64));
            unpacker.unpack(&block, &bundle[block.stored.start as usize..block.stored.end as usize], &mut raw).unwrap();
            whole.extend_from_slice(&raw);
        }
        assert!(whole == *image, "{kind:?}");
        assert_eq!(Digest::of(&whole), release.manifest.image(kind).unwrap().sha256);
    }
}

#[test]
fn the_same_input_makes_the_same_bytes() {
    let (boot, root) = (a_boot(4 << 20, &[]), an_image(300 << 10, 2));
    assert!(a_bundle("1.0.0", 1, &boot, &root, &[11, 12]) == a_bundle("1.0.0", 1, &boot, &root, &[11, 12]));
}

#[test]
fn a_boot_image_that_would_rewrite_the_bootloader_is_not_built() {
    for file in ["recovery.bin", "RECOVERY.ELF", "pieeprom.upd", "pieeprom.sig", "vl805.bin", "overlays/recovery.bin"] {
        let boot = a_boot(4 << 20, &[("config.txt", b""), ("overlays/a.dtb", b"x"), (file, b"boo")]);
        let (mut root, mut boot) = (Cursor::new(an_image(64 << 10, 1)), Cursor::new(boot));
        let built = bundle::build(
            &a_plan("1.0.0", 1),
            &mut root,
            &mut boot,
            &mut Cursor::new(Vec::new()),
            &mut Vec::new(),
            &mut |_, _, _| {},
        );
        let name = file.rsplit('/').next().unwrap().to_uppercase();
        assert_eq!(built.unwrap_err(), BundleError::Forbidden { file: name });
    }
}
