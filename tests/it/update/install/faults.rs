//! What goes wrong: explained, and never with the running slot. One write after the other fails; the card lies; the bundle is bad.

use super::*;
use ::update::{
    disk::{Access, BlockDevice, Event},
    status::{Phase, SlotState},
};
use base::error::ErrorCode;
use std::io;

fn is_untouched(pi: &Pi) {
    let touched = |event: &Event| matches!(event, Event::Write { area: Area::Root(Slot::A) | Area::Boot(Slot::A), .. });
    assert!(!pi.disk.take_events().iter().any(touched), "the running slot was written");
    pi.disk.fail_after(usize::MAX, io::ErrorKind::Other);
    pi.start(ResetCause::PowerOn);
    assert_eq!(pi.running(), Some(Slot::A));
}

/// The old slot runs; or the new one, whole and on trial: the write that failed was one of telling the boot chain, and had come through.
fn is_alive(pi: &Pi) -> bool {
    let touched = |event: &Event| matches!(event, Event::Write { area: Area::Root(Slot::A) | Area::Boot(Slot::A), .. });
    assert!(!pi.disk.take_events().iter().any(touched), "the running slot was written");
    pi.disk.fail_after(usize::MAX, io::ErrorKind::Other);
    let standing = pi.start(ResetCause::PowerOn).standing;
    if pi.running() == Some(Slot::A) {
        return false;
    }
    assert!(matches!(standing, BootState::Trial(_)), "{standing:?}");
    assert_eq!(pi.content(Area::Root(Slot::B))[..ROOT], root(2));
    assert_eq!(pi.content(Area::Boot(Slot::B)), boot("2.0.0"));
    true
}

#[test]
fn every_write_that_fails_is_explained_and_never_bricks() {
    let bundle = bundle("2.0.0", 2, 2);
    for (chain, kind) in
        [(SimulatedBootChain::Tryboot, io::ErrorKind::StorageFull), (SimulatedBootChain::Uboot, io::ErrorKind::Other)]
    {
        let mut writes = 0;
        loop {
            let pi = Pi::new(chain);
            pi.start(ResetCause::PowerOn);
            pi.disk.take_events();
            pi.disk.fail_after(writes, kind);
            let (result, _) = pi.install(&bundle);
            let Err(error) = result else { break };
            assert!(!error.message.is_empty() && error.hint.is_some(), "{error:?}");
            let tried = is_alive(&pi);
            // The card is well again: it goes on.
            if writes % 7 == 0 && !tried {
                match pi.install(&bundle).0 {
                    Ok(_) => {}
                    Err(error) => assert!(error.message.contains("waits for a restart"), "{error}"),
                }
                assert_eq!(pi.content(Area::Root(Slot::B))[..ROOT], root(2), "{writes} writes, {kind:?}");
            }
            writes += 1;
        }
        assert!(writes > 60, "only {writes} writes");
    }
}

#[test]
fn blocks_that_are_not_the_signed_ones_change_nothing() {
    let pi = Pi::new(SimulatedBootChain::Tryboot);
    let bundle = bundle("2.0.0", 2, 2);
    let before = pi.disk.content();
    let mut engine = pi.engine(&bundle).unwrap();
    let n = engine.wanted().iter().next().unwrap();
    let block = opened(&bundle).1.block(n);
    let good = bundle[block.stored.start as usize..block.stored.end as usize].to_vec();
    let mut flipped = good.clone();
    flipped[good.len() / 2] ^= 1;
    for bad in [&flipped[..], &good[1..], &[], &[good.clone(), vec![0]].concat()] {
        let error = engine.block(n, bad).unwrap_err();
        assert_eq!(error.code, ErrorCode::VerificationFailed, "{error}");
    }
    assert_eq!(engine.block(u32::MAX, &good).unwrap_err().code, ErrorCode::InvalidArgument);
    assert_eq!(pi.disk.content(), before);
    assert_eq!(pi.disk.take_events(), [], "bad input changes nothing");
    // A block that nobody asked for is passed over.
    let other = (0..opened(&bundle).1.len()).find(|n| !engine.wanted().contains(*n)).unwrap();
    engine.block(other, b"anything").unwrap();
    assert_eq!(pi.disk.take_events(), []);
}

/// A card that takes everything and gives something else back, at one place.
struct Lying {
    disk: MemoryDisk,
    area: Area,
    at: u64,
}

struct LyingDevice {
    device: Box<dyn BlockDevice>,
    at: u64,
}

impl Disk for Lying {
    fn open(&self, area: Area, access: Access) -> Result<Box<dyn BlockDevice>, ToolError> {
        let device = self.disk.open(area, access)?;
        Ok(if area == self.area { Box::new(LyingDevice { device, at: self.at }) } else { device })
    }
}

impl BlockDevice for LyingDevice {
    fn size(&self) -> u64 {
        self.device.size()
    }
    fn read(&self, at: u64, into: &mut [u8]) -> io::Result<()> {
        self.device.read(at, into)
    }
    fn write(&self, at: u64, bytes: &[u8]) -> io::Result<()> {
        self.device.write(at, bytes)
    }
    fn flush(&self) -> io::Result<()> {
        self.device.flush()
    }
    fn read_back(&self, at: u64, into: &mut [u8]) -> io::Result<()> {
        self.device.read_back(at, into)?;
        if let Some(byte) = self.at.checked_sub(at).and_then(|at| into.get_mut(at as usize)) {
            *byte ^= 0x10;
        }
        Ok(())
    }
}

#[test]
fn a_card_that_gives_back_something_else_is_never_armed() {
    let bundle = bundle("2.0.0", 2, 2);
    let places = [(Area::Root(Slot::B), 5000), (Area::Boot(Slot::B), (BOOT - 9) as u64), (Area::Boot(Slot::B), 3)];
    for (area, at) in places {
        let pi = Pi::new(SimulatedBootChain::Tryboot);
        pi.start(ResetCause::PowerOn);
        let site = InstallSite { disk: Arc::new(Lying { disk: pi.disk.clone(), area, at }), ..pi.site() };
        let (release, index) = opened(&bundle);
        let mut engine = InstallEngine::prepare(site, release, index, Slot::B).unwrap();
        let wanted: Vec<u32> = engine.wanted().iter().collect();
        for n in wanted {
            let block = opened(&bundle).1.block(n);
            engine.block(n, &bundle[block.stored.start as usize..block.stored.end as usize]).unwrap();
        }
        let error = engine.finish().unwrap_err();
        assert_eq!(error.code, ErrorCode::VerificationFailed, "{area:?} {error}");
        let state = pi.state();
        assert_eq!((state.slots.of(Slot::B).state, &state.update), (SlotState::Bad, &None), "{area:?}");
        let attempt = state.last_attempt.unwrap();
        assert_eq!((attempt.phase, attempt.reason.is_empty()), (Phase::Failed, false));
        assert_eq!(pi.content(Area::Boot(Slot::B))[..512], [0; 512], "nothing starts from it");
        is_untouched(&pi);
        // And a second try, on a card that is well, is not held against the version.
        pi.install(&bundle).0.unwrap();
    }
}

#[test]
fn an_image_that_does_not_fit_is_refused_with_both_sizes() {
    let pi = Pi::new(SimulatedBootChain::Tryboot);
    let bundle = a_bundle("2.0.0", 2, &boot("2.0.0"), &an_image(2 * ROOT, 5), &[11, 12]);
    let error = pi.install(&bundle).0.unwrap_err();
    assert_eq!(error.code, ErrorCode::FailedPrecondition);
    assert_eq!(
        (error.details["image_bytes"].as_u64(), error.details["area_bytes"].as_u64()),
        (Some(2 * ROOT as u64), Some(ROOT as u64))
    );
    assert_eq!(pi.disk.take_events(), []);
}

#[test]
fn whoever_watches_can_end_it_and_it_goes_on_later() {
    struct Impatient(AtomicU32, u32);
    impl InstallObserver for Impatient {
        fn stopped(&self) -> bool {
            self.0.fetch_add(1, Ordering::SeqCst) >= self.1
        }
    }
    let bundle = bundle("2.0.0", 2, 2);
    let blocks = opened(&bundle).1.len();
    // While it compares, before it writes, while it reads back.
    for patience in [5, blocks, blocks + 1] {
        let mut pi = Pi::new(SimulatedBootChain::Tryboot);
        pi.watch = Arc::new(Impatient(AtomicU32::new(0), patience));
        let error = pi.install(&bundle).0.unwrap_err();
        assert_eq!(error.code, ErrorCode::Cancelled);
        pi.start(ResetCause::PowerOn);
        assert_eq!(pi.running(), Some(Slot::A));
        pi.watch = Arc::new(Unwatched);
        pi.install(&bundle).0.unwrap();
    }
}

#[test]
fn a_search_for_moved_blocks_is_no_silence() {
    #[derive(Default)]
    struct Heard(Mutex<Vec<u64>>);
    impl InstallObserver for Heard {
        fn progress(&self, progress: &InstallProgress) {
            if progress.phase == Phase::Comparing {
                self.0.lock().unwrap().push(progress.done);
            }
        }
    }
    let (mut pi, heard) = (Pi::new(SimulatedBootChain::Uboot), Arc::new(Heard::default()));
    pi.watch = heard.clone();
    pi.engine(&bundle("2.0.0", 2, 2)).unwrap();
    let all = (BOOT + ROOT) as u64;
    assert_eq!(*heard.0.lock().unwrap(), [all; 3], "the comparison, and the search in each of two areas");
}
