//! Observers of an install: progress for people, and points at which a test can end the process.

use super::frame::InstallProgress;

/// Points of an install at which the card changes, in order: each is just after what its name says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Point {
    Compared,
    RecordedWriting,
    ZeroedHead,
    WroteBlock,
    Flushed,
    ComputedTree,
    RecordedWritten,
    RecordedVerified,
    WroteHead,
    WroteFirstSector,
    Armed,
}

impl Point {
    pub const ALL: [Self; 11] = [
        Self::Compared,
        Self::RecordedWriting,
        Self::ZeroedHead,
        Self::WroteBlock,
        Self::Flushed,
        Self::ComputedTree,
        Self::RecordedWritten,
        Self::RecordedVerified,
        Self::WroteHead,
        Self::WroteFirstSector,
        Self::Armed,
    ];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Compared => "compared",
            Self::RecordedWriting => "recorded_writing",
            Self::ZeroedHead => "zeroed_head",
            Self::WroteBlock => "wrote_block",
            Self::Flushed => "flushed",
            Self::ComputedTree => "computed_tree",
            Self::RecordedWritten => "recorded_written",
            Self::RecordedVerified => "recorded_verified",
            Self::WroteHead => "wrote_head",
            Self::WroteFirstSector => "wrote_first_sector",
            Self::Armed => "armed",
        }
    }
}

/// An observer. Called from the install's threads; slow code here delays the install.
pub trait InstallObserver: Send + Sync {
    /// That point was just passed.
    fn passed(&self, _point: Point) {}
    /// Reports progress.
    fn progress(&self, _progress: &InstallProgress) {}
    /// Whether the install should be cancelled; checked between blocks.
    fn stopped(&self) -> bool {
        false
    }
}

/// No observer.
pub struct Unwatched;

impl InstallObserver for Unwatched {}
