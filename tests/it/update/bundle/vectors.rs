//! The vectors of docs/bundle-format.md: `BLESS=1` writes them, and a reader in another language, made by the document, agrees.

use crate::update::{NOW, a_boot, a_bundle_of, a_key, a_plan, a_root, a_root_file, envelope, roots, signed};
use ::update::{
    bundle::{BundleContent, BundleError, BundleHead, Envelope, unpack},
    trust::{Purpose, RootOfTrust},
};
use serde_json::{Value, json};
use std::{env, fs, path::PathBuf, process::Command};

fn folder() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/bundles"))
}

/// A block of text, one of zeros, and the last one short and of bytes that no compressor makes smaller.
fn root_image() -> Vec<u8> {
    let mut image: Vec<u8> = b"what a root file system holds\n".iter().copied().cycle().take(64 << 10).collect();
    image.resize(128 << 10, 0);
    let mut state = 1u32;
    image.extend((0..4096).map(|_| {
        // Numerical Recipes' generator, of which the upper byte is good enough.
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) as u8
    }));
    image
}

fn sound() -> Vec<u8> {
    let plan = BundleContent {
        hardware: vec!["raspberrypi,4-model-b".into(), "raspberrypi,5-model-b".into()],
        min_eeprom: Some(1_669_852_800),
        revoke_below: Some(2),
        block_size: 64 << 10,
        level: 15,
        ..a_plan("1.2.3-rc.1+vector", 3)
    };
    a_bundle_of(&plan, &a_boot(4 << 20, &[("config.txt", b"arm_64bit=1\n")]), &root_image(), &[11, 13])
}

/// A head that is bent, and what a reader says of it: a kind of [`BundleError`].
fn bent(change: impl FnOnce(&mut Envelope)) -> Vec<u8> {
    let mut envelope = envelope(&sound());
    change(&mut envelope);
    envelope.encode().unwrap()
}

fn sign(envelope: &mut Envelope, keys: &[u8]) {
    envelope.signatures = keys.iter().map(|key| a_key(*key).sign(Purpose::Release, &envelope.manifest)).collect();
}

/// All files, and what is said of them.
fn vectors() -> Vec<(&'static str, Vec<u8>, &'static str)> {
    let with = |text: fn(String) -> String| {
        bent(|envelope| {
            // Of the same length, so that the places stay.
            let old = String::from_utf8(envelope.manifest.clone()).unwrap();
            envelope.manifest = text(old.clone()).into_bytes();
            assert_eq!(old.len(), envelope.manifest.len());
            sign(envelope, &[11, 12]);
        })
    };
    let mut gap = bent(|envelope| envelope.signatures.truncate(1));
    let room = gap.len() - 16 * 96;
    gap.copy_within(room..room + 96, room + 192);
    let mut format = bent(|_| ());
    format[8] = 2;
    let mut twice = gap.clone();
    twice.copy_within(room..room + 96, room + 96);
    twice[room + 192..].fill(0);
    let last = signed(Purpose::Root, &serde_json::to_vec(&a_root_file(2)).unwrap(), &[2, 3]);
    let channel = signed(Purpose::Channel, b"any text: what a channel signs is docs/channel.md's\n", &[22]);
    vec![
        ("sound.bundle", sound(), "good"),
        ("trust-1.root", a_root(), "good"),
        ("trust-2.root", last, "good"),
        ("text.channel", channel, "good"),
        ("unsigned.head", bent(|envelope| envelope.signatures.clear()), "threshold"),
        ("one-signature.head", bent(|envelope| envelope.signatures.truncate(1)), "threshold"),
        ("wrong-role.head", bent(|envelope| sign(envelope, &[21, 1, 2])), "threshold"),
        ("bad-signature.head", bent(|envelope| envelope.signatures[1].signature[63] ^= 1), "bad_signature"),
        ("other-manifest.head", bent(|envelope| envelope.manifest[20] ^= 1), "bad_signature"),
        (
            "wrong-purpose.head",
            bent(|envelope| {
                let text = envelope.manifest.clone();
                envelope.signatures = [11, 12].map(|key| a_key(key).sign(Purpose::Channel, &text)).to_vec();
            }),
            "bad_signature",
        ),
        ("key-twice.head", twice, "malformed"),
        ("gap.head", gap, "malformed"),
        ("newer-format.head", format, "format"),
        (
            "field-twice.head",
            with(|text| text.replacen("\"min_eeprom\":1669852800", "\"counter\":            3", 1)),
            "malformed",
        ),
        ("unknown-field.head", with(|text| text.replacen("\"layout\"", "\"layuot\"", 1)), "malformed"),
        (
            "other-index.head",
            bent(|envelope| (envelope.blocks_at, envelope.total) = (envelope.blocks_at + 68, envelope.total + 68)),
            "malformed",
        ),
    ]
}

fn head(bytes: &[u8]) -> Result<Envelope, BundleError> {
    match Envelope::read(bytes)? {
        BundleHead::Whole(envelope) => Ok(envelope),
        BundleHead::More(_) => panic!("a whole head"),
    }
}

#[test]
fn they_are_what_is_committed_and_what_is_said_of_them_is_said() {
    let mut list = Vec::new();
    for (name, bytes, wanted) in vectors() {
        let path = folder().join(name);
        if env::var_os("BLESS").is_some() {
            fs::write(&path, &bytes).unwrap();
        }
        assert!(fs::read(&path).unwrap() == bytes, "{name}: BLESS=1 cargo test --test it writes it");
        let said = match name.rsplit_once('.').unwrap().1 {
            "bundle" | "head" => head(&bytes).and_then(|head| roots().verify_release(&head)).map(drop),
            "channel" => {
                let read = update::trust::Signed::parse(&bytes, Purpose::Channel).unwrap();
                roots().verify_channel(&read.text, &read.signatures).map(drop)
            }
            _ if name.contains('1') => RootOfTrust::parse(&bytes).map(drop),
            _ => roots().accept(&bytes).map(drop),
        };
        assert_eq!(said.as_ref().map_or_else(BundleError::kind, |()| "good"), wanted, "{name}: {said:?}");
        list.push(json!({"file": name, "says": wanted}));
    }
    let list = format!("{:#}\n", json!({"now": NOW, "vectors": list}));
    let path = folder().join("vectors.json");
    if env::var_os("BLESS").is_some() {
        fs::write(&path, &list).unwrap();
    }
    assert_eq!(fs::read_to_string(&path).unwrap(), list);
}

#[test]
fn the_sound_bundle_holds_the_root_image() {
    let bundle = fs::read(folder().join("sound.bundle")).unwrap();
    let release = roots().verify_release(&head(&bundle).unwrap()).unwrap();
    let at = head(&bundle).unwrap();
    let index = release.index(bundle[at.index_at as usize..at.blocks_at as usize].to_vec()).unwrap();
    let mut whole = Vec::new();
    for n in index.range(update::bundle::ImageKind::Root) {
        let (block, mut raw) = (index.block(n), Vec::new());
        unpack(&block, &bundle[block.stored.start as usize..block.stored.end as usize], &mut raw).unwrap();
        whole.extend(raw);
    }
    assert!(whole == root_image());
}

#[test]
fn a_reader_in_python_made_by_the_document_says_the_same() {
    let read = Command::new("python3").arg(folder().join("read.py")).arg(folder()).output();
    let Ok(read) = read else { return eprintln!("no python3 here: the second reader did not run") };
    let said = String::from_utf8_lossy(&read.stdout);
    assert!(read.status.success(), "{said}{}", String::from_utf8_lossy(&read.stderr));
    let wanted: Value = serde_json::from_slice(&fs::read(folder().join("vectors.json")).unwrap()).unwrap();
    assert_eq!(said.lines().count(), wanted["vectors"].as_array().unwrap().len(), "{said}");
}
