//! The rest of the card for the data partition: cards made sector by sector, read back as the kernel reads them, and cut at every write.

use appliance::grow::{
    FileSystemResult, Programs, grow,
    table::{Bytes, Sector, SectorRange, Table},
};
use base::{
    error::{ErrorCode, ToolError},
    os::Root,
};
use std::{
    cell::RefCell,
    fs,
    os::unix::fs::FileExt,
    path::{Path, PathBuf},
};
use update::disk::Layout;

const MIB: u64 = (1 << 20) / 512;
/// Of the partitions 1 to 3 and 5 to 8, in MiB.
const PRIMARIES: [u64; 3] = [16, 8, 8];
const LOGICALS: [u64; 4] = [32, 32, 16, 64];
const KINDS: [u8; 4] = [0x83, 0x83, 0xda, 0x83];
/// The image ends here, in sectors.
const IMAGE: u64 = (8 + 16 + 8 + 8 + 1 + 32 + 1 + 32 + 1 + 16 + 1 + 64) * MIB;

fn layout() -> Layout {
    Layout::shipped().unwrap()
}

/// A card: the sectors that are not zero.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Card {
    sectors: u64,
    written: std::collections::BTreeMap<u64, Bytes>,
}

fn put(bytes: &mut Bytes, index: usize, kind: u8, start: u64, size: u64) {
    let at = 446 + 16 * index;
    bytes[at + 4] = kind;
    bytes[at + 8..at + 12].copy_from_slice(&(start as u32).to_le_bytes());
    bytes[at + 12..at + 16].copy_from_slice(&(size as u32).to_le_bytes());
    bytes[510..].copy_from_slice(&[0x55, 0xaa]);
}

impl Card {
    /// As genimage makes it, written to a card of that many sectors.
    fn of(sectors: u64) -> Self {
        let mut written = std::collections::BTreeMap::new();
        let mut mbr = [0; 512];
        mbr[440..444].copy_from_slice(&0x7270_6d63_u32.to_le_bytes());
        let mut at = 8 * MIB;
        for (index, size) in PRIMARIES.into_iter().enumerate() {
            put(&mut mbr, index, 0x0c, at, size * MIB);
            at += size * MIB;
        }
        let extended = at;
        put(&mut mbr, 3, 0x0f, extended, IMAGE - extended);
        written.insert(0, mbr);
        for (index, size) in LOGICALS.into_iter().enumerate() {
            let mut record = [0; 512];
            put(&mut record, 0, KINDS[index], MIB, size * MIB);
            let next = at + MIB + size * MIB;
            if let Some(size) = LOGICALS.get(index + 1) {
                put(&mut record, 1, 0x0f, next - extended, (1 + size) * MIB);
            }
            written.insert(at, record);
            at = next;
        }
        assert_eq!(at, IMAGE);
        Self { sectors, written }
    }

    fn read(&self, at: u64) -> std::io::Result<Bytes> {
        let inside = at < self.sectors;
        inside
            .then(|| self.written.get(&at).copied().unwrap_or([0; 512]))
            .ok_or(std::io::ErrorKind::UnexpectedEof.into())
    }

    fn table(&self) -> Result<Table, ToolError> {
        Table::read(self.sectors, &layout(), |at| self.read(at))
    }

    fn refused(&self) -> ToolError {
        let error = self.table().expect_err("it was taken");
        assert_eq!(error.code, ErrorCode::FailedPrecondition, "{error:?}");
        assert!(error.hint.is_some(), "{error:?}");
        error
    }

    fn with(&self, sector: &Sector) -> Self {
        let mut card = self.clone();
        card.written.insert(sector.at, sector.bytes);
        card
    }

    fn changed(&self, at: u64, change: impl FnOnce(&mut Bytes)) -> Self {
        let mut card = self.clone();
        change(card.written.entry(at).or_insert([0; 512]));
        card
    }

    fn record(&self, number: usize) -> u64 {
        *self.written.keys().nth(number - 4).unwrap()
    }

    fn grown(&self) -> Self {
        self.table().unwrap().writes().iter().fold(self.clone(), |card, sector| card.with(sector))
    }
}

fn number(bytes: &Bytes, at: usize) -> u64 {
    u64::from(u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()))
}

/// What the kernel makes of a card (block/partitions/msdos.c), written for this test from its source's rules; and what is wrong with the table for
/// those who are stricter: everything lies inside of what contains it, and on the card.
fn partitions(card: &Card) -> Result<Vec<(u8, SectorRange)>, String> {
    let mbr = card.read(0).unwrap();
    if mbr[510..] != [0x55, 0xaa] {
        return Err("no MBR".into());
    }
    let span = |bytes: &Bytes, index: usize, from: u64| {
        let at = 446 + 16 * index;
        SectorRange { start: from + number(bytes, at + 8), size: number(bytes, at + 12) }
    };
    let mut found: Vec<(u8, SectorRange)> = (0..4).map(|index| (index as u8 + 1, span(&mbr, index, 0))).collect();
    let extended = found[3].1;
    if extended.end() > card.sectors {
        return Err("the extended partition ends behind the card".into());
    }
    let (mut at, mut room) = (extended.start, extended.size);
    for number in 5..=16 {
        let record = card.read(at).map_err(|fault| fault.to_string())?;
        if record[510..] != [0x55, 0xaa] {
            return Err(format!("no record at {at}"));
        }
        let own = span(&record, 0, at);
        if own.end() > at + room || own.end() > extended.end() {
            return Err(format!("{number} is not inside of what contains it"));
        }
        found.push((number, own));
        if record[446 + 16 + 4] == 0 {
            return Ok(found);
        }
        let link = span(&record, 1, extended.start);
        if link.end() > extended.end() {
            return Err(format!("the link of {number} leads out"));
        }
        (at, room) = (link.start, link.size);
    }
    Err("no end".into())
}

/// Whole, and as it was but for the last partition, which is as large as before or has grown.
fn judge(before: &Card, after: &Card) -> Result<SectorRange, String> {
    let (old, new) = (partitions(before).unwrap(), partitions(after)?);
    if old.len() != new.len() {
        return Err(format!("{} partitions", new.len()));
    }
    for ((number, old), (_, new)) in old.iter().zip(&new) {
        let grows = matches!(number, 4 | 8) && new.size >= old.size;
        if old.start != new.start || (old.size != new.size && !grows) {
            return Err(format!("{number} was {old:?} and is {new:?}"));
        }
    }
    Ok(new.last().unwrap().1)
}

#[test]
fn a_larger_card_is_used_to_its_end_by_three_sectors_that_keep_all_partitions_where_they_are() {
    let card = Card::of(IMAGE + 1000 * MIB + 77);
    let table = card.table().unwrap();
    let writes = table.writes();
    assert_eq!(writes.iter().map(|sector| sector.at).collect::<Vec<_>>(), [0, card.record(7), card.record(8)]);
    let data = judge(&card, &card.grown()).unwrap();
    // To the last whole MiB.
    assert_eq!(data, SectorRange { size: 1064 * MIB, ..table.data() });
    assert_eq!(data, table.grown());
    // Sizes, and nothing else of those sectors.
    for sector in &writes {
        let old = card.read(sector.at).unwrap();
        let changed = (0..512).filter(|at| old[*at] != sector.bytes[*at]).collect::<Vec<_>>();
        assert!(!changed.is_empty() && changed.last().unwrap() - changed[0] < 4, "{changed:?}");
    }
    // Once more: nothing is left to be done, and nothing is done.
    assert!(card.grown().table().unwrap().writes().is_empty());
    assert_eq!(card.grown().table().unwrap().grown(), data);
}

#[test]
fn a_card_without_a_mebibyte_to_spare_is_left_alone() {
    for more in [0, 1, MIB - 1] {
        assert!(Card::of(IMAGE + more).table().unwrap().writes().is_empty(), "{more}");
    }
    assert_eq!(Card::of(IMAGE + MIB).table().unwrap().writes().len(), 3);
    // What a person grew to the very last sector stays so.
    let card = Card::of(IMAGE + 10 * MIB + 5);
    let mut all = card.grown();
    for (at, index, more) in [(0, 3, 5), (card.record(7), 1, 5), (card.record(8), 0, 5)] {
        let bytes = all.written.get_mut(&at).unwrap();
        let size = number(bytes, 446 + 16 * index + 12) + more;
        bytes[446 + 16 * index + 12..][..4].copy_from_slice(&(size as u32).to_le_bytes());
    }
    assert!(all.table().unwrap().writes().is_empty());
}

#[test]
fn a_table_counts_no_more_than_two_tebibytes() {
    let card = Card::of(6 << 32);
    let grown = card.grown();
    let data = judge(&card, &grown).unwrap();
    assert_eq!(data.end(), u64::from(u32::MAX) / MIB * MIB);
    assert!(grown.table().unwrap().writes().is_empty());
}

/// Every state that a power cut leaves: each write is on the medium before the next one, and the one under way is there or is not.
fn cuts(card: &Card, writes: &[Sector]) -> Vec<Card> {
    (0..=writes.len()).map(|many| writes[..many].iter().fold(card.clone(), |card, write| card.with(write))).collect()
}

#[test]
fn a_power_cut_at_any_moment_leaves_a_whole_table_and_the_next_start_ends_the_work() {
    for sectors in [IMAGE + MIB, IMAGE + 3 * MIB + 1, IMAGE + 30_000 * MIB, 6 << 32] {
        let card = Card::of(sectors);
        let full = card.grown();
        for cut in cuts(&card, &card.table().unwrap().writes()) {
            let data = judge(&card, &cut).unwrap();
            assert!(data == card.table().unwrap().data() || data == full.table().unwrap().data(), "{data:?}");
            // The next start is cut as well.
            for again in cuts(&cut, &cut.table().unwrap().writes()) {
                judge(&card, &again).unwrap();
                assert_eq!(again.grown(), full, "and so is what comes out in the end");
            }
        }
    }
}

#[test]
fn another_order_would_not_do_and_this_model_sees_it() {
    let card = Card::of(IMAGE + 100 * MIB);
    let mut writes = card.table().unwrap().writes();
    writes.reverse();
    let broken = cuts(&card, &writes).iter().filter(|cut| judge(&card, cut).is_err()).count();
    assert_eq!(broken, 2);
}

#[test]
fn a_card_that_moved_to_a_still_larger_one_grows_again() {
    let mut card = Card::of(IMAGE + 100 * MIB).grown();
    card.sectors += 500 * MIB;
    assert_eq!(judge(&Card::of(card.sectors), &card.grown()).unwrap().size, 664 * MIB);
}

#[test]
fn what_is_not_this_layout_is_refused_and_the_reason_named() {
    let card = Card::of(IMAGE + 100 * MIB);
    let (fifth, seventh, last) = (card.record(5), card.record(7), card.record(8));
    let entry = |index: usize| 446 + 16 * index;
    type Change = Box<dyn Fn(&mut Bytes)>;
    let set = |at: usize, value: u32| -> Change {
        Box::new(move |bytes| bytes[at..at + 4].copy_from_slice(&value.to_le_bytes()))
    };
    let byte = |at: usize, value: u8| -> Change { Box::new(move |bytes| bytes[at] = value) };
    let cases: Vec<(&str, u64, Change)> = vec![
        ("signature", 0, set(440, 0x1234_5678)),
        ("signature", 0, byte(510, 0)),
        ("GPT", 0, byte(entry(0) + 4, 0xee)),
        ("GPT", 1, Box::new(|bytes| bytes[..8].copy_from_slice(b"EFI PART"))),
        ("partition 2 has type", 0, byte(entry(1) + 4, 0x83)),
        ("partition 4 has type", 0, byte(entry(3) + 4, 0x83)),
        ("partition 1 begins", 0, set(entry(0) + 8, 63)),
        ("partition 3 begins", 0, set(entry(2) + 8, 8 * MIB as u32)),
        ("partition 2 begins", 0, set(entry(1) + 12, 0)),
        ("partition 4 begins", 0, set(entry(3) + 8, 1)),
        ("no record of partition 5", fifth, byte(511, 0)),
        ("no record of partition 5", fifth, set(entry(0) + 8, 0)),
        ("no record of partition 8", last, Box::new(|bytes| bytes.fill(0))),
        ("partition 7 has type", seventh, byte(entry(0) + 4, 0x83)),
        ("partition 8 has type", last, byte(entry(0) + 4, 0x07)),
        ("more than two entries", fifth, byte(entry(2) + 4, 0x83)),
        ("beyond the extended one", last, set(entry(0) + 12, 1000 * MIB as u32)),
        ("beyond the extended one", last, set(entry(0) + 12, u32::MAX)),
        ("leads to sector", seventh, set(entry(1) + 8, 0)),
        ("leads to sector", seventh, set(entry(1) + 8, u32::MAX)),
        ("leads to sector", seventh, byte(entry(1) + 4, 0x83)),
        ("is not the one of data", seventh, byte(entry(1) + 4, 0)),
        ("partition 9 has type", last, Box::new(move |bytes| put(bytes, 1, 0x0f, 150 * MIB, 50 * MIB))),
    ];
    for (why, at, change) in cases {
        let mut card = card.changed(at, |bytes| change(bytes));
        if why.contains('9') {
            // One more, behind the data partition: it could not grow into what it does not have.
            card =
                card.changed(0, |bytes| bytes[entry(3) + 12..][..4].copy_from_slice(&(200 * MIB as u32).to_le_bytes()));
            let at = number(&card.read(0).unwrap(), entry(3) + 8) + 150 * MIB;
            card = card.changed(at, |bytes| put(bytes, 0, 0x83, MIB, MIB));
        }
        let error = card.refused();
        assert!(error.message.contains(why), "{why}: {}", error.message);
    }
    let error = Card::of(IMAGE - 1).refused();
    assert!(error.message.contains(&format!("{} sectors", IMAGE - 1)), "{}", error.message);
}

#[test]
fn no_table_of_noise_ever_panics_or_is_grown_wrongly() {
    let card = Card::of(IMAGE + 100 * MIB);
    let mut dice = 0x9e37_79b9_7f4a_7c15_u64;
    let mut taken = 0;
    for _ in 0..20_000 {
        let mut noisy = card.clone();
        for _ in 0..=dice % 3 {
            dice ^= dice << 13;
            dice ^= dice >> 7;
            dice ^= dice << 17;
            let at = *card.written.keys().nth(dice as usize % 5).unwrap();
            let place = 440 + (dice >> 8) as usize % 72;
            noisy = noisy.changed(at, |bytes| bytes[place] = (dice >> 32) as u8);
        }
        if let Ok(table) = noisy.table() {
            taken += 1;
            let data = table.data();
            let after = noisy.grown();
            assert_eq!(after.table().unwrap().data(), table.grown());
            assert!(table.grown().size >= data.size && table.grown().end() <= noisy.sectors);
            assert!(after.table().unwrap().writes().is_empty());
        }
    }
    assert!(taken > 100, "only {taken} of them were tables");
}

/// A machine with that card, as files; a program that is started is written down, and partx does what it does.
struct Machine {
    folder: tempfile::TempDir,
    started: RefCell<Vec<String>>,
    /// Whether partx has the kernel take the new size.
    obeys: bool,
    fails: Option<&'static str>,
}

impl Programs for Machine {
    fn run(&self, program: &str, arguments: &[&str]) -> Result<(), ToolError> {
        self.started.borrow_mut().push(format!("{program} {}", arguments.join(" ")));
        if self.fails == Some(program) {
            return Err(ToolError::unavailable(format!("{program} is not there")));
        }
        if program == "partx" && self.obeys {
            self.kernel_reads(8);
        }
        Ok(())
    }
}

impl Machine {
    fn with(card: &Card) -> Self {
        let machine =
            Self { folder: tempfile::tempdir().unwrap(), started: RefCell::default(), obeys: true, fails: None };
        fs::create_dir_all(machine.path("dev")).unwrap();
        let disk = fs::File::create(machine.path("dev/mmcblk0")).unwrap();
        disk.set_len(card.sectors * 512).unwrap();
        for (at, bytes) in &card.written {
            disk.write_all_at(bytes, at * 512).unwrap();
        }
        machine.put("sys/block/mmcblk0/dev", "179:0\n");
        machine.put("sys/block/mmcblk0/size", &format!("{}\n", card.sectors));
        machine.put("sys/block/mmcblk0/queue/logical_block_size", "512\n");
        for number in [1, 2, 3, 5, 6, 7, 8] {
            machine.put(&format!("sys/block/mmcblk0/mmcblk0p{number}/partition"), &format!("{number}\n"));
            machine.put(&format!("sys/block/mmcblk0/mmcblk0p{number}/dev"), &format!("179:{number}\n"));
            machine.kernel_reads(number);
        }
        machine.put(
            "proc/1/mountinfo",
            "22 1 179:5 / / ro - erofs /dev/mmcblk0p5 ro\n30 22 179:8 / /data rw - ext4 /dev/mmcblk0p8 rw\n",
        );
        machine.put("proc/cmdline", "raspi_mcp.slot=A\n");
        machine.ext4(64 << 20);
        machine
    }

    fn path(&self, file: &str) -> PathBuf {
        self.folder.path().join(file)
    }

    fn put(&self, file: &str, text: &str) {
        let path = self.path(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn disk(&self) -> fs::File {
        fs::File::options().read(true).write(true).open(self.path("dev/mmcblk0")).unwrap()
    }

    fn card(&self) -> Card {
        let disk = self.disk();
        let mut card = Card::of(disk.metadata().unwrap().len() / 512);
        for (at, bytes) in &mut card.written {
            disk.read_exact_at(bytes, at * 512).unwrap();
        }
        card
    }

    fn kernel_reads(&self, number: u8) {
        let all = partitions(&self.card()).unwrap();
        let span = all.iter().find(|(other, _)| *other == number).unwrap().1;
        self.put(&format!("sys/block/mmcblk0/mmcblk0p{number}/start"), &format!("{}\n", span.start));
        self.put(&format!("sys/block/mmcblk0/mmcblk0p{number}/size"), &format!("{}\n", span.size));
    }

    fn ext4(&self, bytes: u64) {
        let start = partitions(&self.card()).unwrap().last().unwrap().1.start;
        let mut superblock = [0; 1024];
        superblock[0x38..0x3a].copy_from_slice(&[0x53, 0xef]);
        superblock[0x18] = 2;
        superblock[4..8].copy_from_slice(&((bytes >> 12) as u32).to_le_bytes());
        self.disk().write_all_at(&superblock, start * 512 + 1024).unwrap();
    }

    fn grows(&self) -> Result<appliance::grow::GrowReport, ToolError> {
        self.started.borrow_mut().clear();
        grow(&Root::at(self.folder.path()), &layout(), self, false)
    }

    fn started(&self) -> Vec<String> {
        self.started.borrow().clone()
    }
}

#[test]
fn the_first_boot_writes_the_table_tells_the_kernel_and_grows_the_file_system() {
    let card = Card::of(IMAGE + 100 * MIB);
    let machine = Machine::with(&card);
    // Looking changes nothing.
    let plan = grow(&Root::at(machine.folder.path()), &layout(), &machine, true).unwrap();
    assert_eq!((plan.file_system, plan.sectors.len(), machine.card()), (FileSystemResult::DryRun, 3, card.clone()));

    let report = machine.grows().unwrap();
    assert_eq!(report, appliance::grow::GrowReport { file_system: FileSystemResult::Grown, ..plan });
    assert_eq!((report.device.as_str(), report.before, report.after), ("mmcblk0p8", 64 << 20, 164 << 20));
    assert_eq!(machine.started(), ["partx --update --nr 8 /dev/mmcblk0", "resize2fs /dev/mmcblk0p8"]);
    assert_eq!(machine.card(), card.grown());

    // A power cut before resize2fs was done: the next start does that alone. Then: nothing.
    assert!(machine.grows().unwrap().sectors.is_empty());
    assert_eq!(machine.started(), ["resize2fs /dev/mmcblk0p8"]);
    machine.ext4(164 << 20);
    assert_eq!(machine.grows().unwrap().file_system, FileSystemResult::Full);
    assert!(machine.started().is_empty());
}

#[test]
fn a_data_partition_that_is_not_mounted_or_not_ext4_keeps_its_content() {
    let machine = Machine::with(&Card::of(IMAGE + 100 * MIB));
    machine.put(
        "proc/1/mountinfo",
        "22 1 179:5 / / ro - erofs /dev/mmcblk0p5 ro\n30 22 179:8 / /data ro - ext4 /dev/mmcblk0p8 ro\n",
    );
    assert_eq!(machine.grows().unwrap().file_system, FileSystemResult::NotMounted);
    assert_eq!(machine.started(), ["partx --update --nr 8 /dev/mmcblk0"]);
    let start = partitions(&machine.card()).unwrap().last().unwrap().1.start;
    machine.disk().write_all_at(&[0; 2048], start * 512).unwrap();
    assert_eq!(machine.grows().unwrap().file_system, FileSystemResult::NotExt4);
    assert!(machine.started().is_empty());
}

#[test]
fn what_goes_wrong_is_said_and_the_next_start_goes_on() {
    let card = Card::of(IMAGE + 100 * MIB);
    let mut machine = Machine::with(&card);
    machine.fails = Some("partx");
    assert!(machine.grows().unwrap_err().message.contains("partx"));
    assert_eq!(machine.card(), card.grown(), "the table is the new one");
    (machine.fails, machine.obeys) = (None, false);
    assert!(machine.grows().unwrap_err().message.contains("keeps the old size"));
    machine.obeys = true;
    assert_eq!(machine.grows().unwrap().file_system, FileSystemResult::Grown);

    // Sectors of 4096 bytes, no card at all, a layout without data: refused before anything is written.
    let machine = Machine::with(&card);
    machine.put("sys/block/mmcblk0/queue/logical_block_size", "4096\n");
    assert_eq!(machine.grows().unwrap_err().code, ErrorCode::FailedPrecondition);
    let none = tempfile::tempdir().unwrap();
    fs::create_dir_all(none.path().join("sys/block")).unwrap();
    let error = grow(&Root::at(none.path()), &layout(), &machine, false).unwrap_err();
    assert_eq!(error.code, ErrorCode::CapabilityMissing);
    let mut without = layout();
    without.data = None;
    let error = grow(&Root::at(machine.folder.path()), &without, &machine, false).unwrap_err();
    assert_eq!(error.code, ErrorCode::CapabilityMissing);
    assert_eq!((machine.card(), machine.started()), (card, vec![]));
}

#[test]
fn the_unit_starts_this_command() {
    let unit = Path::new(env!("CARGO_MANIFEST_DIR")).join("dist/slots/raspi-mcp-grow.service");
    let unit = fs::read_to_string(unit).unwrap();
    assert!(unit.contains("\nExecStart=/usr/bin/raspi-mcp grow\n"));
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_raspi-mcp"))
        .args(["grow", "--dry-run", "--layout", "/dev/null"])
        .output()
        .unwrap();
    // An empty layout: no default is taken in its place.
    assert!(!output.status.success());
    assert!(String::from_utf8_lossy(&output.stderr).contains("/dev/null"), "{output:?}");
}
