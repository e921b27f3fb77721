//! Steps 1 and 2 of notes, row by row: what is refused before anything is written, each with its reason.

use super::*;
use ::update::{
    bundle::BundleContent,
    disk::{Access, BlockDevice},
};
use base::error::ErrorCode;

fn made(change: impl FnOnce(&mut BundleContent)) -> Vec<u8> {
    let mut plan = a_plan("2.0.0", 2);
    change(&mut plan);
    a_bundle_of(&plan, &boot("2.0.0"), &root(2), &[11, 12])
}

fn refused(pi: &Pi, bundle: &[u8], words: &str) -> ToolError {
    pi.disk.take_events();
    let error = pi.judge(bundle).unwrap_err();
    assert!(error.message.contains(words), "{words}: {error}");
    assert!(error.hint.is_some(), "{error:?}");
    assert_eq!(pi.disk.take_events(), [], "a refusal writes nothing");
    error
}

#[test]
fn row_2_what_is_for_another_machine() {
    let pi = Pi::new(SimulatedBootChain::Tryboot);
    let other_product = MachineFacts { product: "another".into(), ..pi.about.clone() };
    let cases: [(&str, Vec<u8>); 3] = [
        ("hardware", made(|plan| plan.hardware = vec!["raspberrypi,5-model-b".into()])),
        ("layout", made(|plan| plan.layout = "gpt-ab-1".into())),
        ("channel", made(|plan| plan.channel = "beta".into())),
    ];
    for (words, bundle) in cases {
        assert_eq!(refused(&pi, &bundle, words).code, ErrorCode::FailedPrecondition);
    }
    let pi = Pi { about: other_product, ..pi };
    refused(&pi, &made(|_| {}), "product");
}

#[test]
fn row_2_the_bootloader_has_to_be_new_enough() {
    let bundle = made(|plan| plan.min_eeprom = Some(NOW));
    let pi = Pi::new(SimulatedBootChain::Tryboot);
    let with = |built, has_eeprom| Pi {
        about: MachineFacts { bootloader_built: built, has_eeprom, ..pi.about.clone() },
        ..Pi::new(SimulatedBootChain::Tryboot)
    };
    refused(&with(Some(NOW - 1), true), &bundle, "needs a bootloader");
    refused(&with(None, true), &bundle, "does not tell its own");
    with(Some(NOW), true).judge(&bundle).unwrap();
    // No EEPROM, nothing to be too old.
    with(None, false).judge(&bundle).unwrap();
}

#[test]
fn row_2_counters_only_rise_and_name_one_image() {
    let pi = Pi::new(SimulatedBootChain::Tryboot);
    pi.start(ResetCause::PowerOn);
    pi.install(&bundle("5.0.0", 5, 5)).0.unwrap();
    let settled = pi.restart(true);
    pi.commit(&settled);
    assert_eq!(refused(&pi, &bundle("4.0.0", 4, 4), "floor is 5").details["counter_floor"], 5);
    let other = refused(&pi, &bundle("5.0.0", 5, 55), "that of another image");
    assert_eq!(other.code, ErrorCode::VerificationFailed);
    // The floor of a card that lost its records is the running image's own.
    let mut record = pi.record();
    record.running_counter = Some(9);
    let head = envelope(&bundle("6.0.0", 6, 6)).encode().unwrap();
    let error = judge::judge(&head, &roots(), &pi.about, &record, pi.reckoned(NOW as i64, true)).unwrap_err();
    assert!(error.message.contains("floor is 9"), "{error}");
}

#[test]
fn row_2_time_is_what_was_verified_and_never_the_clock_alone() {
    let soon = made(|plan| plan.expires = NOW + 1000);
    let late = made(|plan| (plan.created, plan.expires) = (NOW - 5000, NOW - 1000));
    let judged = |clock: u64, synchronised: bool, bundle: &[u8]| {
        let pi = Pi::new(SimulatedBootChain::Tryboot);
        let now = pi.reckoned(clock as i64, synchronised);
        judge::judge(&envelope(bundle).encode().unwrap(), &roots(), &pi.about, &pi.record(), now)
    };
    judged(NOW, true, &soon).unwrap();
    judged(NOW + 2000, true, &soon).unwrap_err();
    // 1970, 2099, and a clock that nobody set: the floor decides, and it is said that freshness is unknown.
    for (clock, synchronised) in [(0, true), (4_070_908_800, true), (NOW + 2000, false)] {
        let verdict = judged(clock, synchronised, &soon).unwrap();
        assert!(verdict.notes[0].contains("freshness is unknown"), "{:?}", verdict.notes);
        assert!(judged(clock, synchronised, &late).unwrap_err().message.contains("not to be installed after"));
    }
}

#[test]
fn row_2_what_was_made_in_the_future_is_refused_and_a_clock_that_nobody_set_holds_nothing_up() {
    const DAY: u64 = 86_400;
    let made_at = |created: u64| made(|plan| (plan.created, plan.expires) = (created, created + 1000 * DAY));
    let judged = |clock: u64, synchronised: bool, created: u64| {
        let pi = Pi::new(SimulatedBootChain::Tryboot);
        let now = pi.reckoned(clock as i64, synchronised);
        let head = envelope(&made_at(created)).encode().unwrap();
        judge::judge(&head, &roots(), &pi.about, &pi.record(), now).map(drop)
    };
    judged(NOW, true, NOW + DAY).unwrap();
    for created in [NOW + DAY + 1, NOW + 400 * DAY, 4_070_908_800] {
        let error = judged(NOW, true, created).unwrap_err();
        assert!(error.code == ErrorCode::FailedPrecondition && error.message.contains("was made at"), "{error}");
        assert!(error.hint.is_some());
    }
    // 1970, 2099, and a clock that nobody set: releases after the running one are all there is to tell the time by. Ten years.
    for (clock, synchronised) in [(0, true), (4_070_908_800, true), (NOW + DAY, false)] {
        judged(clock, synchronised, NOW + 400 * DAY).unwrap();
        judged(clock, synchronised, NOW + 3660 * DAY).unwrap_err();
    }
}

#[test]
fn an_image_that_is_not_the_one_that_was_signed_is_never_armed_though_every_block_is() {
    use ::update::bundle::{Digest, Envelope, Manifest};
    for image in [0, 1] {
        let pi = Pi::new(SimulatedBootChain::Tryboot);
        pi.start(ResetCause::PowerOn);
        let good = bundle("2.0.0", 2, 2);
        let head = envelope(&good);
        let mut manifest: Manifest = serde_json::from_slice(&head.manifest).unwrap();
        manifest.images[image].sha256 = Digest::of(b"another image");
        let blocks = good.len() as u64 - head.blocks_at;
        let text = serde_json::to_vec(&manifest).unwrap();
        let mut forged = Envelope::new(text, head.blocks_at - head.index_at, blocks).unwrap();
        for key in [11, 12] {
            update::trust::sign(&mut forged, &a_key(key)).unwrap();
        }
        let bad = [forged.encode().unwrap(), good[head.index_at as usize..].to_vec()].concat();
        let error = pi.install(&bad).0.unwrap_err();
        assert_eq!(error.code, ErrorCode::VerificationFailed, "{error}");
        assert!(error.message.contains(["root image", "boot image"][image]), "{error}");
        assert_eq!(pi.content(Area::Boot(Slot::B))[..512], [0; 512]);
        // A mended one goes in after it.
        pi.install(&bundle("2.0.1", 3, 2)).0.unwrap();
    }
}

#[test]
fn row_2_signatures_below_the_threshold() {
    let pi = Pi::new(SimulatedBootChain::Tryboot);
    let (boot, root) = (boot("2.0.0"), root(2));
    for keys in [&[][..], &[11], &[21, 22], &[1, 2, 3], &[99, 98]] {
        let bundle = a_bundle("2.0.0", 2, &boot, &root, keys);
        assert_eq!(refused(&pi, &bundle, "signed by").code, ErrorCode::VerificationFailed);
    }
    let mut flipped = bundle("2.0.0", 2, 2);
    let length = envelope(&flipped).manifest.len();
    flipped[32 + length + 40] ^= 1;
    assert!(matches!(pi.judge(&flipped).unwrap_err().code, ErrorCode::VerificationFailed));
}

#[test]
fn row_1_the_target_is_the_slot_that_does_not_run_and_nobody_elses() {
    let bundle = bundle("2.0.0", 2, 2);
    let pi = Pi::new(SimulatedBootChain::Tryboot);
    assert_eq!(pi.judge(&bundle).unwrap().target, Slot::B);

    /// A card whose target somebody else has.
    struct Held(MemoryDisk);
    impl Disk for Held {
        fn open(&self, area: Area, access: Access) -> Result<Box<dyn BlockDevice>, ToolError> {
            match (area, access) {
                (Area::Root(Slot::B), Access::Exclusive) => {
                    Err(ToolError::new(ErrorCode::Conflict, "root B is mounted at /media/pi").hint("unmount it"))
                }
                _ => self.0.open(area, access),
            }
        }
    }
    let site = InstallSite { disk: Arc::new(Held(pi.disk.clone())), ..pi.site() };
    let (release, index) = opened(&bundle);
    let error = InstallEngine::prepare(site, release, index, Slot::B).err().unwrap();
    assert!(error.message.contains("/media/pi"), "{error}");
    assert_eq!(pi.disk.take_events(), []);
}

#[test]
fn rule_16_only_so_many_installs_a_day() {
    let pi = Pi {
        limits: UpdateLimits { installs_a_day: 2, ..UpdateLimits::default() },
        ..Pi::new(SimulatedBootChain::Tryboot)
    };
    for number in 2..4u64 {
        pi.install(&bundle(&format!("{number}.0.0"), number, number)).0.unwrap();
        pi.now_ms.fetch_add(1000, Ordering::SeqCst);
    }
    let error = refused(&pi, &bundle("4.0.0", 4, 4), "allows 2 installs a day");
    assert_eq!(error.code, ErrorCode::ResourceExhausted);
    // Going on with one is not another: it is armed, and refused for that instead.
    refused(&pi, &bundle("3.0.0", 3, 3), "waits for a restart");
    pi.now_ms.fetch_add(25 * 3_600_000, Ordering::SeqCst);
    pi.judge(&bundle("4.0.0", 4, 4)).unwrap();
}

#[test]
fn no_install_while_a_trial_is_uncommitted() {
    let pi = Pi::new(SimulatedBootChain::Tryboot);
    pi.start(ResetCause::PowerOn);
    pi.install(&bundle("2.0.0", 2, 2)).0.unwrap();
    let settled = pi.restart(true);
    refused(&pi, &bundle("3.0.0", 3, 3), "");
    pi.commit(&settled);
    assert_eq!(pi.judge(&bundle("3.0.0", 3, 3)).unwrap().target, Slot::A);
}

#[test]
fn another_release_replaces_one_that_is_armed_and_the_chain_forgets_it_first() {
    for chain in [SimulatedBootChain::Tryboot, SimulatedBootChain::Uboot] {
        let pi = Pi::new(chain);
        pi.start(ResetCause::PowerOn);
        pi.install(&bundle("2.0.0", 2, 2)).0.unwrap();
        let next = bundle("3.0.0", 3, 3);
        let mut engine = pi.engine(&next).unwrap();
        let n = engine.wanted().iter().next().unwrap();
        let block = opened(&next).1.block(n);
        engine.block(n, &next[block.stored.start as usize..block.stored.end as usize]).unwrap();
        engine.pause().unwrap();
        // Whatever restarts it now: the half of version 3 is not tried.
        pi.start(ResetCause::Watchdog);
        assert_eq!(pi.running(), Some(Slot::A), "{chain:?}");
        pi.install(&next).0.unwrap();
        pi.restart(true);
        assert_eq!(pi.running(), Some(Slot::B), "{chain:?}");
        assert_eq!(pi.content(Area::Root(Slot::B))[..ROOT], root(3));
    }
}

#[test]
fn rule_14_a_boot_image_that_would_flash_the_board_is_never_armed() {
    // Built by somebody else: our builder refuses it, so the name is put into the finished image.
    let mut image =
        a_boot(BOOT.max(4 << 20), &[("RECOVERX.BIN", b"not a bootloader"), ("config.txt", b"arm_64bit=1\n")]);
    let names: Vec<usize> = (0..image.len() - 11).filter(|at| &image[*at..at + 11] == b"RECOVERXBIN").collect();
    assert!(!names.is_empty());
    let areas = simulated::areas(image.len() as u64, ROOT as u64).map(|(area, size)| (area, size as usize));
    let (disk, layout) = (MemoryDisk::new(areas), Layout::shipped().unwrap());
    simulated::factory(&disk, &layout, &simulated::boot_image(image.len(), "1.0.0").unwrap(), &root(1)).unwrap();
    let pi = Pi::on(disk, SimulatedBootChain::Tryboot);
    let good = a_bundle("2.0.0", 2, &image, &root(2), &[11, 12]);
    names.iter().for_each(|at| image[*at..at + 11].copy_from_slice(b"RECOVERYBIN"));
    let bad = forged(&good, &image);
    let (armed, _) = pi.install(&bad);
    let error = armed.unwrap_err();
    assert_eq!(error.code, ErrorCode::VerificationFailed, "{error}");
    assert!(error.message.to_lowercase().contains("recovery.bin"), "{error}");
    assert_eq!(pi.content(Area::Boot(Slot::B))[..512], [0; 512]);
}

/// A bundle with another boot image than the builder was given, signed all the same: whoever has the keys can build what ours does not.
fn forged(good: &[u8], boot: &[u8]) -> Vec<u8> {
    use ::update::bundle::{Digest, ENTRY, Envelope, ImageKind, Manifest};
    let head = envelope(good);
    let index = opened(good).1;
    let (mut entries, mut blocks) = (Vec::new(), Vec::new());
    for (n, block) in (0..).zip(index.blocks()) {
        let entry = &index.as_bytes()[n * ENTRY..(n + 1) * ENTRY];
        let stored = &good[block.stored.start as usize..block.stored.end as usize];
        let raw = &boot[(block.at as usize).min(boot.len())..(block.at as usize + block.size as usize).min(boot.len())];
        if block.image == ImageKind::Root || Digest::of(raw) == block.sha256 {
            entries.extend_from_slice(entry);
            blocks.extend_from_slice(stored);
            continue;
        }
        let packed = packed(raw);
        entries.extend_from_slice(&(packed.len() as u32).to_le_bytes());
        entries.extend_from_slice(&Digest::of(&packed).0);
        entries.extend_from_slice(&Digest::of(raw).0);
        blocks.extend_from_slice(&packed);
    }
    let mut manifest: Manifest = serde_json::from_slice(&head.manifest).unwrap();
    manifest.index.sha256 = Digest::of(&entries);
    let image = manifest.images.iter_mut().find(|image| image.kind == ImageKind::Boot).unwrap();
    image.sha256 = Digest::of(boot);
    let text = serde_json::to_vec(&manifest).unwrap();
    let mut envelope = Envelope::new(text, entries.len() as u64, blocks.len() as u64).unwrap();
    for key in [11, 12] {
        update::trust::sign(&mut envelope, &a_key(key)).unwrap();
    }
    [envelope.encode().unwrap(), entries, blocks].concat()
}

/// One frame of one segment, of raw blocks (RFC 8878): what any zstd makes of what it cannot compress.
fn packed(raw: &[u8]) -> Vec<u8> {
    let mut frame = vec![0x28, 0xb5, 0x2f, 0xfd, 0b1010_0000];
    frame.extend_from_slice(&(raw.len() as u32).to_le_bytes());
    frame.extend_from_slice(&((raw.len() as u32) << 3 | 1).to_le_bytes()[..3]);
    frame.extend_from_slice(raw);
    frame
}
