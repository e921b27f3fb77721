//! One update, end to end: a bundle's bytes, the engine, the armed slot, the firmware, the trial, the commit.

use super::*;
use ::update::{
    bundle::{BundleContent, tree},
    status::{Phase, SlotState},
};

#[test]
fn from_the_bytes_of_a_bundle_to_a_committed_slot() {
    for chain in [SimulatedBootChain::Tryboot, SimulatedBootChain::Uboot] {
        let pi = Pi::new(chain);
        pi.start(ResetCause::PowerOn);
        assert_eq!(pi.running(), Some(Slot::A), "{chain:?}");
        let bundle = bundle("2.0.0", 2, 2);

        let (armed, sent) = pi.install(&bundle);
        let armed = armed.unwrap();
        assert_eq!((armed.target, armed.version.as_str()), (Slot::B, "2.0.0"));
        assert_eq!(armed.sent_bytes + armed.copied_bytes + armed.zeroed_bytes + armed.kept_bytes, armed.total_bytes);
        assert!(!sent.blocks.is_empty());
        assert_eq!(pi.content(Area::Boot(Slot::B))[..BOOT], boot("2.0.0"));
        assert_eq!(pi.content(Area::Root(Slot::B))[..ROOT], root(2));
        assert_eq!(pi.state().slots.of(Slot::B).state, SlotState::Armed);

        let settled = pi.restart(true);
        assert_eq!(pi.running(), Some(Slot::B), "{chain:?}: {:?}", pi.flow.evidence());
        pi.commit(&settled);
        let state = pi.state();
        assert_eq!((state.counter_floor, &state.update), (2, &None), "{chain:?}");
        assert_eq!(state.last_attempt.unwrap().phase, Phase::Committed);
        assert_eq!(state.slots.of(Slot::B).state, SlotState::Good);

        // From now on without a trial, and after a power cut as well.
        for why in [ResetCause::Watchdog, ResetCause::PowerOn] {
            assert_eq!(pi.start(why).standing, BootState::Normal, "{chain:?}");
            assert_eq!(pi.running(), Some(Slot::B), "{chain:?}");
        }
    }
}

#[test]
fn a_trial_that_does_not_prove_itself_is_over_with_the_next_restart() {
    for chain in [SimulatedBootChain::Tryboot, SimulatedBootChain::Uboot] {
        let pi = Pi::new(chain);
        pi.start(ResetCause::PowerOn);
        pi.install(&bundle("2.0.0", 2, 2)).0.unwrap();
        assert!(matches!(pi.restart(true).standing, BootState::Trial(_)), "{chain:?}");
        pi.start(ResetCause::Watchdog);
        assert_eq!(pi.running(), Some(Slot::A), "{chain:?}");
        assert_eq!(pi.state().counter_floor, 0, "a failed trial raises no floor");
    }
}

#[test]
fn blocks_that_moved_are_found_in_the_running_slot() {
    let pi = Pi::new(SimulatedBootChain::Uboot);
    pi.start(ResetCause::PowerOn);
    // A file at the front grew by a block: all after it are one place further.
    let moved = [an_image(BLOCK as usize, 9), root(1)[..ROOT - BLOCK as usize].to_vec()].concat();
    let bundle = a_bundle("2.0.0", 2, &boot("1.0.0"), &moved, &[11, 12]);
    let (armed, sent) = pi.install(&bundle);
    armed.unwrap();
    assert_eq!(sent.blocks.into_iter().collect::<Vec<_>>(), [0], "the new block, and no other");
    assert_eq!(pi.content(Area::Root(Slot::B))[..ROOT], moved);
}

/// The root of version 2, all of it new, in blocks as small as those of its hash tree.
fn bundle_of(root: &[u8]) -> Vec<u8> {
    let plan = BundleContent { block_size: tree::BLOCK as u32, ..a_plan("2.0.0", 2) };
    a_bundle_of(&plan, &boot("1.0.0"), root, &[11, 12])
}

#[test]
fn the_hash_tree_of_the_root_is_computed_and_not_sent() {
    let pi = Pi::new(SimulatedBootChain::Uboot);
    pi.start(ResetCause::PowerOn);
    let root = with_tree(&root(2), ROOT);
    let (armed, sent) = pi.install(&bundle_of(&root));
    let armed = armed.unwrap();
    let first = (tree::HashTreeLayout::of(ROOT as u64).unwrap().data / tree::BLOCK as u64) as u32;
    assert!(sent.blocks.iter().all(|n| *n < first), "{:?}", sent.blocks);
    assert_eq!(pi.content(Area::Root(Slot::B))[..ROOT], root);
    assert_eq!(armed.sent_bytes + armed.copied_bytes + armed.zeroed_bytes + armed.kept_bytes, armed.total_bytes);
}

#[test]
fn what_is_no_hash_tree_where_one_could_be_is_sent_after_the_rest() {
    // As long as one with a tree, and one with the tree of other data; of the latter the first level is the same nowhere.
    let other = [&root(2)[..ROOT - 3 * tree::BLOCK], &with_tree(&root(3), ROOT)[ROOT - 3 * tree::BLOCK..]].concat();
    for root in [an_image(ROOT, 4), other] {
        let pi = Pi::new(SimulatedBootChain::Uboot);
        pi.start(ResetCause::PowerOn);
        let bundle = bundle_of(&root);
        let first = (tree::HashTreeLayout::of(ROOT as u64).unwrap().data / tree::BLOCK as u64) as u32;
        let wanted = pi.engine(&bundle).unwrap().wanted();
        assert!(wanted.iter().all(|n| n < first));
        let (armed, sent) = pi.install(&bundle);
        armed.unwrap();
        assert!(sent.blocks.contains(&(first + 1)), "{:?}", sent.blocks);
        assert_eq!(pi.content(Area::Root(Slot::B))[..ROOT], root);
    }
}

#[test]
fn an_install_that_ended_before_its_tree_asks_for_nothing_again() {
    let pi = Pi::new(SimulatedBootChain::Uboot);
    pi.start(ResetCause::PowerOn);
    let root = with_tree(&root(2), ROOT);
    let (bundle, mut engine) = (bundle_of(&root), pi.engine(&bundle_of(&root)).unwrap());
    let index = opened(&bundle).1;
    for n in engine.wanted().iter() {
        let stored = index.block(n).stored;
        engine.block(n, &bundle[stored.start as usize..stored.end as usize]).unwrap();
    }
    engine.pause().unwrap();
    let (armed, sent) = pi.install(&bundle);
    armed.unwrap();
    assert_eq!(sent.blocks, BTreeSet::new());
    assert_eq!(pi.content(Area::Root(Slot::B))[..ROOT], root);
}
