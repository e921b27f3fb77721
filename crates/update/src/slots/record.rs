//! Two copies of the state in the raw agent-state area, each with a checksum and a sequence number. The older one is
//! overwritten, so that a power cut leaves the newer one.
//!
//! The area in quarters: the first holds the initramfs' counts ([`super::counter`]) and a mark of it,
//! the second and third a copy each, the fourth is unused. A copy, at the start of its quarter: `RMSTATE1`, sequence
//! and length as little-endian u64, the SHA-256 of those 16 bytes and the JSON, then the JSON, then zeros to the next
//! 4096 bytes.

use super::StateRecord;
use crate::disk::{Access, Area, BlockDevice, Disk};
use base::error::ToolError;
use std::io;

const MAGIC: &[u8; 8] = b"RMSTATE1";
const HEADER: usize = 56;
/// Writes are whole flash pages, as `O_DIRECT` requires too.
const PAGE: usize = 4096;
/// Longest JSON of a record, in bytes: a tenth of a second of a card's writing.
pub const MAX_RECORD: usize = 1 << 20;

/// The storage of the state. Knows which copy is the newer one.
#[derive(Debug)]
pub struct StateStore {
    sequence: u64,
    /// The copy that the next write overwrites.
    older: u64,
}

/// The result of opening.
#[derive(Debug)]
pub struct OpenedStore {
    pub store: StateStore,
    pub state: StateRecord,
    /// Problems for people: torn copies, fields of a newer version. None for an empty area, which is a card from the
    /// factory.
    pub faults: Vec<String>,
}

/// One copy, as read.
enum Copy {
    Empty,
    Torn(String),
    Whole { sequence: u64, json: Vec<u8> },
}

impl StateStore {
    /// Reads both copies; the newer intact one counts. Writes nothing.
    ///
    /// # Errors
    /// Those of [`Disk::open`]; `unavailable` when no copy can be read at all: then nothing may be written either.
    pub fn open(disk: &dyn Disk) -> Result<OpenedStore, ToolError> {
        Self::read_from(&*disk.open(Area::AgentState, Access::Read)?)
    }

    /// The same from the open agent-state area: looking for the card is most of what a reading costs.
    ///
    /// # Errors
    /// `unavailable` as for [`StateStore::open`].
    pub fn read_from(device: &dyn BlockDevice) -> Result<OpenedStore, ToolError> {
        let copies = [0, 1].map(|copy| read(device, copy));
        let mut faults = Vec::new();
        let mut found: Option<(u64, u64, Vec<u8>)> = None;
        let mut unread = Vec::new();
        // The first write of all goes to the first copy, the second one to the other. So a torn copy beside an empty one
        // is a first write that was cut: nothing was recorded before.
        let lost = copies.iter().all(|copy| matches!(copy, Ok(Copy::Torn(_))));
        for (copy, read) in (0..).zip(copies) {
            match read {
                Ok(Copy::Empty) => {}
                Ok(Copy::Torn(why)) => faults.push(format!("copy {} of the state is not whole: {why}", copy + 1)),
                Ok(Copy::Whole { sequence, json }) if found.as_ref().is_none_or(|(newest, ..)| sequence > *newest) => {
                    found = Some((sequence, copy, json));
                }
                Ok(Copy::Whole { .. }) => {}
                Err(error) => {
                    faults.push(format!("copy {} of the state cannot be read: {error}", copy + 1));
                    unread.push(copy);
                }
            }
        }
        let Some((sequence, copy, json)) = found else {
            if !unread.is_empty() {
                return Err(ToolError::unavailable(faults.join("; "))
                    .with("area", Area::AgentState.name())
                    .hint("the card may be worn out: look at the kernel's log, and do not update this machine"));
            }
            return Ok(OpenedStore {
                store: Self { sequence: 0, older: 0 },
                state: StateRecord { lost, ..StateRecord::default() },
                faults,
            });
        };
        let (state, told) = StateRecord::from_json(&json);
        faults.extend(told);
        Ok(OpenedStore { store: Self { sequence, older: 1 - copy }, state, faults })
    }

    /// Writes `state` over the older copy, in one write, and returns when it was read back from the medium.
    ///
    /// # Errors
    /// `resource_exhausted` when it does not fit, `unavailable` when the card fails, `verification_failed` when it
    /// reads back something else. The newer copy is unchanged and still counts; the next write goes to the same place.
    pub fn save(&mut self, disk: &dyn Disk, state: &StateRecord) -> Result<(), ToolError> {
        let device = disk.open(Area::AgentState, Access::Shared)?;
        let quarter = device.size() / 4;
        let record = encode(self.sequence + 1, &state.to_json());
        if record.len() as u64 > quarter || record.len() > MAX_RECORD + PAGE {
            return Err(ToolError::exhausted(format!(
                "the state has {} bytes and does not fit into its record",
                record.len()
            ))
            .with("most_bytes", quarter.min(MAX_RECORD as u64))
            .hint("keep less: copies of network connections, roots of trust"));
        }
        let at = place(quarter, self.older);
        let failed = |error: io::Error| {
            ToolError::unavailable(format!("the state cannot be written: {error}"))
                .with("area", Area::AgentState.name())
                .hint("nothing else was changed; the card may be worn out: look at the kernel's log")
        };
        device.write(at, &record).and_then(|()| device.flush()).map_err(failed)?;
        let mut back = vec![0; record.len()];
        device.read_back(at, &mut back).map_err(failed)?;
        if back != record {
            return Err(ToolError::new(
                base::error::ErrorCode::VerificationFailed,
                "the card gives back another state than was written",
            )
            .with("area", Area::AgentState.name())
            .hint("replace the card: it loses what it is given"));
        }
        self.sequence += 1;
        self.older = 1 - self.older;
        Ok(())
    }

    /// Writes `state`, which is in the newer copy, over the older one as well, unless that is intact and `same` accepts
    /// it as a replacement. Returns whether it was written.
    ///
    /// # Errors
    /// Those of [`Disk::open`] and [`StateStore::save`]. The newer copy is unchanged.
    pub fn save_again(
        &mut self,
        disk: &dyn Disk,
        state: &StateRecord,
        same: impl FnOnce(&StateRecord) -> bool,
    ) -> Result<bool, ToolError> {
        let other = read(&*disk.open(Area::AgentState, Access::Read)?, self.older);
        if let Ok(Copy::Whole { json, .. }) = other
            && same(&StateRecord::from_json(&json).0)
        {
            return Ok(false);
        }
        let one_copy = |error: ToolError| {
            let message = format!("the state is in one copy of its record, not in both: {}", error.message);
            error.with_message(message)
        };
        self.save(disk, state).map_err(one_copy)?;
        Ok(true)
    }
}

fn place(quarter: u64, copy: u64) -> u64 {
    (quarter * (copy + 1)) & !(PAGE as u64 - 1)
}

fn digest(numbers: &[u8], json: &[u8]) -> [u8; 32] {
    let mut sum = ring::digest::Context::new(&ring::digest::SHA256);
    sum.update(numbers);
    sum.update(json);
    let mut digest = [0; 32];
    digest.copy_from_slice(sum.finish().as_ref());
    digest
}

fn encode(sequence: u64, json: &[u8]) -> Vec<u8> {
    let mut record = Vec::with_capacity((HEADER + json.len()).next_multiple_of(PAGE));
    record.extend_from_slice(MAGIC);
    record.extend_from_slice(&sequence.to_le_bytes());
    record.extend_from_slice(&(json.len() as u64).to_le_bytes());
    let sum = digest(&record[8..24], json);
    record.extend_from_slice(&sum);
    record.extend_from_slice(json);
    record.resize(record.len().next_multiple_of(PAGE), 0);
    record
}

fn read(device: &dyn BlockDevice, copy: u64) -> io::Result<Copy> {
    let quarter = device.size() / 4;
    let at = place(quarter, copy);
    let mut header = [0; HEADER];
    device.read(at, &mut header)?;
    if header == [0; HEADER] {
        return Ok(Copy::Empty);
    }
    let number = |at: usize| {
        let mut bytes = [0; 8];
        bytes.copy_from_slice(&header[at..at + 8]);
        u64::from_le_bytes(bytes)
    };
    let (sequence, length) = (number(8), number(16));
    if header[..8] != MAGIC[..] {
        return Ok(Copy::Torn("it does not begin as one".into()));
    }
    let most = quarter.saturating_sub(HEADER as u64).min(MAX_RECORD as u64);
    let Some(length) = usize::try_from(length).ok().filter(|length| *length as u64 <= most) else {
        return Ok(Copy::Torn(format!("its length is {length}, the most is {most}")));
    };
    let mut json = vec![0; length];
    device.read(at + HEADER as u64, &mut json)?;
    if digest(&header[8..24], &json) != header[24..] {
        return Ok(Copy::Torn("its checksum is another".into()));
    }
    // The next number must be larger.
    if sequence == u64::MAX {
        return Ok(Copy::Torn("its number is the last one".into()));
    }
    Ok(Copy::Whole { sequence, json })
}
