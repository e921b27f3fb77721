//! The head of a bundle: any bytes, cut and bent anywhere.

use super::crafted::Crafted;
use crate::update::{a_boot, a_bundle, a_key, an_image, envelope, roots};
use ::update::{
    bundle::{BundleError, BundleHead, Digest, Envelope, MAX_HEAD, MAX_SIGNATURES, PREAMBLE, Signature},
    trust::{self, Purpose},
};

fn a_small_bundle() -> Vec<u8> {
    a_bundle("1.0.0", 1, &a_boot(4 << 20, &[]), &an_image(64 << 10, 1), &[11, 12])
}

#[test]
fn a_head_that_is_cut_says_how_much_is_missing() {
    let bundle = a_small_bundle();
    let whole = envelope(&bundle).index_at as usize;
    for length in 0..whole {
        let BundleHead::More(wanted) = Envelope::read(&bundle[..length]).unwrap() else {
            panic!("{length} bytes are no head")
        };
        assert!((length + 1..=MAX_HEAD).contains(&wanted), "{wanted} of {length}");
        assert_eq!(wanted, if length < PREAMBLE { PREAMBLE } else { whole });
    }
    assert_eq!(Envelope::read(&bundle[..whole]), Envelope::read(&bundle));
    assert_eq!(envelope(&bundle).encode().unwrap(), bundle[..whole]);
}

#[test]
fn no_bent_bit_of_the_head_makes_another_release_of_it() {
    let bundle = a_small_bundle();
    let sound = roots().verify_release(&envelope(&bundle)).unwrap();
    let head = envelope(&bundle).index_at as usize;
    let (mut refused, mut same) = (0, 0);
    for at in 0..head {
        let mut bent = bundle[..head].to_vec();
        bent[at] ^= 1 << (at % 8);
        match Envelope::read(&bent) {
            Err(_) | Ok(BundleHead::More(_)) => refused += 1,
            Ok(BundleHead::Whole(envelope)) => match roots().verify_release(&envelope) {
                Err(_) => refused += 1,
                // Where signatures could be and are not, or how long the blocks are: neither changes what is signed.
                Ok(release) => {
                    assert_eq!((&release.manifest, release.digest), (&sound.manifest, sound.digest), "byte {at}");
                    assert!((20..28).contains(&at) || at >= head - 14 * 96, "byte {at}");
                    same += 1;
                }
            },
        }
    }
    // The preamble but for the blocks' length, the manifest, two signatures.
    assert_eq!((refused, same), (head - 8 - 14 * 96 + gaps(), 8 + 14 * 96 - gaps()));
}

/// A bent bit in the room of the second free signature leaves a gap before it: those 13 rooms are refused.
const fn gaps() -> usize {
    13 * 96
}

#[test]
fn lengths_are_bounded_before_anything_is_read() {
    let bundle = a_small_bundle();
    let with = |at: usize, bytes: &[u8]| {
        let mut bent = bundle[..PREAMBLE].to_vec();
        bent[at..at + bytes.len()].copy_from_slice(bytes);
        Envelope::read(&bent)
    };
    let most = u32::MAX.to_le_bytes();
    assert!(matches!(with(12, &most), Err(BundleError::TooLong { limit: 65536, .. })));
    assert!(matches!(with(12, &65537u32.to_le_bytes()), Err(BundleError::TooLong { .. })));
    assert!(matches!(with(16, &most), Err(BundleError::TooLong { limit: 0x100_0000, .. })));
    assert!(matches!(with(20, &[0xff; 8]), Err(BundleError::Malformed { .. })), "the sum overflows");
    assert!(matches!(with(12, &[0; 4]), Err(BundleError::Malformed { .. })));
    assert!(matches!(with(16, &[0; 4]), Err(BundleError::Malformed { .. })));
    assert!(matches!(with(28, &[1]), Err(BundleError::Malformed { .. })));
    assert!(matches!(with(8, &[2]), Err(BundleError::Format { format: 2, reads: 1, .. })));
    assert!(matches!(with(0, b"PK\x03\x04"), Err(BundleError::Malformed { .. })));
    assert!(matches!(with(4, b"\n\x1a\n\0"), Err(BundleError::Malformed { .. })), "line ends were changed");
    assert!(matches!(with(12, &65536u32.to_le_bytes()), Ok(BundleHead::More(MAX_HEAD))));
}

#[test]
fn bytes_of_something_else_are_refused_from_their_first() {
    for other in [b"<!DOCTYPE html>".as_slice(), b"\0", b"\x89PNG\r\n\x1a\n", b"{}", b"\x28\xb5\x2f\xfd"] {
        assert!(matches!(Envelope::read(other), Err(BundleError::Malformed { .. })), "{other:?}");
    }
    assert_eq!(Envelope::read(b""), Ok(BundleHead::More(PREAMBLE)));
}

#[test]
fn signatures_have_no_gap_and_no_key_twice() {
    let text = Crafted::sound().text();
    let one = a_key(11).sign(Purpose::Release, &text);
    let mut envelope = Envelope::new(text, 68, 0).unwrap();
    let room = envelope.encode().unwrap().len() - MAX_SIGNATURES * 96;
    let bytes = [one.key_id.0.as_slice(), &one.signature].concat();
    let put = |places: &[usize]| {
        let mut head = envelope.encode().unwrap();
        places.iter().for_each(|place| head[room + 96 * place..][..96].copy_from_slice(&bytes));
        Envelope::read(&head)
    };
    assert!(matches!(put(&[0]), Ok(BundleHead::Whole(_))));
    assert!(matches!(put(&[1]), Err(BundleError::Malformed { .. })));
    assert!(matches!(put(&[0, 1]), Err(BundleError::Malformed { .. })));
    envelope.signatures = vec![one; MAX_SIGNATURES + 1];
    assert!(matches!(envelope.encode(), Err(BundleError::TooLong { .. })));
}

#[test]
fn signing_touches_nothing_but_the_room_for_signatures() {
    let boot = a_boot(4 << 20, &[]);
    let (before, after) = (
        a_bundle("1.0.0", 1, &boot, &an_image(64 << 10, 1), &[]),
        a_bundle("1.0.0", 1, &boot, &an_image(64 << 10, 1), &[11]),
    );
    let head = envelope(&before).index_at as usize;
    let room = head - MAX_SIGNATURES * 96;
    assert!(before[..room] == after[..room] && before[room + 96..] == after[room + 96..]);
    let mut envelope = envelope(&after);
    let again = trust::sign(&mut envelope, &a_key(11)).unwrap_err();
    assert!(again.to_string().contains("has signed it already"), "{again}");
    envelope.signatures = (0..16).map(|n| Signature { key_id: Digest([n; 32]), signature: [1; 64] }).collect();
    assert!(matches!(trust::sign(&mut envelope, &a_key(11)), Err(BundleError::TooLong { .. })));
    envelope.manifest = b"{}".to_vec();
    assert!(
        matches!(trust::sign(&mut envelope, &a_key(12)), Err(BundleError::Malformed { .. })),
        "only manifests are signed"
    );
}
