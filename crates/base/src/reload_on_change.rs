//! A value built from files, and rebuilt when they change. Checked on access, with one `stat` per file that exists and one per
//! folder: no watching, no wake-ups.

use crate::file_stamps::FileStamps;
use std::{
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

type Make<T> = Box<dyn Fn(&[PathBuf]) -> Result<T, String> + Send + Sync>;

/// A value and its files.
pub struct ReloadOnChange<T> {
    files: Vec<PathBuf>,
    make: Make<T>,
    held: Mutex<Held<T>>,
}

struct Held<T> {
    stamps: FileStamps,
    value: Arc<T>,
    /// Why the current files are invalid.
    fault: Option<String>,
}

impl<T> ReloadOnChange<T> {
    /// Builds it for the first time.
    ///
    /// # Errors
    /// Those of `make`.
    pub fn new(
        files: Vec<PathBuf>,
        make: impl Fn(&[PathBuf]) -> Result<T, String> + Send + Sync + 'static,
    ) -> Result<Self, String> {
        // Taken before reading, so that a change meanwhile is noticed the next time.
        let stamps = FileStamps::of(&files);
        let value = Arc::new(make(&files)?);
        Ok(Self { files, make: Box::new(make), held: Mutex::new(Held { stamps, value, fault: None }) })
    }

    /// For files that always give a value, even when they do not exist.
    pub fn sure(files: Vec<PathBuf>, make: impl Fn(&[PathBuf]) -> T + Send + Sync + 'static) -> Self {
        let stamps = FileStamps::of(&files);
        let value = Arc::new(make(&files));
        Self {
            files,
            make: Box::new(move |files| Ok(make(files))),
            held: Mutex::new(Held { stamps, value, fault: None }),
        }
    }

    /// A value that exists already, with the function that rebuilds it when one of the files has changed. It is rebuilt
    /// on first access as well, because a file may have changed since. Without files it stays as it is.
    pub fn after(
        value: T,
        files: Vec<PathBuf>,
        make: impl Fn(&[PathBuf]) -> Result<T, String> + Send + Sync + 'static,
    ) -> Self {
        let held = Held { stamps: FileStamps::default(), value: Arc::new(value), fault: None };
        Self { files, make: Box::new(make), held: Mutex::new(held) }
    }

    /// The value as of the last access.
    pub fn held(&self) -> Arc<T> {
        Arc::clone(&self.lock().value)
    }

    /// Why the files were invalid at the last access.
    pub fn fault(&self) -> Option<String> {
        self.lock().fault.clone()
    }

    fn lock(&self) -> MutexGuard<'_, Held<T>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The value for the current files. If they are invalid (for example half written), the last good value stays, and
    /// the error is logged once.
    pub fn get(&self) -> Arc<T> {
        let mut held = self.lock();
        if let Some(now) = held.stamps.changed(&self.files) {
            match (self.make)(&self.files) {
                Ok(value) => {
                    for file in now.differences(&held.stamps, &self.files) {
                        tracing::info!(target: "raspi_mcp::watched", file = %file.display(), "read again after a change");
                    }
                    held.value = Arc::new(value);
                    held.fault = None;
                }
                Err(error) => {
                    tracing::error!(target: "raspi_mcp::watched", %error, "a changed file cannot be used; what it held before stays in force");
                    held.fault = Some(error);
                }
            }
            held.stamps = now;
        }
        Arc::clone(&held.value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_change_counts_and_a_bad_one_does_not() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("number");
        let read = |files: &[PathBuf]| -> Result<u32, String> {
            let text = fs::read_to_string(&files[0]).map_err(|error| error.to_string())?;
            text.parse().map_err(|_| format!("{text} is no number"))
        };
        assert!(ReloadOnChange::new(vec![file.clone()], read).is_err(), "it must be there at first");
        // Renamed into place, so that even within one tick of the clock the inode tells.
        let put = |text: &str| {
            fs::write(folder.path().join("new"), text).unwrap();
            fs::rename(folder.path().join("new"), &file).unwrap();
        };
        put("1");
        let number = ReloadOnChange::new(vec![file.clone()], read).unwrap();
        assert_eq!(*number.get(), 1);
        put("20");
        assert_eq!(*number.get(), 20);
        put("twenty");
        assert_eq!(*number.get(), 20);
        fs::remove_file(&file).unwrap();
        assert_eq!(*number.get(), 20);
        put("300");
        assert_eq!(*number.get(), 300);
    }
}
