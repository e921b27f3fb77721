//! Stored photos: written atomically under generated names, found by name, and removed when there are too many, they
//! are too large in total, or too old.
//!
//! Only regular files with generated names are counted, read or removed; other files in the folder are left alone. All
//! accesses are relative to the opened folder, so no link in it leads out.

use super::port::PictureFormat;
use base::{
    clock,
    error::{ErrorCode, ToolError},
    os::{
        beneath::{Beneath, OpenedFile},
        blocking::StopSignal,
        replace::{Over, ReplacementFile, sync_folder},
    },
};
use rustix::{
    fs::{AtFlags, Dir, FileType, unlinkat},
    io::Errno,
};
use std::{
    ffi::OsStr,
    fs::DirBuilder,
    io::Read,
    os::unix::fs::DirBuilderExt,
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};
use time::{Date, Duration, Month, OffsetDateTime, Time};

/// The pattern of names, for schemas: time in UTC, to the millisecond; eight random digits; the format.
pub const NAMES: &str = r"^[0-9]{8}T[0-9]{9}Z-[0-9a-f]{8}\.(jpg|png)$";

/// The name of a photo: `20261122T081600123Z-1f9a03c7.jpg`. Alphabetical order is order of time.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PhotoName(String);

impl PhotoName {
    /// Generates a name. Random, so that photos of one millisecond differ and names cannot be guessed.
    fn new(now: OffsetDateTime, format: PictureFormat) -> Result<Self, ToolError> {
        let mut random = [0u8; 4];
        ring::rand::SecureRandom::fill(&ring::rand::SystemRandom::new(), &mut random)
            .map_err(|_| ToolError::unavailable("the kernel gives no random numbers"))?;
        let stamp: String = clock::stamp(now).chars().filter(|c| !matches!(c, '-' | ':' | '.')).collect();
        Ok(Self(format!("{stamp}-{:08x}.{}", u32::from_be_bytes(random), format.extension())))
    }

    /// Parses a name.
    pub fn parse(text: &str) -> Option<Self> {
        let bytes = text.as_bytes();
        let digits = |range: std::ops::Range<usize>| bytes[range].iter().all(u8::is_ascii_digit);
        let good = bytes.len() == 32
            && digits(0..8)
            && bytes[8] == b'T'
            && digits(9..18)
            && &bytes[18..20] == b"Z-"
            && bytes[20..28].iter().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
            && matches!(&bytes[28..], b".jpg" | b".png");
        good.then(|| Self(text.to_owned()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub fn format(&self) -> PictureFormat {
        if self.0.ends_with(".png") { PictureFormat::Png } else { PictureFormat::Jpeg }
    }

    /// When it was taken; `None` for digits that are not a date.
    pub fn taken(&self) -> Option<OffsetDateTime> {
        let number = |range: std::ops::Range<usize>| self.0[range].parse::<u16>().ok();
        let small = |at: usize| self.0[at..at + 2].parse::<u8>().ok();
        let date =
            Date::from_calendar_date(i32::from(number(0..4)?), Month::try_from(small(4)?).ok()?, small(6)?).ok()?;
        let time = Time::from_hms_milli(small(9)?, small(11)?, small(13)?, number(15..18)?).ok()?;
        Some(date.with_time(time).assume_utc())
    }
}

/// A stored photo.
#[derive(Debug)]
pub struct StoredPhoto {
    pub name: PhotoName,
    pub path: PathBuf,
    pub taken: OffsetDateTime,
    /// Number of older ones that were removed for it.
    pub removed: usize,
}

/// The folder and its limits.
#[derive(Debug)]
pub struct PhotoStore {
    /// Resolved when the server started.
    pub dir: PathBuf,
    pub max_photos: usize,
    pub max_bytes: u64,
    pub max_age: Duration,
    /// Held during a write or removal, so that counts stay correct.
    changing: Mutex<()>,
}

impl PhotoStore {
    pub fn new(dir: PathBuf, max_photos: usize, max_bytes: u64, max_age_days: u32) -> Self {
        Self { dir, max_photos, max_bytes, max_age: Duration::days(max_age_days.into()), changing: Mutex::new(()) }
    }

    /// Removes photos beyond the limits. Returns their number; without a folder there is nothing to do.
    ///
    /// # Errors
    /// When the folder cannot be used, or a file in it cannot be removed.
    pub fn tidy(&self, now: OffsetDateTime, stop: &StopSignal) -> Result<usize, ToolError> {
        let _changing = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
        match self.open() {
            Ok(folder) => self.make_room(&folder, now, 0, 0, stop),
            Err(Errno::NOENT) => Ok(0),
            Err(fault) => Err(self.fault(fault)),
        }
    }

    /// Stores a photo. Older ones are removed first, so the limits hold at any time.
    ///
    /// # Errors
    /// Those of [`PhotoStore::tidy`]; `resource_exhausted` on a full disk; `content_too_large` when it alone exceeds
    /// the total.
    pub fn keep(
        &self,
        bytes: &[u8],
        format: PictureFormat,
        now: OffsetDateTime,
        stop: &StopSignal,
    ) -> Result<StoredPhoto, ToolError> {
        let size = bytes.len() as u64;
        if size > self.max_bytes {
            return Err(ToolError::new(
                ErrorCode::ContentTooLarge,
                format!("the photo has {size} bytes, and all photos together may have {}", self.max_bytes),
            )
            .with("limit_bytes", self.max_bytes)
            .hint("take a smaller one, format jpeg, or raise camera.max_bytes"));
        }
        let _changing = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
        let fault = |fault| self.fault(fault);
        // Photos may show a home: only the server's user has access.
        if let Err(error) = DirBuilder::new().recursive(true).mode(0o700).create(&self.dir) {
            return Err(fault(Errno::from_io_error(&error).unwrap_or(Errno::IO)));
        }
        let folder = self.open().map_err(fault)?;
        let removed = self.make_room(&folder, now, 1, size, stop)?;
        stop.check()?;
        let mut draft = ReplacementFile::new(&folder).map_err(fault)?;
        draft.fill(bytes).map_err(fault)?;
        let name = PhotoName::new(now, format)?;
        draft.place(OsStr::new(name.as_str()), Over::Nothing).map_err(fault)?;
        Ok(StoredPhoto { path: self.dir.join(name.as_str()), name, taken: now, removed })
    }

    /// The name of the newest photo.
    ///
    /// # Errors
    /// `not_found` while there is none, and when the folder cannot be read.
    pub fn newest(&self, stop: &StopSignal) -> Result<PhotoName, ToolError> {
        let kept = match self.open() {
            Ok(folder) => self.photos(&folder, stop)?,
            Err(Errno::NOENT) => Vec::new(),
            Err(fault) => return Err(self.fault(fault)),
        };
        let none = || {
            ToolError::not_found("there is no photo yet")
                .with("parameter", "name")
                .hint("take one with camera.take_photo")
        };
        kept.into_iter().next_back().map(|(name, _)| name).ok_or_else(none)
    }

    /// Reads a photo, at most `limit` bytes.
    ///
    /// # Errors
    /// `not_found`, `content_too_large`, and when it cannot be read.
    pub fn read(&self, name: &PhotoName, limit: u64) -> Result<Vec<u8>, ToolError> {
        let absent = || {
            ToolError::not_found(format!("there is no photo {}", name.as_str()))
                .with("parameter", "name")
                .with("name", name.as_str())
                .hint("camera.take_photo tells the name of each; old ones go (camera.max_photos, max_bytes, max_age_days)")
        };
        let found = self.open().and_then(|folder| folder.regular_here(OsStr::new(name.as_str())));
        let (file, about) = match found {
            Ok((OpenedFile::File(file), about)) => (file, about),
            // A link or folder was not created here.
            Ok((OpenedFile::Other(_), _)) | Err(Errno::NOENT | Errno::LOOP) => return Err(absent()),
            Err(fault) => return Err(self.fault(fault)),
        };
        let size = u64::try_from(about.st_size).unwrap_or_default();
        let too_large = |size: u64| {
            ToolError::new(ErrorCode::ContentTooLarge, format!("the photo has {size} bytes; an answer holds {limit}"))
                .with("limit_bytes", limit)
                .hint("fetch it over HTTP at /photos/ followed by its name, or raise limits.max_response_bytes")
        };
        if size > limit {
            return Err(too_large(size));
        }
        let mut bytes = Vec::with_capacity(size as usize);
        let read = file.take(limit + 1).read_to_end(&mut bytes);
        read.map_err(|error| self.fault(Errno::from_io_error(&error).unwrap_or(Errno::IO)))?;
        if bytes.len() as u64 > limit {
            return Err(too_large(bytes.len() as u64));
        }
        Ok(bytes)
    }

    /// Opens the folder.
    fn open(&self) -> Result<Beneath, Errno> {
        Beneath::folder(&self.dir)?.directory(Path::new(""))
    }

    /// Removes expired photos, and the oldest until `photos` more, with `bytes` in total, stay within the limits.
    fn make_room(
        &self,
        folder: &Beneath,
        now: OffsetDateTime,
        photos: usize,
        bytes: u64,
        stop: &StopSignal,
    ) -> Result<usize, ToolError> {
        let kept = self.photos(folder, stop)?;
        let (mut count, mut sum) = (kept.len() + photos, kept.iter().map(|(_, size)| size).sum::<u64>() + bytes);
        let mut removed = 0;
        for (name, size) in &kept {
            // In order of time: the first that is not expired ends the removal by age.
            let old = name.taken().is_none_or(|taken| now - taken > self.max_age);
            if !old && count <= self.max_photos && sum <= self.max_bytes {
                break;
            }
            match unlinkat(folder, name.as_str(), AtFlags::empty()) {
                // Removed by another process already.
                Ok(()) | Err(Errno::NOENT) => {}
                Err(fault) => {
                    return Err(self.fault(fault).with("name", name.as_str()).hint(
                        "an old photo could not be removed, so no new one is kept; is the folder the server's own?",
                    ));
                }
            }
            (count, sum, removed) = (count - 1, sum - size, removed + 1);
        }
        if removed > 0 {
            sync_folder(folder).map_err(|fault| self.fault(fault))?;
        }
        Ok(removed)
    }

    /// All photos with their sizes, oldest first.
    fn photos(&self, folder: &Beneath, stop: &StopSignal) -> Result<Vec<(PhotoName, u64)>, ToolError> {
        let fault = |fault| self.fault(fault);
        // A separate descriptor: reading a directory moves its position.
        let mut found = Vec::new();
        for entry in Dir::read_from(folder.directory(Path::new("")).map_err(fault)?).map_err(fault)? {
            stop.check()?;
            let entry = entry.map_err(fault)?;
            let Some(name) = entry.file_name().to_str().ok().and_then(PhotoName::parse) else { continue };
            match folder.look(OsStr::new(name.as_str())).map_err(fault)? {
                Some(about) if FileType::from_raw_mode(about.st_mode) == FileType::RegularFile => {
                    found.push((name, u64::try_from(about.st_size).unwrap_or_default()));
                }
                _ => {}
            }
        }
        base::sort::sort(&mut found);
        Ok(found)
    }

    fn fault(&self, fault: Errno) -> ToolError {
        let shown = self.dir.display();
        let error = match fault {
            Errno::NOSPC | Errno::DQUOT => ToolError::exhausted(format!("there is no space left in {shown}"))
                .hint("make space, or lower camera.max_bytes so that old photos go sooner"),
            Errno::ROFS | Errno::ACCESS | Errno::PERM => ToolError::unavailable(format!(
                "photos cannot be kept in {shown}: {fault}"
            ))
            .hint("camera.dir must be the server's own; as a service it also needs ReadWritePaths= in a drop-in"),
            _ => ToolError::unavailable(format!("photos cannot be kept in {shown}: {fault}"))
                .hint("camera.dir must be a folder of the server's own, without symbolic links"),
        };
        error.with("resource", shown.to_string())
    }
}
