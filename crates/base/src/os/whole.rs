//! Atomic replacement of a small file of our own, so that a power cut leaves the old or the new content, and removal.
//! For files that other programs may link to, hold open or change concurrently, use [`super::replace`].

use std::{
    fs::{self, File, OpenOptions},
    io,
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
};

/// Where a file is written before it has the name `path`: beside it, with the extension `new`.
pub fn staged(path: &Path) -> PathBuf {
    path.with_extension("new")
}

/// Replaces `path` with what `fill` writes, and returns when it is on the card under that name. It is first written to
/// [`staged`], with `mode` (less the umask), and removed on failure. One writer at a time.
///
/// # Errors
/// Those of the file system and of `fill`; `NotFound` without the folder.
pub fn replace(path: &Path, mode: u32, fill: impl FnOnce(&mut File) -> io::Result<()>) -> io::Result<()> {
    let new = staged(path);
    let put = || {
        let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(mode).open(&new)?;
        fill(&mut file)?;
        file.sync_all()?;
        fs::rename(&new, path)
    };
    put().inspect_err(|_| drop(fs::remove_file(&new)))?;
    // Sync the folder too, which has the name.
    path.parent().map_or(Ok(()), |folder| File::open(folder)?.sync_all())
}

/// Removes the file `path`, if it exists.
///
/// # Errors
/// Those of the file system, except `NotFound`.
pub fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn what_fails_leaves_the_old_content_and_nothing_beside_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("kept.json");
        replace(&path, 0o600, |file| file.write_all(b"old")).unwrap();
        let fault = replace(&path, 0o600, |file| {
            file.write_all(b"ne")?;
            Err(io::ErrorKind::StorageFull.into())
        });
        assert_eq!(fault.unwrap_err().kind(), io::ErrorKind::StorageFull);
        assert_eq!(fs::read(&path).unwrap(), b"old");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        replace(&path, 0o600, |file| file.write_all(b"new")).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
    }

    #[test]
    fn what_is_removed_twice_is_gone_and_what_cannot_be_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("kept.json");
        fs::write(&path, "x").unwrap();
        remove(&path).unwrap();
        assert!(!path.exists());
        remove(&path).unwrap();
        assert!(remove(folder.path()).is_err(), "a folder is no file");
    }
}
