//! Stores fetched blocks until all are complete: a sparse copy of the bundle, named by its manifest's hash.
//!
//! Its content is not trusted. Blocks are hashed when they arrive, and again when the file is opened after a restart,
//! so no separate list of blocks is needed. A power cut loses only what was not on the card yet.

use super::{
    pieces::{BlockOrder, StoredBlocks, WantedBlock, bytes, wants},
    room,
};
use base::{
    error::{ErrorCode, ToolError},
    os::{blocking::StopSignal, lock::Lock},
};
use rustix::{
    fs::{OFlags, SeekFrom, fdatasync, seek},
    io::Errno,
};
use std::{
    fs::{self, DirBuilder, File},
    io,
    os::unix::fs::{DirBuilderExt, FileExt, OpenOptionsExt},
    path::{Path, PathBuf},
    sync::Arc,
};
use update::bundle::Digest;

/// Bytes between two syncs to the card. Each sync takes a fraction of a second.
const BATCH: u64 = 8 << 20;
const SUFFIX: &str = "blocks";

/// The spool of one bundle. Its methods do blocking disk I/O.
pub struct Spool {
    path: PathBuf,
    file: Lock,
    pieces: Arc<dyn StoredBlocks>,
    /// A bit for each valid block.
    have: Vec<u64>,
    /// Bytes since the last sync.
    unsynced: u64,
    reserve: u64,
}

impl std::fmt::Debug for Spool {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "Spool({})", self.path.display())
    }
}

impl Spool {
    /// Opens the spool of the bundle `manifest` in `dir`, removes those of other bundles, and hashes the existing
    /// blocks of `numbers`. `reserve`: bytes of the file system to keep free.
    ///
    /// # Errors
    /// `conflict` when another process fetches the same bundle; `resource_exhausted` or `unavailable` when the folder
    /// cannot be used.
    pub fn open(
        dir: &Path,
        manifest: &Digest,
        pieces: Arc<dyn StoredBlocks>,
        numbers: impl IntoIterator<Item = u32>,
        reserve: u64,
        stop: &StopSignal,
    ) -> Result<Self, ToolError> {
        let bad = |error: io::Error| unusable(dir, &error);
        DirBuilder::new().recursive(true).mode(0o700).create(dir).map_err(bad)?;
        let path = dir.join(format!("{manifest}.{SUFFIX}"));
        let flags = i32::try_from((OFlags::NOFOLLOW | OFlags::CLOEXEC).bits()).unwrap_or_default();
        let file = File::options()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .custom_flags(flags)
            .open(&path)
            .map_err(bad)?;
        let file = Lock::take(file).map_err(bad)?.ok_or_else(|| {
            ToolError::new(ErrorCode::Conflict, "this bundle is being fetched already, by another process")
                .hint("wait for it, or look at `raspi-mcp slot status`")
        })?;
        sweep(dir, Some(manifest));
        let mut spool = Self { path, file, pieces, have: Vec::new(), unsynced: 0, reserve };
        spool.look(numbers, stop)?;
        Ok(spool)
    }

    /// Sets a bit for each valid block. Reads only written parts of the file.
    fn look(&mut self, numbers: impl IntoIterator<Item = u32>, stop: &StopSignal) -> Result<(), ToolError> {
        let wants = wants(&*self.pieces, numbers, BlockOrder::Any);
        let mut written = 0..0;
        for want in wants {
            stop.check()?;
            if want.start >= written.end {
                written = self.data(want.start).map_err(|error| self.broken(&error.into()))?;
            }
            if want.start >= written.start
                && want.end() <= written.end
                && self.right(want).is_ok_and(|found| found.is_some())
            {
                self.mark(want.n);
            }
        }
        Ok(())
    }

    /// The first written range at or after `from` (lseek(2), `SEEK_DATA`); an empty range at the end of the file.
    fn data(&self, from: u64) -> Result<std::ops::Range<u64>, Errno> {
        match seek(&*self.file, SeekFrom::Data(from)) {
            Ok(start) => Ok(start..seek(&*self.file, SeekFrom::Hole(start))?),
            // No data after `from`.
            Err(Errno::NXIO) => Ok(u64::MAX..u64::MAX),
            Err(error) => Err(error),
        }
    }

    /// The bytes of a block, if their hash is correct.
    fn right(&self, want: WantedBlock) -> io::Result<Option<Vec<u8>>> {
        let mut stored = vec![0; want.length as usize];
        self.file.read_exact_at(&mut stored, want.start)?;
        let sound = self.pieces.piece(want.n).is_some_and(|piece| piece.sha256 == Digest::of(&stored));
        Ok(sound.then_some(stored))
    }

    fn mark(&mut self, n: u32) {
        let (word, bit) = (n as usize / 64, n % 64);
        if self.have.len() <= word {
            self.have.resize(word + 1, 0);
        }
        self.have[word] |= 1 << bit;
    }

    /// Whether block `n` is in the spool.
    pub fn has(&self, n: u32) -> bool {
        self.have.get(n as usize / 64).is_some_and(|word| word >> (n % 64) & 1 == 1)
    }

    /// Those of `numbers` that have bytes and are not in the spool, and their total number of bytes in the bundle.
    pub fn missing(&self, numbers: impl IntoIterator<Item = u32>) -> (Vec<u32>, u64) {
        let wants = wants(&*self.pieces, numbers.into_iter().filter(|n| !self.has(*n)), BlockOrder::Any);
        (wants.iter().map(|want| want.n).collect(), bytes(&wants))
    }

    /// Checks that the reserve stays free after `bytes` more.
    ///
    /// # Errors
    /// `resource_exhausted` with the numbers, if not.
    pub fn room_for(&self, bytes: u64) -> Result<(), ToolError> {
        let dir = self.path.parent().unwrap_or(Path::new("/"));
        let free = room::free(dir).map_err(|error| self.broken(&error))?;
        if free.saturating_sub(self.reserve) >= bytes {
            return Ok(());
        }
        Err(ToolError::exhausted(format!(
            "{bytes} bytes of the update are missing, and {} has {free} free, of which {} stay free",
            dir.display(),
            self.reserve
        ))
        .with("needed_bytes", bytes)
        .with("free_bytes", free)
        .with("reserve_bytes", self.reserve)
        .hint("make room, or set update.spool_dir to a larger file system"))
    }

    /// Stores a block whose hash was verified ([`super::Blocks::next`]). Syncs after every 8 MiB.
    ///
    /// # Errors
    /// `resource_exhausted` when the disk is full, `unavailable` when it fails.
    pub fn put(&mut self, n: u32, stored: &[u8]) -> Result<(), ToolError> {
        let Some(piece) =
            self.pieces.piece(n).filter(|piece| piece.stored.end - piece.stored.start == stored.len() as u64)
        else {
            return Err(ToolError::internal(format!("block {n} has no {} bytes", stored.len())));
        };
        self.file.write_all_at(stored, piece.stored.start).map_err(|error| self.broken(&error))?;
        self.mark(n);
        self.unsynced += stored.len() as u64;
        if self.unsynced >= BATCH { self.sync() } else { Ok(()) }
    }

    /// Syncs all stored blocks to the card.
    ///
    /// # Errors
    /// `unavailable` when the disk fails.
    pub fn sync(&mut self) -> Result<(), ToolError> {
        fdatasync(&*self.file).map_err(|error| self.broken(&error.into()))?;
        self.unsynced = 0;
        Ok(())
    }

    /// Reads a stored block and verifies its hash again, because the disk may have changed it.
    ///
    /// # Errors
    /// `verification_failed` when it has changed; it then counts as missing. `unavailable` when the disk fails.
    pub fn take(&mut self, n: u32) -> Result<Vec<u8>, ToolError> {
        let want = wants(&*self.pieces, [n], BlockOrder::Any).first().copied().filter(|_| self.has(n));
        let Some(want) = want else { return Err(ToolError::internal(format!("block {n} is not in the spool"))) };
        if let Some(stored) = self.right(want).map_err(|error| self.broken(&error))? {
            return Ok(stored);
        }
        self.have[n as usize / 64] &= !(1 << (n % 64));
        Err(ToolError::new(
            ErrorCode::VerificationFailed,
            format!("block {n} changed on the disk since it was fetched, in {}", self.path.display()),
        )
        .hint("start the update again: this block is fetched anew; check the disk when it happens again"))
    }

    /// Removes the spool, when the update is in its slot or no longer wanted.
    ///
    /// # Errors
    /// `unavailable` when the folder cannot be written.
    pub fn remove(self) -> Result<(), ToolError> {
        fs::remove_file(&self.path).map_err(|error| self.broken(&error))
    }

    fn broken(&self, error: &io::Error) -> ToolError {
        unusable(&self.path, error)
    }
}

fn unusable(path: &Path, error: &io::Error) -> ToolError {
    let full = matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded);
    let code = if full { ErrorCode::ResourceExhausted } else { ErrorCode::Unavailable };
    ToolError::new(code, format!("blocks of the update cannot be kept in {}: {error}", path.display()))
        .with("path", path.display().to_string())
        .hint("what is there is kept; make room or mend the disk, or set update.spool_dir to another folder")
}

/// Removes unused spools in `dir`, except that of `keep`. Other files are ignored, and so is a spool that cannot be
/// removed: it only takes space.
pub fn sweep(dir: &Path, keep: Option<&Digest>) {
    let kept = keep.map(|digest| format!("{digest}.{SUFFIX}"));
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let ours =
            name.to_str().and_then(|name| name.strip_suffix(SUFFIX)?.strip_suffix('.')).and_then(Digest::from_hex);
        if ours.is_none() || name.to_str() == kept.as_deref() {
            continue;
        }
        let unused = File::open(entry.path()).and_then(Lock::take).is_ok_and(|lock| lock.is_some());
        if unused && let Err(error) = fs::remove_file(entry.path()) {
            tracing::warn!(target: "raspi_mcp::update::fetch::spool", "an old download stays in {}: {error}", entry.path().display());
        }
    }
}
