//! Tells by `stat` whether files have changed. A file that does not exist is not looked for again while its folder is unchanged.

use std::{
    fs, io,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

/// A folder is believed to be unchanged only if its time of modification was older than this when it was read: a later change then
/// has another time. FAT has the coarsest times, of 2 s.
const SETTLED: Duration = Duration::from_secs(3);

/// What `stat` says: modified (seconds, nanoseconds), size, inode.
type Identity = (i64, i64, u64, u64);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stamp {
    Is(Identity),
    /// There is no such name in the folder.
    Absent,
    /// It cannot be read, or is a link that leads nowhere.
    Unknown,
}

#[derive(Debug)]
struct Folder {
    path: PathBuf,
    stamp: Stamp,
    is_settled: bool,
}

/// The state of a list of files, which is always the same list. The default differs from every state of one file or more.
#[derive(Debug, Default)]
pub struct FileStamps {
    files: Vec<Stamp>,
    folders: Vec<Folder>,
}

impl FileStamps {
    /// The state now.
    pub fn of(files: &[PathBuf]) -> Self {
        Self::default().now(files)
    }

    /// The state now, if it is not this one.
    pub fn changed(&mut self, files: &[PathBuf]) -> Option<Self> {
        let now = self.now(files);
        if now.files == self.files {
            self.folders = now.folders;
            return None;
        }
        Some(now)
    }

    /// The files whose state here is not the one in `before`.
    pub fn differences<'a>(&'a self, before: &'a Self, files: &'a [PathBuf]) -> impl Iterator<Item = &'a PathBuf> {
        let both = self.files.iter().zip(&before.files);
        files.iter().zip(both).filter(|(_, (now, before))| now != before).map(|(file, _)| file)
    }

    fn now(&self, files: &[PathBuf]) -> Self {
        // Read before the files, so that a change meanwhile is noticed the next time.
        let mut folders: Vec<Folder> = Vec::with_capacity(self.folders.len());
        let mut stamps = Vec::with_capacity(files.len());
        for (at, file) in files.iter().enumerate() {
            let path = file.parent().unwrap_or(Path::new("."));
            let folder = match folders.iter().position(|folder| folder.path == path) {
                Some(known) => &folders[known],
                None => {
                    folders.push(Folder::read(path));
                    &folders[folders.len() - 1]
                }
            };
            let still_absent = self.files.get(at) == Some(&Stamp::Absent) && self.has_settled(folder);
            stamps.push(if still_absent { Stamp::Absent } else { stamp(file) });
        }
        Self { files: stamps, folders }
    }

    /// Whether a folder has been as it is since the last look.
    fn has_settled(&self, folder: &Folder) -> bool {
        let same = |before: &&Folder| before.path == folder.path && before.stamp == folder.stamp;
        self.folders.iter().find(same).is_some_and(|before| before.is_settled)
    }
}

impl Folder {
    fn read(path: &Path) -> Self {
        let stamp = stamp(path);
        let is_settled = match stamp {
            Stamp::Is((seconds, ..)) => {
                let modified = SystemTime::UNIX_EPOCH + Duration::from_secs(seconds.try_into().unwrap_or(0));
                SystemTime::now().duration_since(modified).is_ok_and(|age| age > SETTLED)
            }
            // A folder that comes into being is seen at once.
            Stamp::Absent => true,
            Stamp::Unknown => false,
        };
        Self { path: path.to_owned(), stamp, is_settled }
    }
}

fn stamp(path: &Path) -> Stamp {
    match fs::metadata(path) {
        Ok(data) => Stamp::Is((data.mtime(), data.mtime_nsec(), data.size(), data.ino())),
        Err(error) if error.kind() == io::ErrorKind::NotFound && fs::symlink_metadata(path).is_err() => Stamp::Absent,
        Err(_) => Stamp::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn age(path: &Path, seconds: u64) {
        fs::File::open(path).unwrap().set_modified(SystemTime::now() - Duration::from_secs(seconds)).unwrap();
    }

    #[test]
    fn files_come_change_and_go() {
        let folder = tempfile::tempdir().unwrap();
        let files = ["one", "two"].map(|name| folder.path().join("site").join(name)).to_vec();
        let mut stamps = FileStamps::of(&files);
        assert!(stamps.changed(&files).is_none(), "there is not even a folder");
        fs::create_dir(folder.path().join("site")).unwrap();
        assert!(stamps.changed(&files).is_none(), "an empty folder changes no file");
        let mut changes = |what: &[&str]| {
            let changed = stamps.changed(&files).map(|now| {
                let names: Vec<_> =
                    now.differences(&stamps, &files).map(|file| file.file_name().unwrap().to_owned()).collect();
                stamps = now;
                names
            });
            assert_eq!(changed.unwrap_or_default(), what);
        };
        // In the same tick of the clock as the folder.
        fs::write(&files[1], "two").unwrap();
        changes(&["two"]);
        changes(&[]);
        age(&folder.path().join("site"), 60);
        changes(&[]);
        changes(&[]);
        // A change in place, where the folder stays as it is.
        fs::write(&files[1], "three").unwrap();
        changes(&["two"]);
        fs::write(&files[0], "one").unwrap();
        changes(&["one"]);
        fs::remove_file(&files[1]).unwrap();
        changes(&["two"]);
        fs::remove_dir_all(folder.path().join("site")).unwrap();
        changes(&["one"]);
        changes(&[]);
    }

    #[test]
    fn a_link_is_followed_into_another_folder() {
        let folder = tempfile::tempdir().unwrap();
        let (site, target) = (folder.path().join("site"), folder.path().join("target"));
        fs::create_dir(&site).unwrap();
        std::os::unix::fs::symlink(&target, site.join("link")).unwrap();
        age(&site, 60);
        let files = vec![site.join("link")];
        let mut stamps = FileStamps::of(&files);
        assert!(stamps.changed(&files).is_none());
        fs::write(target, "here").unwrap();
        assert!(stamps.changed(&files).is_some());
    }

    #[test]
    fn an_absent_file_is_looked_for_again_only_when_its_folder_has_changed() {
        let folder = tempfile::tempdir().unwrap();
        age(folder.path(), 60);
        let files = vec![folder.path().join("absent")];
        let stamps = FileStamps::of(&files);
        assert!(stamps.has_settled(&Folder::read(folder.path())));
        age(folder.path(), 50);
        assert!(!stamps.has_settled(&Folder::read(folder.path())), "it has changed");
        age(folder.path(), 1);
        let stamps = FileStamps::of(&files);
        assert!(!stamps.has_settled(&Folder::read(folder.path())), "it changed a moment ago");
    }
}
