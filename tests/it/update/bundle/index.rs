//! The index: bound by its hash, and within its bounds even when somebody signed another one.

use super::crafted::{BLOCK, Crafted};
use crate::update::opened;
use ::update::bundle::{BundleError, Digest, ENTRY, ImageKind};

#[test]
fn no_bent_or_missing_byte_of_it_is_let_through() {
    let crafted = Crafted::sound();
    let release = crafted.release().unwrap();
    for at in 0..crafted.index.len() {
        let mut bent = crafted.index.clone();
        bent[at] ^= 1 << (at % 8);
        assert!(matches!(release.index(bent), Err(BundleError::Hash { .. })), "byte {at}");
        assert!(matches!(release.index(crafted.index[..at].to_vec()), Err(BundleError::Hash { .. })), "{at} bytes");
    }
    let longer = [crafted.index.as_slice(), &[0]].concat();
    assert!(matches!(release.index(longer), Err(BundleError::Hash { .. })));
    assert!(release.index(crafted.index.clone()).is_ok());
}

#[test]
fn places_follow_from_lengths_so_no_two_blocks_share_a_byte() {
    let bundle = crate::update::a_bundle(
        "1.0.0",
        1,
        &crate::update::a_boot(4 << 20, &[]),
        &crate::update::an_image(2 << 20, 3),
        &[11, 12],
    );
    let (release, index) = opened(&bundle);
    let mut place = release.blocks_at;
    for block in index.blocks() {
        assert_eq!(block.stored.start, place);
        place = block.stored.end;
        assert_eq!(block.zero, block.stored.is_empty());
    }
    assert_eq!(place, bundle.len() as u64);
    assert_eq!(index.range(ImageKind::Root), 0..128);
    assert_eq!(index.range(ImageKind::Boot), 128..384);
    // More than one stride, so places are not all sums from the start.
    assert!(index.len() > 256 && index.as_bytes().len() == index.len() as usize * ENTRY);
}

#[test]
fn the_last_block_is_as_long_as_what_is_left() {
    let index = Crafted::sound().index().unwrap();
    let sizes: Vec<_> = index.range(ImageKind::Root).map(|n| index.block(n).size).collect();
    assert_eq!(sizes, [BLOCK, BLOCK, BLOCK / 2]);
}

#[test]
fn a_signed_index_that_claims_too_much_is_refused() {
    let refused = |change: &dyn Fn(&mut Crafted)| {
        let mut crafted = Crafted::sound();
        change(&mut crafted);
        match crafted.index() {
            Err(BundleError::Malformed { problem, .. }) => problem,
            other => panic!("{other:?}"),
        }
    };
    // Longer than a block of its size can be, though the file has the bytes.
    let said = refused(&|crafted| {
        crafted.entry(0)[..4].copy_from_slice(&u32::MAX.to_le_bytes());
    });
    assert!(said.contains("longer than any block"), "{said}");
    let said = refused(&|crafted| crafted.first_block(&vec![7; BLOCK as usize + 49], &[]));
    assert!(said.contains("longer than any block"), "{said}");
    // Blocks that end before or after the bundle does.
    let said = refused(&|crafted| crafted.blocks.push(0));
    assert!(said.contains("its blocks end at"), "{said}");
    let said = refused(&|crafted| crafted.blocks.truncate(crafted.blocks.len() - 1));
    assert!(said.contains("its blocks end at"), "{said}");
    // Nothing stored, and not zeros.
    let said = refused(&|crafted| {
        crafted.first_block(b"", &[]);
        crafted.entry(0)[4..36].fill(0);
    });
    assert!(said.contains("not the block of zeros"), "{said}");
    let said = refused(&|crafted| crafted.first_block(b"", &vec![0; BLOCK as usize]));
    assert!(said.contains("not the block of zeros"), "{said}");
    // A block more or fewer than the images have.
    let said = refused(&|crafted| crafted.index.extend_from_slice(&[0; ENTRY]));
    assert!(said.contains("68 bytes for each block"), "{said}");
    let said = refused(&|crafted| crafted.index.truncate(ENTRY));
    assert!(said.contains("68 bytes for each block"), "{said}");
}

#[test]
fn another_bundles_index_is_refused() {
    let (one, mut other) = (Crafted::sound(), Crafted::sound());
    other.entry(0)[40] ^= 1;
    assert!(matches!(one.release().unwrap().index(other.index.clone()), Err(BundleError::Hash { .. })));
    assert_ne!(Digest::of(&one.index), Digest::of(&other.index));
}
