//! An appliance at its starts: whose it is, what it is told on partition 1, and what no power cut may turn it into.

mod approvers;
mod backup;
mod claim;
mod conf;
mod copies;
mod cuts;
mod enroll;
mod file;
mod fleet;
pub mod fresh;
mod grow;
mod network;
mod reset;
mod restore_asks;
mod restored;
mod starts;
mod timezone;

use crate::update::{PRODUCT, powercut::card::Card};
use appliance::{
    ApplianceState, CurrentClaim, Folder, Identity,
    prepare::{PrepareResult, PrepareSite, prepare},
};
use base::{error::ToolError, os::Root};
use contract::{access::token::Token, config::TokenSetting, meta::Role};
use std::{collections::BTreeMap, fs, os::unix::fs::PermissionsExt, path::Path, time::Duration};
use update::{
    boot::fat::make,
    disk::{Access, Area, Disk},
    slots::{StateRecord, StateStore},
};

pub const WINDOW: Duration = Duration::from_secs(900);
/// Bytes of the agent-state area: in its second and third quarter is a copy each.
pub const STATE: usize = 256 << 10;
pub const QUARTER: u64 = STATE as u64 / 4;
pub type Content = BTreeMap<Area, Vec<u8>>;

/// What a person puts on the card.
pub type Files<'a> = &'a [(&'a str, &'a [u8])];

/// An image of partition 1, with long names as any PC writes them.
pub fn partition(files: Files) -> Vec<u8> {
    let mut short: Vec<(String, &[u8])> = vec![("autoboot.txt".into(), b"[all]\n")];
    let mut long = Vec::new();
    for (number, (name, content)) in files.iter().enumerate() {
        // Two entries for the long name, at most 26 letters; then its short one.
        long.push((short.len(), *name));
        short.extend([(format!("l{number}.a"), &b""[..]), (format!("l{number}.b"), b"")]);
        short.push((format!("file~{number}.x"), content));
    }
    let plain: Vec<(&str, &[u8])> = short.iter().map(|(name, content)| (&**name, *content)).collect();
    let mut image = make(64 << 10, &plain).unwrap();
    let root = (1 + 2 * usize::from(image[22])) * 512;
    for (entry, name) in long {
        let at = root + 32 * entry;
        let sum = image[at + 64..at + 75].iter().fold(0_u8, |sum, byte| sum.rotate_right(1).wrapping_add(*byte));
        let mut letters: Vec<u16> = name.encode_utf16().collect();
        letters.push(0);
        letters.resize(26, 0xffff);
        for (place, (half, number)) in letters.chunks(13).zip([1_u8, 0x42]).rev().enumerate() {
            let mut bytes = [0; 32];
            (bytes[0], bytes[11], bytes[13]) = (number, 0x0f, sum);
            let places = (1..11).step_by(2).chain((14..26).step_by(2)).chain((28..32).step_by(2));
            places.zip(half).for_each(|(at, letter)| bytes[at..at + 2].copy_from_slice(&letter.to_le_bytes()));
            image[at + 32 * place..][..32].copy_from_slice(&bytes);
        }
    }
    image
}

/// A card from the factory with these files on partition 1.
pub fn card(files: Files) -> Content {
    [(Area::Config, partition(files)), (Area::AgentState, vec![0; STATE])].into()
}

/// A machine: a card, and what is below `/`.
pub struct Machine {
    pub card: Card,
    pub home: tempfile::TempDir,
}

impl Machine {
    pub fn with(files: Files) -> Self {
        Self::of(card(files))
    }

    pub fn of(content: Content) -> Self {
        let home = tempfile::tempdir().unwrap();
        for folder in ["proc/sys/kernel", "etc/NetworkManager/system-connections", "data", "run"] {
            fs::create_dir_all(home.path().join(folder)).unwrap();
        }
        fs::write(home.path().join("proc/sys/kernel/hostname"), "raspi-mcp\n").unwrap();
        Self { card: Card::of(content), home }
    }

    pub fn folder(&self) -> Folder {
        Folder::at(self.home.path().join("run/raspi-mcp-identity"))
    }

    pub fn root(&self) -> Root {
        Root::at(self.home.path())
    }

    /// Power on: `/run` is empty, and `prepare` runs.
    pub fn starts(&self) -> PrepareResult {
        self.tries_to_start().unwrap()
    }

    pub fn tries_to_start(&self) -> Result<PrepareResult, ToolError> {
        let run = self.home.path().join("run");
        fs::remove_dir_all(&run).unwrap();
        fs::create_dir(&run).unwrap();
        self.prepares()
    }

    pub fn prepares(&self) -> Result<PrepareResult, ToolError> {
        let (root, folder) = (self.root(), self.folder());
        let (disk, root, folder) = (&self.card, &root, &folder);
        prepare(&PrepareSite {
            disk,
            root,
            folder,
            group: None,
            product: PRODUCT,
            approver: agent::approvers::check,
            window: WINDOW,
            open_backup: backup::open_once,
            site_dir: &self.home.path().join("etc/raspi-mcp"),
            agent_dir: &self.home.path().join("var/lib/raspi-mcp-agent"),
        })
    }

    pub fn state(&self) -> StateRecord {
        StateStore::open(&self.card).unwrap().state
    }

    pub fn identity(&self) -> Identity {
        let (identity, faults) = Identity::of(&self.state());
        assert_eq!(faults, [""; 0]);
        identity
    }

    pub fn standing(&self) -> ApplianceState {
        self.folder().standing().unwrap().unwrap()
    }

    pub fn claim(&self) -> Option<CurrentClaim> {
        self.folder().claim().unwrap()
    }

    /// Puts files on partition 1, as its owner's PC does while the machine is off.
    pub fn put(&self, files: Files) {
        self.write(Area::Config, 0, &partition(files));
    }

    pub fn write(&self, area: Area, at: u64, bytes: &[u8]) {
        let device = self.card.open(area, Access::Shared).unwrap();
        device.write(at, bytes).unwrap();
        device.flush().unwrap();
    }

    pub fn reads(&self, path: &str) -> Option<String> {
        fs::read_to_string(self.home.path().join(path)).ok()
    }

    pub fn puts(&self, path: &str, text: &str) {
        fs::write(self.home.path().join(path), text).unwrap();
    }

    /// Whether any byte of partition 1 is that text.
    pub fn has_on_partition_1(&self, text: &str) -> bool {
        has(&self.card.content(), text)
    }
}

pub fn has(card: &Content, text: &str) -> bool {
    card[&Area::Config].windows(text.len()).any(|bytes| bytes == text.as_bytes())
}

/// That card with copy 1 or 2 of its record torn.
pub fn torn(card: &Content, copy: u64) -> Content {
    let mut torn = card.clone();
    let at = (copy * QUARTER) as usize + 100;
    torn.get_mut(&Area::AgentState).unwrap()[at..at + 3000].fill(0x5a);
    torn
}

pub fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o7777
}

/// Every file below a folder, by its name.
pub fn files(folder: &Path) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let name = entry.file_name().into_string().unwrap();
        if entry.path().is_dir() {
            let inner = files(&entry.path()).into_iter().map(|(inner, text)| (format!("{name}/{inner}"), text));
            found.extend(inner.collect::<Vec<_>>());
        } else {
            found.insert(name, fs::read_to_string(entry.path()).unwrap());
        }
    }
    found
}

/// A token and its lines, as `raspi-mcp token new` prints them.
pub fn token(name: &str, role: Role) -> (Token, String) {
    let token = Token::mint().unwrap();
    let hash = token.sha256().hex();
    let lines = format!("[[access.tokens]]\nname = \"{name}\"\nsha256 = \"{hash}\"\nrole = \"{}\"\n", role.name());
    (token, lines)
}

pub fn owner() -> TokenSetting {
    let sha256 = Token::mint().unwrap().sha256();
    TokenSetting { name: "owner".into(), sha256, role: Role::Admin, owner: None, expires: None, devices: Vec::new() }
}
