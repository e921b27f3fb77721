//! examples/replay on recordings that are made here: what is flushed in the right order survives every cut, what is not is found.

#[path = "../../../../examples/replay/cuts.rs"]
mod cuts;
#[path = "../../../../examples/replay/log.rs"]
mod log;
#[path = "../../../../examples/replay/overlay.rs"]
mod overlay;

use ::update::{
    Slot,
    boot::{BootFlow, ResetCause, Tries, head_of_image, uboot::UbootState},
    bundle::{Digest, ServiceChanges},
    disk::{self, Access, Area, Disk, Layout, MemoryDisk},
    firmware::Generation,
    simulated::{self, RestartableBoard, SimulatedFlow, boot_image, factory},
    slots::{
        AdmissionInput, BootState, Candidate, Here, Ledger, UpdateLimits, arm, begin_writing, commit, committed,
        restarting, verified, written,
    },
};
use cuts::{Chain, Counts, Plan, cut};
use log::{Event, Log};
use overlay::{Overlay, SECTOR, WHOLE};
use std::{
    fs,
    io::{self, Cursor},
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
};

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;
const BOOT: u64 = 64 * KIB;
const ROOT: u64 = 16 * KIB;

/// Where the areas of the test's disk are: the layout's order, as small as they work.
fn places() -> Vec<(u8, u64, u64)> {
    let sizes = [(1, 64 * KIB), (2, BOOT), (3, BOOT), (5, ROOT), (6, ROOT), (7, 64 * KIB)];
    let mut at = 8 * MIB;
    sizes
        .into_iter()
        .map(|(number, size)| {
            let from = at + if number >= 5 { SECTOR as u64 } else { 0 };
            at = from + size;
            (number, from, size)
        })
        .collect()
}

struct Bench {
    _folder: tempfile::TempDir,
    before: PathBuf,
    new: [PathBuf; 2],
    layout: Layout,
    boot: Vec<u8>,
    root: Vec<u8>,
}

impl Bench {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let layout = Layout::shipped().unwrap();
        let before = folder.path().join("before.img");
        let (places, sector) = (places(), SECTOR as u64);
        let end = places.last().map(|(_, from, size)| from + size).unwrap();
        let mut disk = vec![0; (end + MIB) as usize];
        let mut entry = |table: u64, n: usize, kind: u8, start: u64, size: u64| {
            let at = table as usize + 446 + 16 * n;
            disk[at + 4] = kind;
            disk[at + 8..at + 12].copy_from_slice(&u32::try_from(start / sector).unwrap().to_le_bytes());
            disk[at + 12..at + 16].copy_from_slice(&u32::try_from(size / sector).unwrap().to_le_bytes());
            disk[table as usize + 510..table as usize + 512].copy_from_slice(&[0x55, 0xaa]);
        };
        let extended = places[3].1 - sector;
        for (n, (_, from, size)) in places[..3].iter().enumerate() {
            entry(0, n, 0x0c, *from, *size);
        }
        entry(0, 3, 0x0f, extended, end - extended);
        for (n, (_, from, size)) in places[3..].iter().enumerate() {
            entry(from - sector, 0, 0x83, sector, *size);
            if let Some((_, next, size)) = places[3..].get(n + 1) {
                entry(from - sector, 1, 0x05, next - sector - extended, *size + sector);
            }
        }
        fs::write(&before, &disk).unwrap();
        // The factory's content, by way of an overlay.
        let overlay = Overlay::of(&before, &layout).unwrap();
        factory(&overlay, &layout, &boot_image(BOOT as usize, "1.0.0").unwrap(), &[1; ROOT as usize]).unwrap();
        for area in WHOLE.into_iter().chain([Area::Config, Area::UbootCopy(0), Area::UbootCopy(1)]) {
            let device = overlay.open(area, Access::Read).unwrap();
            let mut bytes = vec![0; device.size() as usize];
            device.read(0, &mut bytes).unwrap();
            let at = place(area) as usize;
            disk[at..at + bytes.len()].copy_from_slice(&bytes);
        }
        fs::write(&before, &disk).unwrap();
        let (boot, root) = (boot_image(BOOT as usize, "2.0.0").unwrap(), vec![2; ROOT as usize]);
        let new = [folder.path().join("boot.img"), folder.path().join("root.img")];
        fs::write(&new[0], &boot).unwrap();
        fs::write(&new[1], &root).unwrap();
        Self { _folder: folder, before, new, layout, boot, root }
    }

    fn cut(&self, recording: Vec<u8>, chain: Chain, ignore_flushes: bool) -> Counts {
        let disk = Overlay::of(&self.before, &self.layout).unwrap();
        for area in WHOLE {
            let image = &self.new[usize::from(matches!(area, Area::Root(_)))];
            disk.know(area, "new", image).unwrap();
        }
        let mut log = Log::of(Cursor::new(recording)).unwrap();
        let torn = if ignore_flushes { 400 } else { 40 };
        cut(&disk, &self.layout, Plan { chain, torn, seed: 7, ignore_flushes }, || log.event()).unwrap()
    }

    /// The disk before, in memory, where every write is remembered.
    fn memory(&self) -> MemoryDisk {
        let disk = fs::read(&self.before).unwrap();
        let piece = |area: Area, size: u64| (area, disk[place(area) as usize..][..size as usize].to_vec());
        let parts = self.layout.partitions().iter().map(|partition| {
            let size = places().into_iter().find(|(number, ..)| *number == partition.number).unwrap().2;
            piece(partition.area, size)
        });
        MemoryDisk::of(parts.chain([0, 1].map(|copy| piece(Area::UbootCopy(copy), 512))).collect())
    }

    /// An update of slot B, from its first record to its commit, by the engine's own steps; the machine restarts as the model says.
    fn update(&self, chain: Chain) -> Recording {
        let memory = self.memory();
        let disk: Arc<dyn Disk> = Arc::new(memory.clone());
        let simulated = if chain == Chain::Uboot {
            simulated::SimulatedBootChain::Uboot
        } else {
            simulated::SimulatedBootChain::Tryboot
        };
        let ids = AtomicU32::new(0);
        let ids = Box::new(move || ids.fetch_add(1, Ordering::Relaxed).to_string());
        let board = RestartableBoard::power_on(disk.clone(), self.layout.clone(), simulated, ids);
        let flow = Arc::new(SimulatedFlow::new(board.clone(), self.layout.clone()));
        // The first boot was before the recording, as far as the disk knows.
        let factory = self.memory().content();
        for (area, bytes) in factory {
            disk.open(area, Access::Shared).unwrap().write(0, &bytes).unwrap();
        }
        memory.take_events();

        let mut ledger = Ledger::open(disk.clone(), flow.clone()).unwrap();
        ledger.settle(&Here::default()).1.unwrap();
        let candidate = Candidate {
            manifest: Digest::of(b"2.0.0"),
            version: "2.0.0".into(),
            counter: 2,
            created: 1,
            revoke_below: 0,
            services: ServiceChanges::default(),
        };
        let (seen, limits) = (flow.evidence(), UpdateLimits::default());
        let asked = AdmissionInput { candidate: &candidate, seen: &seen, running: None, limits, now_ms: 1 };
        let step = begin_writing(ledger.state(), &asked).unwrap();
        ledger.perform(&step).unwrap();
        let put = |area: Area, at: usize, bytes: &[u8]| {
            let device = disk.open(area, Access::Shared).unwrap();
            device.write(at as u64, bytes).unwrap();
        };
        let flush = |area: Area| disk.open(area, Access::Shared).unwrap().flush().unwrap();
        let (boot, root) = (Area::Boot(Slot::B), Area::Root(Slot::B));
        let head = head_of_image(self.boot.first_chunk().unwrap(), BOOT).unwrap() as usize;
        put(boot, 0, &[0; 512]);
        flush(boot);
        put(boot, 512, &vec![0; head - 512]);
        flush(boot);
        for (at, block) in self.root.chunks(4096).enumerate() {
            put(root, at * 4096, block);
        }
        put(boot, head, &self.boot[head..]);
        flush(boot);
        ledger.perform(&written(ledger.state()).unwrap()).unwrap();
        ledger.perform(&verified(ledger.state()).unwrap()).unwrap();
        put(boot, 512, &self.boot[512..head]);
        flush(boot);
        put(boot, 0, &self.boot[..512]);
        flush(boot);
        ledger.perform(&arm(ledger.state(), &flow.evidence()).unwrap()).unwrap();
        let step = restarting(ledger.state(), &flow.evidence(), true, "update", limits, 1);
        ledger.perform(&step.unwrap()).unwrap();

        assert_eq!(board.restart(ResetCause::Restart).slot(), Some(Slot::B));
        let mut ledger = Ledger::open(disk.clone(), flow.clone()).unwrap();
        let (settled, done) = ledger.settle(&Here::default());
        done.unwrap();
        let BootState::Trial(trial) = settled.standing else { panic!("{:?}", settled.standing) };
        ledger.perform(&commit(ledger.state(), &trial, &flow.evidence()).unwrap()).unwrap();
        ledger.perform(&committed(ledger.state(), &flow.evidence(), 2).unwrap()).unwrap();

        let mut recording = Recording::default();
        for event in memory.take_events() {
            match event {
                disk::Event::Write { area, at, bytes } => recording.write(place(area) + at, &bytes),
                disk::Event::Flush => recording.flush(),
            };
        }
        recording
    }
}

/// The byte of the disk at which an area begins.
fn place(area: Area) -> u64 {
    let number = match area {
        Area::UbootCopy(copy) => return [MIB, 5 * MIB][usize::from(copy)],
        area => Layout::shipped().unwrap().partition(area).unwrap().number,
    };
    places().into_iter().find(|(other, ..)| *other == number).unwrap().1
}

/// As QEMU writes it.
#[derive(Default)]
struct Recording {
    /// Sector, sectors, flags, data.
    entries: Vec<(u64, u64, u64, Vec<u8>)>,
}

impl Recording {
    fn write(&mut self, at: u64, bytes: &[u8]) -> &mut Self {
        self.entry(at, bytes.len() as u64, 0, bytes)
    }
    fn flush(&mut self) -> &mut Self {
        self.entry(0, 0, 1, &[])
    }
    fn entry(&mut self, at: u64, length: u64, flags: u64, bytes: &[u8]) -> &mut Self {
        self.entries.push((at / 512, length / 512, flags, bytes.to_vec()));
        self
    }
    fn bytes(&self) -> Vec<u8> {
        let mut bytes = vec![0; SECTOR];
        bytes[..8].copy_from_slice(&0x006a_7366_7773_6872_u64.to_le_bytes());
        bytes[8..16].copy_from_slice(&1_u64.to_le_bytes());
        bytes[16..24].copy_from_slice(&(self.entries.len() as u64).to_le_bytes());
        bytes[24..28].copy_from_slice(&512_u32.to_le_bytes());
        for (sector, sectors, flags, data) in &self.entries {
            let mut head = [0; SECTOR];
            for (place, value) in [sector, sectors, flags].into_iter().enumerate() {
                head[place * 8..place * 8 + 8].copy_from_slice(&value.to_le_bytes());
            }
            bytes.extend(head);
            bytes.extend(data);
        }
        bytes
    }
}

fn events(bytes: Vec<u8>) -> io::Result<Vec<Event>> {
    let mut log = Log::of(Cursor::new(bytes))?;
    let mut events = Vec::new();
    while let Some(event) = log.event()? {
        events.push(event);
    }
    Ok(events)
}

#[test]
fn a_recording_is_read_as_it_was_made() {
    let mut recording = Recording::default();
    recording.write(1024, &[1; 512]).flush().entry(4096, 1024, 4, &[]).entry(0, 0, 8, &[]);
    // A write with a flush before it, that is on the medium once it is done.
    recording.entry(512, 512, 3, &[2; 512]);
    assert_eq!(
        events(recording.bytes()).unwrap(),
        [
            Event::Write { at: 1024, bytes: vec![1; 512], durable: false },
            Event::Flush,
            Event::Discard { at: 4096, length: 1024 },
            Event::Flush,
            Event::Write { at: 512, bytes: vec![2; 512], durable: true },
        ]
    );
}

#[test]
fn what_is_no_recording_is_refused() {
    let mut recording = Recording::default();
    let good = recording.write(0, &[1; 512]).bytes();
    let with = |at: usize, byte: u8| {
        let mut bytes = good.clone();
        bytes[at] = byte;
        events(bytes).unwrap_err()
    };
    assert!(with(0, 0).to_string().contains("no log of writes"));
    assert!(with(8, 2).to_string().contains("no log of writes"));
    assert!(with(24, 1).to_string().contains("sectors of 513 bytes"));
    assert!(with(512 + 12, 1).to_string().contains("a write of"));
    assert!(with(512 + 7, 0xff).to_string().contains("sector"));
    // Cut off: in the head, and in an entry.
    for length in [0, 27, 512 + 31, good.len() - 1] {
        assert_eq!(events(good[..length].to_vec()).unwrap_err().kind(), io::ErrorKind::UnexpectedEof, "{length}");
    }
}

#[test]
fn an_update_survives_every_cut_and_says_what_happened() {
    let bench = Bench::new();
    for chain in [Chain::Uboot, Chain::Tryboot(Generation::Walks)] {
        let recording = bench.update(chain);
        let counts = bench.cut(recording.bytes(), chain, false);
        assert_eq!(counts.bad_count, 0, "{chain:?}: {:?}", counts.bad);
        assert_eq!(counts.whole, counts.writes + 1);
        assert!(counts.writes >= 15 && counts.flushes >= 12 && counts.torn >= 400, "{counts:?}");
        let booted: u64 = counts.outcomes.values().sum();
        assert_eq!(booted, counts.whole + counts.torn);
        let seen =
            ["slot A, before", "slot B, new"].map(|start| counts.outcomes.keys().any(|key| key.starts_with(start)));
        assert_eq!(seen, [true, true], "{:?}", counts.outcomes);
    }
}

#[test]
fn one_without_its_flushes_is_found_out() {
    let bench = Bench::new();
    for chain in [Chain::Uboot, Chain::Tryboot(Generation::Walks)] {
        // The same writes on a card that keeps no order.
        let recording = bench.update(chain);
        assert!(bench.cut(recording.bytes(), chain, true).bad_count > 0, "{chain:?}");
    }
}

#[test]
fn one_that_arms_before_it_writes_is_found_out() {
    let bench = Bench::new();
    let mut early = Recording::default();
    // Both copies of the agent's record are gone.
    for quarter in 1..3 {
        early.write(place(Area::AgentState) + quarter * 16 * KIB, &[7; 512]).flush();
    }
    let armed = UbootState { seq: 3, first: Slot::B, left: Tries { a: 3, b: 1 } };
    early.write(place(Area::UbootCopy(0)), &armed.encode()).flush();
    early.write(place(Area::Root(Slot::B)), &[2; 4096]).flush();
    let counts = bench.cut(early.bytes(), Chain::Uboot, false);
    assert!(counts.bad.keys().any(|bad| bad.contains("slot B boots and is not whole")), "{:?}", counts.bad);
    // And a slot that starts although the agent never recorded anything of it.
    assert!(counts.bad.keys().any(|bad| bad.contains("does not know why: Unrecorded")), "{:?}", counts.bad);
}

#[test]
fn what_is_elsewhere_on_the_disk_does_not_matter() {
    let bench = Bench::new();
    let mut recording = Recording::default();
    recording.write(2 * MIB, &[9; 4096]).flush().entry(3 * MIB, 1024, 4, &[]);
    let counts = bench.cut(recording.bytes(), Chain::Uboot, false);
    assert_eq!((counts.writes, counts.whole, counts.torn, counts.bad_count), (0, 1, 0, 0));
}

#[test]
fn both_slots_gone_is_bad() {
    let bench = Bench::new();
    let mut recording = Recording::default();
    for slot in Slot::BOTH {
        recording.write(place(Area::Boot(slot)), &[0; 512]).flush();
    }
    let counts = bench.cut(recording.bytes(), Chain::Uboot, false);
    assert!(counts.bad.keys().any(|bad| bad.contains("nothing boots")), "{:?}", counts.bad);
}
