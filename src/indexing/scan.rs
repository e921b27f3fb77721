//! Compares a folder with what the index has of it, and brings the index up to date.

use super::{Indexing, failed, watch::TreeWatch};
use base::{
    canonical,
    error::ToolError,
    os::{
        beneath::{Beneath, OpenedFile},
        blocking::StopSignal,
        roots::FolderRoot,
        walk::{WalkStep, walk},
    },
};
use rustix::{
    fs::{FileType, Stat},
    io::Errno,
};
use search::{Corpus, Document, PutOutcome, Stamp, chunks, language, text_of};
use std::{collections::BTreeMap, ffi::OsStr, io::Read, path::Path};

/// Bytes of one file that is indexed, at most: larger ones are data.
const LONGEST: u64 = 1 << 20;

/// What came of a scan.
#[derive(Clone, Copy, Debug, Default)]
pub struct ScanOutcome {
    pub skipped: u64,
    pub left_out: u64,
}

impl Indexing {
    /// Scans the folder `start` of a root, a path relative to it, and folders in it that are not watched yet. `whole`: also those
    /// that are.
    ///
    /// # Errors
    /// `unavailable` when the index cannot be used; `cancelled`.
    pub(super) fn scan(
        &self,
        root: &FolderRoot,
        start: &str,
        whole: bool,
        watch: &mut TreeWatch,
        stop: &StopSignal,
    ) -> Result<ScanOutcome, ToolError> {
        let prefix = if start.is_empty() { String::new() } else { format!("{start}/") };
        let mut known = self.using(|index| index.known(Corpus::Files, &root.name, &prefix).map_err(failed))?;
        let mut outcome = ScanOutcome::default();
        let mut opened = root.open();
        if matches!(opened, Err(Errno::NOENT | Errno::NOTDIR)) {
            watch.expect(&root.name, &root.resolved);
            // It may have come meanwhile.
            opened = root.open();
        }
        if opened.is_ok() {
            watch.expect_no_more(&root.name);
        }
        match opened.and_then(|folder| folder.directory(Path::new(start))) {
            Ok(folder) => {
                watch.add(&root.name, start, &folder);
                let mut path = start.as_bytes().to_vec();
                walk(&folder, &mut path, stop, &mut |step| {
                    let WalkStep::Entry { folder, name, path, kind } = step else { return Ok(false) };
                    let Ok(path) = std::str::from_utf8(path) else { return Ok(false) };
                    if name.as_encoded_bytes().starts_with(b".") {
                        return Ok(false);
                    }
                    match kind {
                        FileType::Directory if !whole && watch.has(&root.name, path) => {
                            forget_below(&mut known, path);
                            Ok(false)
                        }
                        FileType::Directory => {
                            if let Ok(child) = folder.child(name) {
                                watch.add(&root.name, path, &child);
                            }
                            Ok(true)
                        }
                        FileType::RegularFile => {
                            let before = known.remove(path);
                            self.file(root, folder, name, path, before, &mut outcome)?;
                            Ok(false)
                        }
                        _ => Ok(false),
                    }
                })?;
            }
            // It is gone, and with it all that was in it.
            Err(Errno::NOENT | Errno::NOTDIR) => watch.forget(&root.name, start),
            Err(fault) => {
                tracing::warn!(root = root.name, folder = start, %fault, "a folder cannot be indexed");
                return Ok(outcome);
            }
        }
        self.using(|index| {
            known.keys().try_for_each(|path| index.remove(Corpus::Files, &root.name, path).map_err(failed))
        })?;
        Ok(outcome)
    }

    /// One file: nothing if it is as the index has it.
    fn file(
        &self,
        root: &FolderRoot,
        folder: &Beneath,
        name: &OsStr,
        path: &str,
        before: Option<Stamp>,
        outcome: &mut ScanOutcome,
    ) -> Result<(), ToolError> {
        // Who may not be read, or is gone by now, is not found either.
        let Ok((OpenedFile::File(file), about)) = folder.regular_here(name) else {
            return self.drop_file(root, path, before);
        };
        let stamp = stamp(&about);
        if before == Some(stamp) {
            return Ok(());
        }
        let most = LONGEST.min(root.max_bytes);
        let mut bytes = Vec::new();
        let read = file.take(most + 1).read_to_end(&mut bytes);
        let text = match read {
            Ok(length) if length as u64 <= most => text_of(&bytes),
            _ => None,
        };
        let Some(text) = text else {
            outcome.skipped += 1;
            return self.drop_file(root, path, before);
        };
        let etag = canonical::sha256_of(&bytes);
        let lang = language(path);
        let chunks = chunks(text, lang == Some("markdown"));
        let document = Document { namespace: &root.name, path, stamp, etag: &etag, lang, chunks: &chunks };
        match self.using(|index| index.put(Corpus::Files, &document).map_err(failed))? {
            PutOutcome::Indexed => {}
            PutOutcome::Full => outcome.left_out += 1,
        }
        Ok(())
    }

    fn drop_file(&self, root: &FolderRoot, path: &str, before: Option<Stamp>) -> Result<(), ToolError> {
        match before {
            Some(_) => self.using(|index| index.remove(Corpus::Files, &root.name, path).map_err(failed)),
            None => Ok(()),
        }
    }
}

/// Takes what is below a folder, which is as it was, off the list.
fn forget_below(known: &mut BTreeMap<String, Stamp>, folder: &str) {
    known.retain(|path, _| !path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/')));
}

fn stamp(about: &Stat) -> Stamp {
    let nanos = i128::from(about.st_mtime) * 1_000_000_000 + i128::from(about.st_mtime_nsec);
    Stamp { size: about.st_size, mtime_ns: i64::try_from(nanos).unwrap_or_default(), inode: about.st_ino.cast_signed() }
}
