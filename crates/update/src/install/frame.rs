//! Frames of an install stream: `u32 length of the payload, little-endian | u8 kind | payload`. Each kind has its own
//! limit, checked before memory is allocated.

use base::error::{ErrorCode, ToolError};
use serde::{Deserialize, Serialize};
use std::io::{self, Read, Write};

/// A stored block of at most 1 MiB raw (an incompressible one grows by less than 60 bytes), and its number.
pub const MAX_BLOCK: usize = (1 << 20) + 64;
/// Magic, manifest and signatures (docs/bundle-format.md).
pub const MAX_HEAD: usize = 128 << 10;
/// A piece of the index: no longer than most blocks, so that one buffer serves both.
pub const MAX_INDEX_PIECE: usize = 64 << 10;
/// One bit per block: an index of 16 MiB has fewer than 262144 entries.
pub const MAX_WANTED: usize = 32 << 10;
/// JSON payloads.
pub const MAX_JSON: usize = 32 << 10;
/// Length and kind, in bytes.
pub const HEADER: usize = 5;

/// The kind of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameKind {
    /// To the agent: the bundle's first bytes, up to its index. First frame, once.
    Head,
    /// To the agent: the index, in pieces and in order.
    Index,
    /// To the agent: number of the block (`u32`, little-endian), then its bytes as they are in the bundle.
    Block,
    /// To the agent: all blocks were sent.
    Finish,
    /// To the agent: stop. What is written stays, to be resumed.
    Cancel,
    /// To the server: a bit for each block to be sent, lowest bit first.
    Wanted,
    /// To the server: [`InstallProgress`].
    Progress,
    /// To the server: the error that ended it.
    Failed,
    /// To the server: [`Armed`]; the last frame.
    Armed,
    /// To the server, in answer to the head: it may be installed (the agent's `Judged`).
    Judged,
}

impl FrameKind {
    pub const ALL: [Self; 10] = [
        Self::Head,
        Self::Index,
        Self::Block,
        Self::Finish,
        Self::Cancel,
        Self::Wanted,
        Self::Progress,
        Self::Failed,
        Self::Armed,
        Self::Judged,
    ];

    const fn number(self) -> u8 {
        match self {
            Self::Head => 1,
            Self::Index => 2,
            Self::Block => 3,
            Self::Finish => 4,
            Self::Cancel => 5,
            Self::Wanted => 17,
            Self::Progress => 18,
            Self::Failed => 19,
            Self::Armed => 20,
            Self::Judged => 21,
        }
    }

    /// Longest payload, in bytes.
    pub const fn bound(self) -> usize {
        match self {
            Self::Head => MAX_HEAD,
            Self::Index => MAX_INDEX_PIECE,
            Self::Block => MAX_BLOCK,
            Self::Finish | Self::Cancel => 0,
            Self::Wanted => MAX_WANTED,
            Self::Progress | Self::Failed | Self::Armed | Self::Judged => MAX_JSON,
        }
    }

    /// Whether the server sends it to the agent.
    pub const fn is_for_agent(self) -> bool {
        self.number() < 16
    }
}

/// The header of a payload of `length` bytes.
pub fn header(kind: FrameKind, length: usize) -> [u8; HEADER] {
    let [a, b, c, d] = u32::try_from(length).unwrap_or(u32::MAX).to_le_bytes();
    [a, b, c, d, kind.number()]
}

/// Parses a header: kind, and length of the payload.
///
/// # Errors
/// `invalid_argument` for a kind in the wrong direction, or a length over its limit.
pub fn parse(header: [u8; HEADER], for_agent: bool) -> Result<(FrameKind, usize), ToolError> {
    let [a, b, c, d, number] = header;
    let length = u32::from_le_bytes([a, b, c, d]) as usize;
    let kind = FrameKind::ALL.into_iter().find(|kind| kind.number() == number && kind.is_for_agent() == for_agent);
    let Some(kind) = kind else {
        return Err(ToolError::invalid(format!("an install stream has no frame of kind {number} in this direction"))
            .with("kind", number)
            .hint("both halves come from one package: restart the one that is still the old version"));
    };
    if length > kind.bound() {
        return Err(ToolError::new(
            ErrorCode::ContentTooLarge,
            format!("a frame {kind:?} has {} bytes at most, this one {length}", kind.bound()),
        )
        .with("length", length));
    }
    Ok((kind, length))
}

/// Reads a header and then the payload into `payload`; `None` when the peer closed between two frames.
///
/// # Errors
/// [`parse`]'s; `unavailable` when the peer closed within a frame or reading fails.
pub fn read(from: &mut impl Read, payload: &mut Vec<u8>) -> Result<Option<FrameKind>, ToolError> {
    let mut bytes = [0; HEADER];
    let first = loop {
        match from.read(&mut bytes) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            result => break result.map_err(|error| broken(&error))?,
        }
    };
    if first == 0 {
        return Ok(None);
    }
    from.read_exact(&mut bytes[first..]).map_err(|error| broken(&error))?;
    let (kind, length) = parse(bytes, true)?;
    payload.clear();
    // The buffer is reused between frames; it is at most as long as the longest block.
    payload.resize(length, 0);
    from.read_exact(payload).map_err(|error| broken(&error))?;
    Ok(Some(kind))
}

/// Writes one frame.
///
/// # Errors
/// `unavailable` when the peer is gone or does not read.
pub fn write(to: &mut impl Write, kind: FrameKind, payload: &[u8]) -> Result<(), ToolError> {
    to.write_all(&header(kind, payload.len()))
        .and_then(|()| to.write_all(payload))
        .and_then(|()| to.flush())
        .map_err(|error| broken(&error))
}

/// An error of the stream, not of the update.
pub fn broken(error: &io::Error) -> ToolError {
    ToolError::unavailable(format!("the install stream between the halves broke: {error}"))
        .hint("what is written stays; start the update again and it goes on from there")
}

/// The agent's progress.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "struct Progress")]
pub struct InstallProgress {
    pub phase: crate::status::Phase,
    /// Bytes of the images done in this phase; when writing, these are on the medium.
    pub done: u64,
    /// Bytes of the images in this phase in total.
    pub total: u64,
}

/// The result of an install.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Armed {
    pub version: String,
    pub counter: u64,
    pub manifest_sha256: crate::bundle::Digest,
    pub target: crate::Slot,
    /// Bytes of both images.
    pub total_bytes: u64,
    /// Of them: sent by the server (raw), copied from the running slot or computed (the root's hash tree), zeros, and
    /// already present.
    pub sent_bytes: u64,
    pub copied_bytes: u64,
    pub zeroed_bytes: u64,
    pub kept_bytes: u64,
    /// Milliseconds of each phase.
    pub compare_ms: u64,
    pub write_ms: u64,
    pub verify_ms: u64,
    pub simulated: bool,
}

/// The blocks that the agent needs: one bit each.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NeededBlocks(Vec<u8>);

impl NeededBlocks {
    /// None of `blocks` blocks.
    pub fn none(blocks: u32) -> Self {
        Self(vec![0; blocks.div_ceil(8) as usize])
    }

    /// From the bytes of a frame.
    pub fn from_bytes(bytes: &[u8]) -> Self {
        Self(bytes.to_vec())
    }

    pub fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// Sets or clears block `n`, which must be below the number of blocks.
    pub fn set(&mut self, n: u32, wanted: bool) {
        if let Some(byte) = self.0.get_mut(n as usize / 8) {
            let bit = 1 << (n % 8);
            *byte = if wanted { *byte | bit } else { *byte & !bit };
        }
    }

    pub fn contains(&self, n: u32) -> bool {
        self.0.get(n as usize / 8).is_some_and(|byte| byte & (1 << (n % 8)) != 0)
    }

    pub fn count(&self) -> u32 {
        self.0.iter().map(|byte| byte.count_ones()).sum()
    }

    pub fn is_empty(&self) -> bool {
        self.0.iter().all(|byte| *byte == 0)
    }

    /// The block numbers, ascending.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        (0..self.0.len() as u32 * 8).filter(|n| self.contains(*n))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_comes_back_as_it_went() {
        let mut wire = Vec::new();
        write(&mut wire, FrameKind::Block, b"\x07\0\0\0stored").unwrap();
        write(&mut wire, FrameKind::Finish, b"").unwrap();
        let (mut from, mut payload) = (wire.as_slice(), vec![1; 9000]);
        assert_eq!(read(&mut from, &mut payload).unwrap(), Some(FrameKind::Block));
        assert_eq!(payload, b"\x07\0\0\0stored");
        assert_eq!(read(&mut from, &mut payload).unwrap(), Some(FrameKind::Finish));
        assert_eq!(read(&mut from, &mut payload).unwrap(), None);
    }

    #[test]
    fn bad_frames_are_refused_before_memory_is_spent() {
        let endless = header(FrameKind::Block, MAX_BLOCK + 1);
        assert_eq!(parse(endless, true).unwrap_err().code, ErrorCode::ContentTooLarge);
        assert_eq!(parse(header(FrameKind::Finish, 1), true).unwrap_err().code, ErrorCode::ContentTooLarge);
        assert_eq!(parse([0, 0, 0, 0, 9], true).unwrap_err().code, ErrorCode::InvalidArgument);
        for kind in FrameKind::ALL {
            assert_eq!(parse(header(kind, 0), kind.is_for_agent()).unwrap(), (kind, 0));
            assert!(parse(header(kind, 0), !kind.is_for_agent()).is_err(), "{kind:?} the other way");
        }
        let cut = &header(FrameKind::Block, 100)[..3];
        assert_eq!(read(&mut &*cut, &mut Vec::new()).unwrap_err().code, ErrorCode::Unavailable);
        let short = [&header(FrameKind::Block, 100)[..], b"abc"].concat();
        assert_eq!(read(&mut short.as_slice(), &mut Vec::new()).unwrap_err().code, ErrorCode::Unavailable);
    }

    #[test]
    fn wanted_is_a_bit_a_block() {
        let mut wanted = NeededBlocks::none(11);
        assert!(wanted.is_empty() && wanted.bytes().len() == 2);
        wanted.set(0, true);
        wanted.set(10, true);
        wanted.set(99, true);
        assert_eq!(wanted.iter().collect::<Vec<_>>(), [0, 10]);
        wanted.set(0, false);
        assert_eq!((wanted.count(), wanted.contains(10), wanted.contains(3000)), (1, true, false));
        assert_eq!(NeededBlocks::from_bytes(wanted.bytes()), wanted);
    }
}
