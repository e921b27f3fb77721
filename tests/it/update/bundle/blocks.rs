//! Stored blocks: what the decompressor never sees, and what it must not be talked into.

use super::crafted::{BLOCK, Crafted};
use ::update::bundle::{BundleError, Digest, unpack};
use zstd::zstd_safe::CParameter;

const SIZE: usize = BLOCK as usize;

/// What unpacking the first block says when it is stored as these bytes, which are signed for.
fn said_of(stored: &[u8], raw: &[u8]) -> String {
    let mut crafted = Crafted::sound();
    crafted.first_block(stored, raw);
    let (said, left) = crafted.unpack_first();
    assert_eq!(left, b"", "what failed leaves nothing");
    said.unwrap_err().to_string()
}

fn frame(raw: &[u8], parameters: &[CParameter]) -> Vec<u8> {
    let mut compressor = zstd::bulk::Compressor::new(3).unwrap();
    parameters.iter().for_each(|parameter| compressor.set_parameter(*parameter).unwrap());
    compressor.compress(raw).unwrap()
}

fn noise() -> Vec<u8> {
    crate::update::an_image(4 * SIZE, 77)[SIZE..2 * SIZE].to_vec()
}

#[test]
fn a_frame_of_the_block_is_taken() {
    let mut crafted = Crafted::sound();
    let raw = noise();
    for parameters in [vec![], vec![CParameter::ChecksumFlag(true)]] {
        crafted.first_block(&frame(&raw, &parameters), &raw);
        let (said, out) = crafted.unpack_first();
        said.unwrap();
        assert!(out == raw);
    }
}

#[test]
fn nothing_is_unpacked_whose_stored_hash_is_another() {
    let crafted = Crafted::sound();
    let block = crafted.index().unwrap().block(0);
    let stored = &crafted.blocks[..(block.stored.end - block.stored.start) as usize];
    let mut raw = Vec::new();
    unpack(&block, stored, &mut raw).unwrap();
    // Every 97th byte, and first and last: each is refused by its hash, before zstd sees any of it.
    for at in (0..stored.len()).step_by(97).chain([stored.len() - 1]) {
        let mut bent = stored.to_vec();
        bent[at] ^= 0x10;
        assert!(matches!(unpack(&block, &bent, &mut raw), Err(BundleError::Hash { .. })), "byte {at}");
        assert!(raw.is_empty());
    }
    for length in [0, 1, stored.len() - 1] {
        assert!(matches!(unpack(&block, &stored[..length], &mut raw), Err(BundleError::Unpack { .. })), "{length}");
    }
    let longer = [stored, &[0]].concat();
    assert!(matches!(unpack(&block, &longer, &mut raw), Err(BundleError::Unpack { .. })));
}

#[test]
fn a_bomb_that_says_its_size_is_refused_for_it() {
    let bomb = frame(&vec![0; 256 << 20], &[]);
    assert!(bomb.len() < SIZE, "{} bytes for 256 MiB", bomb.len());
    assert!(said_of(&bomb, &[]).contains("not of one segment"), "its window is not its size");
    let bomb = frame(&vec![0; SIZE + 1], &[CParameter::WindowLog(20)]);
    assert!(said_of(&bomb, &[]).contains("says another size"));
}

#[test]
fn a_bomb_that_lies_about_its_size_has_the_room_of_one_block() {
    // A frame of one segment whose size is four bytes: 2^20 zeros, which then claims 65536.
    let mut bomb = frame(&vec![0; 1 << 20], &[CParameter::WindowLog(20)]);
    assert_eq!(bomb[4] & 0b1110_0000, 0b1010_0000, "one segment, and four bytes of size");
    bomb[5..9].copy_from_slice(&BLOCK.to_le_bytes());
    let said = said_of(&bomb, &vec![0; SIZE]);
    assert!(said.contains("cannot be unpacked"), "{said}");
}

#[test]
fn a_window_larger_than_the_block_is_refused() {
    // Says its size, but asks for 8 MiB of memory: a stream's frame.
    let mut stream = zstd::stream::Encoder::new(Vec::new(), 3).unwrap();
    stream.set_parameter(CParameter::WindowLog(23)).unwrap();
    std::io::Write::write_all(&mut stream, &noise()).unwrap();
    assert!(said_of(&stream.finish().unwrap(), &noise()).contains("not of one segment"));
    // By hand: a window of 2^41 bytes (RFC 8878, 3.1.1.1.2).
    assert!(said_of(b"\x28\xb5\x2f\xfd\x00\xf8\x01\x00\x00", &[]).contains("not of one segment"));
}

#[test]
fn one_frame_and_nothing_else() {
    let (raw, half) = (noise(), noise()[..SIZE / 2].to_vec());
    let sound = frame(&raw, &[]);
    let skippable = b"\x50\x2a\x4d\x18\x04\x00\x00\x00abcd";
    for (stored, what) in [
        ([sound.as_slice(), b"\0"].concat(), "not exactly one frame"),
        ([sound.as_slice(), skippable].concat(), "not exactly one frame"),
        ([skippable.as_slice(), &sound].concat(), "no zstd frame"),
        ([frame(&half, &[]), frame(&raw[SIZE / 2..], &[])].concat(), "says another size"),
        ([sound.as_slice(), &frame(&[], &[])].concat(), "not exactly one frame"),
        (sound[..sound.len() - 1].to_vec(), "not exactly one frame"),
        (sound[..4].to_vec(), "too short"),
        (b"x".to_vec(), "too short"),
        (raw.clone(), "no zstd frame"),
    ] {
        let said = said_of(&stored, &raw);
        assert!(said.contains(what), "{what}: {said}");
    }
}

#[test]
fn a_frame_of_other_bytes_is_refused_by_their_hash() {
    let said = said_of(&frame(&noise(), &[]), &vec![1; SIZE]);
    assert!(said.contains("unpacked, has another SHA-256"), "{said}");
}

#[test]
fn a_dictionary_is_refused() {
    let mut stored = frame(&noise(), &[]);
    stored[4] |= 1;
    assert!(said_of(&stored, &noise()).contains("dictionary"));
}

#[test]
fn zeros_are_made_of_nothing() {
    let crafted = Crafted::sound();
    let index = crafted.index().unwrap();
    let zero = index.blocks().find(|block| block.zero).unwrap();
    let mut raw = vec![9; 3];
    unpack(&zero, b"", &mut raw).unwrap();
    assert_eq!((raw.len(), Digest::of(&raw)), (zero.size as usize, zero.sha256));
    assert!(unpack(&zero, b"\0", &mut raw).is_err());
}
