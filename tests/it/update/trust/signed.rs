//! The few lines around a signed text: cut and bent anywhere.

use crate::update::{a_key, a_root, ids, signed};
use ::update::{
    bundle::BundleError,
    trust::{MAX_SIGNED, Purpose, RootOfTrust, Signed},
};

#[test]
fn it_is_read_as_it_was_written() {
    let bytes = signed(Purpose::Channel, b"any\n\nbytes\0", &[21, 22]);
    let read = Signed::parse(&bytes, Purpose::Channel).unwrap();
    assert_eq!(read.text, b"any\n\nbytes\0");
    assert_eq!(read.signatures.iter().map(|one| one.key_id).collect::<Vec<_>>(), ids(&[21, 22]));
    assert_eq!(read.encode(), bytes);
    assert!(Signed::parse(&bytes, Purpose::Root).is_err(), "for another purpose");
}

#[test]
fn no_cut_and_no_bent_bit_is_taken_for_it() {
    let root = a_root();
    for length in 0..root.len() {
        assert!(RootOfTrust::parse(&root[..length]).is_err(), "{length} bytes");
    }
    for at in 0..root.len() {
        let mut bent = root.clone();
        bent[at] ^= 1 << (at % 8);
        assert!(RootOfTrust::parse(&bent).is_err(), "byte {at}");
    }
}

#[test]
fn lines_have_one_spelling() {
    let sound = String::from_utf8(signed(Purpose::Channel, b"text", &[21])).unwrap();
    let line = sound.lines().nth(1).unwrap();
    for bad in [
        sound.replacen(line, &format!("{line}\n{line}"), 1),
        sound.replacen(line, &format!("{line} "), 1),
        sound.replacen(line, &format!("{line} x"), 1),
        sound.replacen(line, &line.to_uppercase(), 1),
        sound.replacen(line, &line.replacen(' ', "  ", 1), 1),
        sound.replacen(line, &line[..line.len() - 1], 1),
        sound.replacen(line, &format!("{line}ü"), 1),
        sound.replacen(line, &"x".repeat(300), 1),
        sound.replace('\n', "\r\n"),
        format!(" {sound}"),
        sound.replacen("\n\n", "\n", 1),
        String::new(),
    ] {
        let said = Signed::parse(bad.as_bytes(), Purpose::Channel).unwrap_err();
        assert!(matches!(said, BundleError::Malformed { .. }), "{bad:?}: {said}");
    }
}

#[test]
fn it_is_bounded() {
    let many: Vec<u8> = (100..117).collect();
    assert!(Signed::parse(&signed(Purpose::Channel, b"", &many), Purpose::Channel).is_err(), "17 signatures");
    let full = Signed::parse(&signed(Purpose::Channel, b"", &many[..16]), Purpose::Channel).unwrap();
    assert_eq!(full.signatures.len(), 16);
    let long = vec![b'x'; MAX_SIGNED + 1];
    assert!(matches!(Signed::parse(&long, Purpose::Root), Err(BundleError::TooLong { .. })));
}

#[test]
fn a_secret_key_does_not_show_itself() {
    let shown = format!("{:?}", a_key(11));
    assert!(shown.contains(&ids(&[11])[0].to_string()) && !shown.contains("0b0b0b"), "{shown}");
}
