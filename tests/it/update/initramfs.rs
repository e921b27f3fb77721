//! `dist/initramfs/init`: what it counts of starts, and when it reads the whole root. Its functions run in this computer's shell, with files
//! in the place of partitions; only the mapping by dm-verity is played.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};
use tempfile::TempDir;
use update::slots::counter::{Counter, SIZE};

/// What follows the script's functions: they are called by the test.
const MAIN: &str = "\nkernel_file_systems\nload_modules\n";
/// In the place of what a start does to a machine.
const PLAYED: &str = r#"
dmsetup() { :; }
mount() { :; }
umount() { :; }
kept_awake() { "$@"; }
partition() { echo "$TEST/partition-$1"; }
fail() { echo "left: $1"; exit 0; }
dd() {
  case $* in
    *if=/dev/mapper/probe*bs=1M*) case $ROOT in damaged | dead) return 1 ;; slow) return 143 ;; esac ;;
    *if=/dev/mapper/probe*) [ "$ROOT" != dead ] ;;
    *) command dd "$@" ;;
  esac
}
BOOTLOADER=$TEST/bootloader
CONFIG=$TEST/config
command_line="$WORDS raspi_mcp.verity=00,00,1"
find_slot
count_boot
count_start
map_root
echo "runs${whole:+ after reading all}"
"#;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Chain {
    Tryboot,
    Uboot,
}

/// A card with both slots at a boot chain, from the factory.
struct Card {
    dir: TempDir,
    chain: Chain,
    /// What reading a root meets: `good`, `damaged` behind its first block, `dead` from there on, `slow`; `none`: its boot files are not there.
    roots: [&'static str; 2],
    default: usize,
    /// Of U-Boot: boots that are left.
    left: [u8; 2],
    /// Of tryboot: the one-shot flag.
    flag: bool,
}

impl Card {
    fn new(chain: Chain, roots: [&'static str; 2]) -> Self {
        let dir = TempDir::new().unwrap();
        fs::write(dir.path().join("partition-7"), vec![0; 65536]).unwrap();
        let script = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("dist/initramfs/init")).unwrap();
        let (functions, _) = script.split_once(MAIN).expect("its functions and then its steps");
        fs::write(dir.path().join("init"), format!("{functions}\n{PLAYED}")).unwrap();
        Self { dir, chain, roots, default: 0, left: [3; 2], flag: false }
    }

    fn state(&self) -> PathBuf {
        self.dir.path().join("partition-7")
    }

    fn letters(&self, counter: Counter) -> String {
        let (bytes, at) = (fs::read(self.state()).unwrap(), counter.at() as usize);
        bytes[at..at + SIZE].iter().filter(|byte| **byte != 0).map(|byte| char::from(*byte)).collect()
    }

    fn set(&self, counter: Counter, letters: &str) {
        let (mut bytes, at) = (fs::read(self.state()).unwrap(), counter.at() as usize);
        bytes[at..at + SIZE].fill(0);
        bytes[at..at + letters.len()].copy_from_slice(letters.as_bytes());
        fs::write(self.state(), bytes).unwrap();
    }

    /// The initramfs in that slot.
    fn initramfs(&self, slot: usize, trial: bool) -> String {
        let mut words = "quiet".to_owned();
        if self.chain == Chain::Tryboot {
            let firmware = self.dir.path().join("bootloader");
            fs::create_dir_all(&firmware).unwrap();
            fs::write(firmware.join("partition"), (slot as u32 + 2).to_be_bytes()).unwrap();
            fs::write(firmware.join("tryboot"), u32::from(trial).to_be_bytes()).unwrap();
        } else {
            words = format!("raspi_mcp.slot={}", ["A", "B"][slot]);
        }
        let mut shell = Command::new("sh");
        shell.arg(self.dir.path().join("init")).env("TEST", self.dir.path()).env("ROOT", self.roots[slot]);
        let done = shell.env("WORDS", words).output().unwrap();
        assert!(done.stderr.is_empty(), "{}", String::from_utf8_lossy(&done.stderr));
        String::from_utf8(done.stdout).unwrap().lines().last().unwrap().to_owned()
    }

    /// The slot that the boot chain starts, and whether as a trial.
    fn boots(&mut self) -> (usize, bool) {
        let there = |slot: &usize| self.roots[*slot] != "none";
        if self.chain == Chain::Tryboot {
            let trial = std::mem::take(&mut self.flag) && there(&(1 - self.default));
            return (if trial { 1 - self.default } else { self.default }, trial);
        }
        let order = [self.default, 1 - self.default];
        if let Some(slot) = order.into_iter().find(|slot| self.left[*slot] > 0 && there(slot)) {
            self.left[slot] -= 1;
            return (slot, false);
        }
        (self.default, self.left) = (0, [3; 2]);
        self.boots()
    }

    /// One start: the slot, and what becomes of it. One that runs is found healthy.
    fn start(&mut self) -> String {
        let (slot, trial) = self.boots();
        let said = self.initramfs(slot, trial);
        if said.starts_with("left") {
            self.flag = self.chain == Chain::Tryboot && !trial;
        } else {
            self.healthy(slot);
        }
        format!("{} {said}", ["A", "B"][slot]).replace(&format!("{}/", self.dir.path().display()), "")
    }

    /// The agent: the running slot becomes the default, and the other one's damage is recorded.
    fn healthy(&mut self, slot: usize) {
        (self.default, self.left) = (slot, [3; 2]);
        self.set(Counter::UnhealthyBoots, "");
        let own = self.letters(Counter::Damage).replace(["B", "A"][slot], "");
        self.set(Counter::Damage, &own);
    }

    fn starts(&mut self, count: usize) -> Vec<String> {
        (0..count).map(|_| self.start()).collect()
    }
}

const BOTH: [Chain; 2] = [Chain::Tryboot, Chain::Uboot];
const LEFT: &str = "A left: partition-5 is damaged";

#[test]
fn every_third_start_reads_all_of_a_root() {
    for chain in BOTH {
        let mut card = Card::new(chain, ["good"; 2]);
        let all = "A runs after reading all";
        assert_eq!(card.starts(6), ["A runs", "A runs", all, "A runs", "A runs", all], "{chain:?}");
        assert_eq!((card.letters(Counter::Starts), card.letters(Counter::Damage)), ("AAAAAA".into(), String::new()));
        card.set(Counter::Starts, "");
        assert_eq!(card.start(), "A runs", "the machine has run for days");
    }
}

#[test]
fn damage_behind_the_first_block_is_left_for_the_other_slot() {
    let mut card = Card::new(Chain::Tryboot, ["damaged", "good"]);
    assert_eq!(card.starts(2), ["A runs", "A runs"]);
    assert_eq!((card.start().as_str(), card.letters(Counter::Damage)), (LEFT, "A".into()));
    assert_eq!(card.starts(3), ["B runs", "B runs", "B runs after reading all"]);

    let mut card = Card::new(Chain::Uboot, ["damaged", "good"]);
    assert_eq!(card.starts(2), ["A runs", "A runs"]);
    assert_eq!(card.starts(3), [LEFT; 3], "until U-Boot has no boots left for it");
    assert_eq!(card.letters(Counter::Damage), "AAA");
    assert_eq!(card.starts(3), ["B runs", "B runs", "B runs after reading all"]);
}

#[test]
fn with_nothing_in_the_other_slot_most_starts_are_its_chance() {
    let mut card = Card::new(Chain::Tryboot, ["damaged", "none"]);
    assert_eq!(card.starts(6), ["A runs", "A runs", LEFT, "A runs", "A runs", LEFT]);
    let mut card = Card::new(Chain::Uboot, ["damaged", "none"]);
    let cycle = ["A runs", "A runs", LEFT, LEFT, LEFT];
    for _ in 0..3 {
        assert_eq!(card.starts(5), cycle);
    }
}

#[test]
fn of_two_damaged_slots_each_runs() {
    for chain in BOTH {
        let mut card = Card::new(chain, ["damaged"; 2]);
        let said = card.starts(40);
        let fails = said.split(|said| !said.contains("left")).map(<[String]>::len).max().unwrap();
        assert!(fails <= 3, "{chain:?}: {said:?}");
        assert!(
            ["A runs", "B runs"].iter().all(|runs| said.iter().filter(|said| said == runs).count() >= 8),
            "{said:?}"
        );
    }
}

#[test]
fn a_good_read_ends_what_was_found_in_this_slot() {
    let card = Card::new(Chain::Uboot, ["good"; 2]);
    card.set(Counter::Damage, "ABAB");
    assert_eq!(card.initramfs(0, false), "runs after reading all", "at once, as damage was found");
    assert_eq!((card.letters(Counter::Damage), card.letters(Counter::Starts)), ("BB".into(), String::new()));
}

#[test]
fn a_root_that_is_read_too_slowly_is_not_damaged() {
    let mut card = Card::new(Chain::Tryboot, ["slow", "good"]);
    assert_eq!(card.starts(3), ["A runs", "A runs", "A runs after reading all"]);
    assert_eq!(card.letters(Counter::Damage), "");
}

#[test]
fn a_first_block_that_is_damaged_is_found_in_each_start() {
    let mut card = Card::new(Chain::Tryboot, ["dead", "good"]);
    assert_eq!(card.start(), LEFT);
    assert_eq!(card.letters(Counter::Damage), "A");
    assert_eq!(card.start(), "B runs");
}

#[test]
fn a_full_count_begins_anew() {
    for (chain, counter) in [(Chain::Tryboot, Counter::UnhealthyBoots), (Chain::Uboot, Counter::Starts)] {
        let card = Card::new(chain, ["good"; 2]);
        card.set(counter, &"A".repeat(SIZE));
        card.initramfs(0, false);
        assert_eq!(card.letters(counter), "A");
    }
    let card = Card::new(Chain::Uboot, ["dead"; 2]);
    card.set(Counter::Damage, &"A".repeat(SIZE));
    card.initramfs(0, false);
    assert_eq!(card.letters(Counter::Damage), "A");
}

#[test]
fn a_card_that_takes_no_count_is_not_read_in_each_start() {
    let card = Card::new(Chain::Uboot, ["damaged"; 2]);
    fs::remove_file(card.state()).unwrap();
    fs::create_dir(card.state()).unwrap();
    for _ in 0..4 {
        assert_eq!(card.initramfs(0, false), "runs");
    }
}

/// What the initramfs does with a bootloader that says partition 0, with this `autoboot.txt`.
fn said_zero(autoboot: Option<&str>, trial: bool) -> String {
    let card = Card::new(Chain::Tryboot, ["good"; 2]);
    let put = |name: &str, bytes: &[u8]| {
        let file = card.dir.path().join(name);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, bytes).unwrap();
    };
    put("bootloader/partition", &0_u32.to_be_bytes());
    put("bootloader/tryboot", &u32::from(trial).to_be_bytes());
    if let Some(text) = autoboot {
        put("config/autoboot.txt", text.as_bytes());
    }
    let mut shell = Command::new("sh");
    shell.arg(card.dir.path().join("init")).env("TEST", card.dir.path()).env("ROOT", "good");
    let done = shell.env("WORDS", "quiet").output().unwrap();
    let said = String::from_utf8(done.stdout).unwrap();
    format!("{}: {}", card.letters(Counter::Starts), said.lines().last().unwrap())
}

#[test]
fn a_bootloader_that_says_partition_0_started_what_autoboot_txt_chose() {
    let usual = "[all]\ntryboot_a_b=1\nboot_partition=2\n[tryboot]\nboot_partition=3\n";
    let turned = "[all]\ntryboot_a_b=1\nboot_partition=3\n[tryboot]\nboot_partition=2\n\n\n";
    assert_eq!(said_zero(Some(usual), false), "A: runs");
    assert_eq!(said_zero(Some(usual), true), "B: runs");
    assert_eq!(said_zero(Some(turned), false), "B: runs");
    assert_eq!(said_zero(Some(turned), true), "A: runs");
    // Without a section, with another board's, with a DOS editor's ends of lines, without the last of them.
    assert_eq!(said_zero(Some("boot_partition=3"), false), "B: runs");
    assert_eq!(said_zero(Some("[pi4]\nboot_partition=3\n[all]\nboot_partition=2\n"), true), "A: runs");
    assert_eq!(said_zero(Some(&usual.replace('\n', "\r\n")), true), "B: runs");
    let nobody = ": left: nobody says which slot this is";
    assert_eq!(said_zero(Some("[all]\nboot_partition=1\n"), false), nobody);
    assert_eq!(said_zero(None, false), nobody);
}
