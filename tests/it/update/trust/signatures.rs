//! Signatures that are not enough.

use crate::update::{a_boot, a_bundle, a_key, an_image, envelope, ids, roots};
use ::update::{
    bundle::{BundleError, Envelope, Signature},
    trust::Purpose,
};
use std::sync::LazyLock;

/// Built once, since it is what every signature here is over.
static UNSIGNED: LazyLock<Envelope> =
    LazyLock::new(|| envelope(&a_bundle("1.0.0", 1, &a_boot(4 << 20, &[]), &an_image(64 << 10, 1), &[])));

fn unsigned() -> Envelope {
    UNSIGNED.clone()
}

fn signed_by(signatures: Vec<Signature>) -> Result<(), BundleError> {
    roots().verify_release(&Envelope { signatures, ..unsigned() }).map(drop)
}

fn good(key: u8) -> Signature {
    a_key(key).sign(Purpose::Release, &unsigned().manifest)
}

#[track_caller]
fn too_few(said: Result<(), BundleError>, have: usize) {
    match said {
        Err(BundleError::Threshold { have: said, need: 2, .. }) => assert_eq!(said, have),
        other => panic!("{other:?}"),
    }
}

#[test]
fn two_release_keys_are_enough_and_fewer_are_not() {
    signed_by(vec![good(11), good(12)]).unwrap();
    signed_by(vec![good(13), good(11), good(12)]).unwrap();
    too_few(signed_by(vec![]), 0);
    too_few(signed_by(vec![good(11)]), 1);
}

#[test]
fn one_key_counts_once() {
    too_few(signed_by(vec![good(11); 2]), 1);
    too_few(signed_by(vec![good(11); 16]), 1);
}

#[test]
fn keys_of_other_roles_and_of_nobody_do_not_count() {
    too_few(signed_by(vec![good(1), good(2), good(3), good(21), good(22), good(99)]), 0);
    too_few(signed_by(vec![good(99), good(11)]), 1);
    // And are no hindrance: a bundle may be signed for two roots of trust.
    signed_by(vec![good(99), good(11), good(21), good(12)]).unwrap();
}

#[test]
fn a_bad_signature_of_a_trusted_key_is_refused() {
    let [mut empty, mut bent, mut high] = [good(12); 3];
    empty.signature = [0; 64];
    bent.signature[5] ^= 1;
    // s + L: the same signature in another spelling (RFC 8032, 5.1.7).
    let order: [u8; 32] = [
        0xed, 0xd3, 0xf5, 0x5c, 0x1a, 0x63, 0x12, 0x58, 0xd6, 0x9c, 0xf7, 0xa2, 0xde, 0xf9, 0xde, 0x14, 0, 0, 0, 0, 0,
        0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x10,
    ];
    let mut carry = 0;
    for (byte, add) in high.signature[32..].iter_mut().zip(order) {
        let sum = u16::from(*byte) + u16::from(add) + carry;
        (*byte, carry) = (sum as u8, sum >> 8);
    }
    for bad in [empty, bent, high] {
        let said = signed_by(vec![good(11), bad]).unwrap_err();
        assert!(matches!(&said, BundleError::BadSignature { key, .. } if *key == ids(&[12])[0]), "{said}");
    }
    // Somebody else's signature under a trusted name.
    let stolen = Signature { key_id: ids(&[12])[0], ..good(99) };
    assert!(matches!(signed_by(vec![good(11), stolen]), Err(BundleError::BadSignature { .. })));
}

#[test]
fn a_signature_covers_every_byte_and_what_it_is_for() {
    let text = unsigned().manifest;
    let whole = |bytes: &[u8]| [11, 12].map(|key| a_key(key).sign(Purpose::Release, bytes)).to_vec();
    for bytes in [&text[..text.len() - 1], &text[..64], &text[..1], b"".as_slice()] {
        assert!(
            matches!(signed_by(whole(bytes)), Err(BundleError::BadSignature { .. })),
            "the first {} bytes",
            bytes.len()
        );
    }
    for purpose in [Purpose::Channel, Purpose::Root] {
        let signatures = [11, 12].map(|key| a_key(key).sign(purpose, &text)).to_vec();
        assert!(matches!(signed_by(signatures), Err(BundleError::BadSignature { .. })), "{purpose:?}");
    }
    // Without any prefix: what a tool that signs files would make.
    let der = |key: u8| {
        let mut der = vec![0x30, 0x2e, 2, 1, 0, 0x30, 5, 6, 3, 0x2b, 0x65, 0x70, 4, 0x22, 4, 0x20];
        der.extend_from_slice(&[key; 32]);
        ring::signature::Ed25519KeyPair::from_pkcs8_maybe_unchecked(&der).unwrap()
    };
    let plain = [11, 12]
        .map(|key| Signature { key_id: ids(&[key])[0], signature: der(key).sign(&text).as_ref().try_into().unwrap() });
    assert!(matches!(signed_by(plain.to_vec()), Err(BundleError::BadSignature { .. })));
}

#[test]
fn a_channels_index_is_signed_by_channel_keys_only() {
    let text = b"{\"any\":1}";
    let by = |key: u8, purpose| [a_key(key).sign(purpose, text)];
    assert_eq!(roots().verify_channel(text, &by(21, Purpose::Channel)).unwrap(), ids(&[21]));
    for key in [1, 11, 99] {
        let said = roots().verify_channel(text, &by(key, Purpose::Channel));
        assert!(matches!(said, Err(BundleError::Threshold { have: 0, need: 1, .. })), "{key}");
    }
    assert!(matches!(roots().verify_channel(text, &by(21, Purpose::Release)), Err(BundleError::BadSignature { .. })));
    assert!(matches!(
        roots().verify_channel(b"{\"any\":2}", &by(21, Purpose::Channel)),
        Err(BundleError::BadSignature { .. })
    ));
}

#[test]
fn a_fault_says_what_where_and_what_next() {
    let error = base::error::ToolError::from(signed_by(vec![good(11)]).unwrap_err());
    assert_eq!(error.code.symbol(), "verification_failed");
    assert_eq!(error.details["fault"], "threshold");
    assert!(error.message.contains("1 of the 2 keys"), "{}", error.message);
    assert!(error.hint.as_ref().unwrap().contains("bundle sign"));
}
