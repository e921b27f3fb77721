//! Any bytes as a bundle: never a panic, a hang or memory beyond its bounds, and nothing is believed that was not signed.
//!
//! Input: the first byte says what the rest is. Hashes and signatures are made here where they stand in the way, so that what is behind
//! them is reached: an attacker who has the keys, or a signer whose tools are bent.

#![no_main]

use libfuzzer_sys::fuzz_target;
use update::{bundle::{Block, BundleHead, Digest, Envelope, ImageKind, MAX_HEAD, MAX_INDEX, MAX_MANIFEST, Manifest, check_boot, unpack}, trust::{KeyRole, Purpose, RootFile, RootOfTrust, SecretKey, Signed}};

thread_local! {
    static KEYS: [SecretKey; 2] = [7, 8].map(key);
    static ROOTS: RootOfTrust = roots();
}

/// A test key, known to everybody.
fn key(number: u8) -> SecretKey {
    let mut der = vec![0x30, 0x2e, 2, 1, 0, 0x30, 5, 6, 3, 0x2b, 0x65, 0x70, 4, 0x22, 4, 0x20];
    der.extend_from_slice(&[number; 32]);
    SecretKey::from_pkcs8(&der).expect("a key")
}

fn roots() -> RootOfTrust {
    let [release, channel] = [7, 8].map(key);
    let role = |key: &SecretKey| KeyRole { keys: vec![key.public().id()], threshold: 1 };
    let file = RootFile {
        format: 1,
        product: "test-appliance".into(),
        version: 1,
        created: 0,
        expires: 1,
        keys: vec![release.public(), channel.public()],
        root: role(&release),
        release: role(&release),
        channel: role(&channel),
    };
    let text = serde_json::to_vec(&file).expect("JSON");
    let signatures = vec![release.sign(Purpose::Root, &text)];
    RootOfTrust::parse(&Signed { purpose: Purpose::Root, signatures, text }.encode()).expect("a root of trust")
}

/// The bytes as they are: nobody signed them.
fn head(bytes: &[u8]) {
    match Envelope::read(bytes) {
        Ok(BundleHead::More(wanted)) => assert!(wanted > bytes.len() && wanted <= MAX_HEAD),
        Ok(BundleHead::Whole(envelope)) => {
            assert!(envelope.total >= envelope.blocks_at && envelope.index_size() <= MAX_INDEX as u64);
            let written = envelope.encode().expect("what was read can be written");
            assert_eq!(written, bytes[..written.len()], "one spelling");
            ROOTS.with(|roots| assert!(roots.verify_release(&envelope).is_err(), "nobody signed it"));
        }
        Err(_) => {}
    }
}

/// A manifest and an index that are signed, whatever they are: two lengths, then both.
fn release(bytes: &[u8]) {
    let Some((cut, rest)) = bytes.split_first_chunk::<2>() else { return };
    let (manifest, index) = rest.split_at(usize::from(u16::from_le_bytes(*cut)).min(rest.len()));
    // Its hash and length are put where the index's are, if it is a manifest that has them.
    let mut manifest = manifest.to_vec();
    if let Ok(mut parsed) = serde_json::from_slice::<Manifest>(&manifest) {
        (parsed.index.sha256, parsed.index.size) = (Digest::of(index), index.len() as u64);
        manifest = serde_json::to_vec(&parsed).expect("JSON");
    }
    let blocks = index.chunks(68).filter_map(|entry| entry.first_chunk::<4>()).map(|length| u64::from(u32::from_le_bytes(*length)));
    let Ok(mut envelope) = Envelope::new(manifest, index.len() as u64, blocks.sum()) else { return };
    envelope.signatures = vec![KEYS.with(|keys| keys[0].sign(Purpose::Release, &envelope.manifest))];
    let Ok(release) = ROOTS.with(|roots| roots.verify_release(&envelope)) else { return };
    assert!(envelope.manifest.len() <= MAX_MANIFEST);
    release.manifest.check().expect("what was verified was checked");
    let Ok(index) = release.index(index.to_vec()) else { return };
    let mut place = envelope.blocks_at;
    for block in index.blocks() {
        assert_eq!(block.stored.start, place);
        assert!(block.size <= 1 << 20 && block.stored.end - block.stored.start <= u64::from(block.size) + 48);
        place = block.stored.end;
    }
    assert_eq!(place, envelope.total);
}

/// A stored block whose hash is right.
fn block(bytes: &[u8]) {
    let Some((size, stored)) = bytes.split_first_chunk::<2>() else { return };
    let size = u32::from(u16::from_le_bytes(*size)) + 1;
    let block = Block {
        image: ImageKind::Root,
        at: 0,
        size,
        stored: 0..stored.len() as u64,
        stored_sha256: Digest::of(stored),
        sha256: Digest([0; 32]),
        zero: false,
    };
    let mut raw = Vec::new();
    assert!(unpack(&block, stored, &mut raw).is_err(), "no bytes have the SHA-256 of zeros");
    assert!(raw.is_empty() && raw.capacity() <= 1 << 17);
}

/// The bytes as a boot image, repeated to `size`.
fn boot(bytes: &[u8]) {
    let Some((size, bytes)) = bytes.split_first_chunk::<2>() else { return };
    let size = u64::from(u16::from_le_bytes(*size)) * 512;
    let mut reads = 0;
    let _ = check_boot(size, &mut |at, into| {
        reads += 1;
        assert!(at % 4096 == 0 && at + into.len() as u64 <= size);
        into.fill(0);
        if let Some(there) = usize::try_from(at).ok().and_then(|at| bytes.get(at..)) {
            let length = there.len().min(into.len());
            into[..length].copy_from_slice(&there[..length]);
        }
        Ok(())
    });
    assert!(reads <= 400_000, "{reads} pages read");
}

fuzz_target!(|input: &[u8]| {
    let Some((kind, rest)) = input.split_first() else { return };
    match kind % 5 {
        0 => head(rest),
        1 => release(rest),
        2 => block(rest),
        3 => boot(rest),
        _ => {
            // What is its own witness may be a first root; nothing follows ours but what its key has signed.
            if let Ok(first) = RootOfTrust::parse(rest) {
                first.file().check().expect("what was taken was checked");
            }
            ROOTS.with(|roots| {
                assert!(roots.accept(rest).is_err());
                let signatures = vec![KEYS.with(|keys| keys[0].sign(Purpose::Root, rest))];
                let next = Signed { purpose: Purpose::Root, signatures, text: rest.to_vec() };
                if let Ok(next) = roots.accept(&next.encode()) {
                    assert_eq!(next.version(), 2);
                }
            });
            let _ = Manifest::parse(rest);
        }
    }
});
