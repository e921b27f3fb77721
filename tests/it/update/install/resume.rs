//! What is on the card already is not asked for again: zeros, unchanged blocks, those of the running slot, and those of an install that
//! was cut short.

use super::*;
use ::update::{bundle::ImageKind, disk::Event, install::NeededBlocks};

/// Root images that differ in some blocks only.
fn two_roots() -> (Vec<u8>, Vec<u8>) {
    let old = root(1);
    let mut new = old.clone();
    for block in [3, 17, 40] {
        new[block * BLOCK as usize + 100] ^= 0xff;
    }
    (old, new)
}

fn stored(bundle: &[u8], n: u32) -> Vec<u8> {
    let block = opened(bundle).1.block(n);
    bundle[block.stored.start as usize..block.stored.end as usize].to_vec()
}

#[test]
fn only_what_changed_is_asked_for_and_written() {
    let pi = Pi::new(SimulatedBootChain::Tryboot);
    let (old, new) = two_roots();
    let boot = boot("1.0.0");
    let bundle = a_bundle("2.0.0", 2, &boot, &new, &[11, 12]);
    pi.disk.take_events();
    let (armed, sent) = pi.install(&bundle);
    let armed = armed.unwrap();
    assert_eq!(sent.blocks, BTreeSet::from([3, 17, 40]));
    // The factory's slot B is as slot A: the rest of the root is there, and so is the boot image but for its head, which is kept.
    assert_eq!(armed.sent_bytes, 3 * u64::from(BLOCK));
    assert_eq!((armed.copied_bytes, armed.zeroed_bytes), (0, 0));
    let writes = pi.disk.take_events().into_iter().filter_map(|event| match event {
        Event::Write { area: Area::Root(Slot::B), at, bytes } => Some((at, bytes.len())),
        Event::Write { area: Area::Root(Slot::A) | Area::Boot(Slot::A), .. } => panic!("the running slot is written"),
        _ => None,
    });
    let block = u64::from(BLOCK);
    assert_eq!(writes.collect::<Vec<_>>(), [3, 17, 40].map(|n| (n * block, BLOCK as usize)));
    assert_eq!(pi.content(Area::Root(Slot::B))[..ROOT], new);
    assert_eq!(pi.content(Area::Root(Slot::A))[..ROOT], old);
}

#[test]
fn the_running_slot_gives_what_it_has() {
    let pi = Pi::new(SimulatedBootChain::Tryboot);
    let (_, new) = two_roots();
    // The target holds something else altogether.
    open(&pi.disk, Area::Root(Slot::B)).write(0, &an_image(ROOT, 77)).unwrap();
    let bundle = a_bundle("2.0.0", 2, &boot("1.0.0"), &new, &[11, 12]);
    let (armed, sent) = pi.install(&bundle);
    let armed = armed.unwrap();
    assert_eq!(sent.blocks, BTreeSet::from([3, 17, 40]));
    assert!(armed.copied_bytes > armed.sent_bytes, "{armed:?}");
    assert_eq!(pi.content(Area::Root(Slot::B))[..ROOT], new);
}

#[test]
fn zeros_are_neither_sent_nor_written_where_there_are_zeros() {
    let pi = Pi::new(SimulatedBootChain::Tryboot);
    let mut new = vec![0; ROOT];
    new[..BLOCK as usize].fill(7);
    let bundle = a_bundle("2.0.0", 2, &boot("1.0.0"), &new, &[11, 12]);
    let half = ROOT / 2;
    open(&pi.disk, Area::Root(Slot::B)).write(half as u64, &vec![0; half]).unwrap();
    pi.disk.take_events();
    let (armed, sent) = pi.install(&bundle);
    assert_eq!(sent.blocks, BTreeSet::from([0]));
    assert_eq!(armed.unwrap().zeroed_bytes, (half - BLOCK as usize) as u64);
    let touched = |event: &Event| matches!(event, Event::Write { area: Area::Root(_), at, .. } if *at >= half as u64);
    assert!(!pi.disk.take_events().iter().any(touched), "zeros were there already");
    assert_eq!(pi.content(Area::Root(Slot::B))[..ROOT], new);
}

#[test]
fn an_interrupted_install_asks_for_no_finished_block_again() {
    let bundle = bundle("2.0.0", 2, 2);
    let first = Pi::new(SimulatedBootChain::Tryboot).engine(&bundle).unwrap().wanted();
    let root_blocks = opened(&bundle).1.range(ImageKind::Root);
    for cut in [1, first.count() / 2, first.count() - 1] {
        let pi = Pi::new(SimulatedBootChain::Tryboot);
        let mut engine = pi.engine(&bundle).unwrap();
        let sent: Vec<u32> = first.iter().take(cut as usize).collect();
        for n in &sent {
            engine.block(*n, &stored(&bundle, *n)).unwrap();
        }
        engine.pause().unwrap();
        // The machine restarts meanwhile: the old system runs, since nothing starts from the other slot.
        assert_eq!(pi.start(ResetCause::PowerOn).standing, BootState::Interrupted);
        assert_eq!(pi.running(), Some(Slot::A));
        let again = pi.engine(&bundle).unwrap().wanted();
        // The head is kept in memory until the end: it is the one thing that has to come again.
        let asked_twice: Vec<u32> = again.iter().filter(|n| sent.contains(n) && root_blocks.contains(n)).collect();
        assert_eq!(asked_twice, Vec::<u32>::new(), "after {cut}");
        let (armed, _) = pi.install(&bundle);
        armed.unwrap();
        assert_eq!(pi.content(Area::Root(Slot::B))[..ROOT], root(2));
        assert_eq!(pi.state().installs_ms.len(), 1, "going on is not another install");
    }
}

#[test]
fn a_copy_that_rots_between_comparison_and_copying_is_asked_of_the_server() {
    let pi = Pi::new(SimulatedBootChain::Tryboot);
    let (_, new) = two_roots();
    open(&pi.disk, Area::Root(Slot::B)).write(0, &an_image(ROOT, 77)).unwrap();
    let bundle = a_bundle("2.0.0", 2, &boot("1.0.0"), &new, &[11, 12]);
    let mut engine = pi.engine(&bundle).unwrap();
    let rotten = 20;
    assert!(!engine.wanted().contains(rotten));
    open(&pi.disk, Area::Root(Slot::A)).write(u64::from(rotten * BLOCK), b"bit rot").unwrap();
    let wanted: Vec<u32> = engine.wanted().iter().collect();
    for n in wanted {
        engine.block(n, &stored(&bundle, n)).unwrap();
    }
    let Finish::More(more) = engine.finish().unwrap() else { panic!("the rotten block went unnoticed") };
    assert_eq!(more.iter().collect::<Vec<_>>(), [rotten]);
    engine.block(rotten, &stored(&bundle, rotten)).unwrap();
    assert!(matches!(engine.finish().unwrap(), Finish::Armed(_)));
    assert_eq!(pi.content(Area::Root(Slot::B))[..ROOT], new);
}

#[test]
fn bit_rot_before_the_comparison_only_makes_the_delta_larger() {
    let pi = Pi::new(SimulatedBootChain::Tryboot);
    let (_, new) = two_roots();
    open(&pi.disk, Area::Root(Slot::B)).write(0, &an_image(ROOT, 77)).unwrap();
    open(&pi.disk, Area::Root(Slot::A)).write(u64::from(20 * BLOCK) + 9, b"bit rot").unwrap();
    let bundle = a_bundle("2.0.0", 2, &boot("1.0.0"), &new, &[11, 12]);
    let (armed, sent) = pi.install(&bundle);
    armed.unwrap();
    assert_eq!(sent.blocks, BTreeSet::from([3, 17, 20, 40]));
    assert_eq!(pi.content(Area::Root(Slot::B))[..ROOT], new);
}

#[test]
fn a_server_that_never_sends_what_is_missing_is_given_up() {
    let pi = Pi::new(SimulatedBootChain::Tryboot);
    let bundle = bundle("2.0.0", 2, 2);
    let mut engine = pi.engine(&bundle).unwrap();
    let all = engine.wanted();
    for _ in 0..3 {
        let Finish::More(more) = engine.finish().unwrap() else { panic!("armed without its blocks") };
        assert_eq!(more, all);
    }
    let error = engine.finish().unwrap_err();
    assert!(error.message.contains("missing"), "{error}");
    assert_eq!(pi.start(ResetCause::PowerOn).standing, BootState::Interrupted);
    assert_eq!(pi.running(), Some(Slot::A));
    let none: NeededBlocks = NeededBlocks::none(3);
    assert!(none.is_empty());
}
