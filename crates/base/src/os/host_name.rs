//! The static host name: `/etc/hostname` (hostname(5)).

use super::Root;
use std::{
    fs::{File, OpenOptions},
    io,
    os::unix::fs::FileExt,
};

const KEPT: &str = "etc/hostname";
/// The longest name (`HOST_NAME_MAX`, sysconf(3)) with its line feed. Fits into one sector of a disk.
const WHOLE: usize = 65;

/// The first line that is neither empty nor a comment, as in systemd: a NUL ends a line as well. `None` when there is
/// none.
pub fn kept(root: &Root) -> Option<String> {
    let text = root.read(KEPT).ok()?;
    let mut lines = text.split(['\n', '\r', '\0']).map(str::trim);
    let line = lines.find(|line| !line.is_empty() && !line.starts_with('#'))?;
    // Bytes that are not UTF-8 are no name.
    (!line.contains(char::REPLACEMENT_CHARACTER)).then(|| line.to_owned())
}

/// Writes `name`, at most 64 bytes, into the existing file, and returns when it is on the disk. In place, because a
/// file that is a mount point (dist/initramfs/shared) cannot be replaced by rename. After a power cut [`kept`] reads
/// the old or the new name.
///
/// # Errors
/// Those of opening, writing and syncing; `InvalidInput` for a longer name.
pub fn keep(root: &Root, name: &str) -> io::Result<()> {
    let file = OpenOptions::new().write(true).create(true).truncate(false).open(root.path(KEPT))?;
    for step in steps(file.metadata()?.len(), name)? {
        step.take(&file)?;
        file.sync_all()?;
    }
    Ok(())
}

/// A step that reaches the disk before the next one begins.
#[derive(Clone, Copy)]
enum Step {
    Size(u64),
    /// From the start of the file.
    Line([u8; WHOLE]),
}

impl Step {
    fn take(self, file: &File) -> io::Result<()> {
        match self {
            Self::Size(size) => file.set_len(size),
            Self::Line(bytes) => file.write_all_at(&bytes, 0),
        }
    }
}

/// The file is extended first, so that size and content never change together; then one sector is written, old or new
/// after a cut; then the rest is truncated.
fn steps(size: u64, name: &str) -> io::Result<Vec<Step>> {
    let mut line = [b'\n'; WHOLE];
    let place = line[..WHOLE - 1].get_mut(..name.len()).ok_or(io::ErrorKind::InvalidInput)?;
    place.copy_from_slice(name.as_bytes());
    let room = (size < WHOLE as u64).then_some(Step::Size(WHOLE as u64));
    Ok(room.into_iter().chain([Step::Line(line), Step::Size(name.len() as u64 + 1)]).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn machine(content: &[u8]) -> (tempfile::TempDir, Root) {
        let home = tempfile::tempdir().unwrap();
        fs::create_dir(home.path().join("etc")).unwrap();
        fs::write(home.path().join(KEPT), content).unwrap();
        let root = Root::at(home.path());
        (home, root)
    }

    #[test]
    fn the_first_line_that_says_something() {
        for (content, name) in [
            (&b"porch\n"[..], Some("porch")),
            (b"# ours\n\n  porch \nattic\n", Some("porch")),
            (b"porch\0\0\0\0", Some("porch")),
            (b"porch\n\n\n\n\n", Some("porch")),
            (b"\0\0\0", None),
            (b"", None),
            (b"#\n", None),
            (b"\xff\n", None),
        ] {
            let (_home, root) = machine(content);
            assert_eq!(kept(&root).as_deref(), name, "{content:?}");
        }
        assert_eq!(kept(&Root::at("/nonexistent")), None);
    }

    #[test]
    fn a_cut_leaves_the_old_name_or_the_new() {
        let longest = "a".repeat(64);
        let names = ["pi", "porch", "garage-of-ann", longest.as_str()];
        for before in names {
            for content in [format!("{before}\n"), before.to_owned(), format!("# {}\n{before}\n", "-".repeat(90))] {
                for after in names {
                    let (_home, root) = machine(content.as_bytes());
                    let path = root.path(KEPT);
                    let inode = |path| std::os::unix::fs::MetadataExt::ino(&fs::metadata(path).unwrap());
                    let first = inode(&path);
                    let file = OpenOptions::new().write(true).open(&path).unwrap();
                    for step in steps(content.len() as u64, after).unwrap() {
                        step.take(&file).unwrap();
                        let now = kept(&root).unwrap();
                        assert!(now == before || now == after, "{now:?} between {before} and {after}");
                    }
                    assert_eq!(fs::read_to_string(&path).unwrap(), format!("{after}\n"));
                    keep(&root, before).unwrap();
                    assert_eq!(fs::read_to_string(&path).unwrap(), format!("{before}\n"));
                    assert_eq!(inode(&path), first, "nothing was put in its place");
                }
            }
        }
    }

    #[test]
    fn a_line_never_changes_the_size() {
        for size in [0, 1, 3, 64, 65, 66, 4096] {
            let mut now = size;
            for step in steps(size, "porch").unwrap() {
                match step {
                    Step::Size(size) => now = size,
                    Step::Line(line) => assert!(line.len() as u64 <= now, "from {size}"),
                }
            }
            assert_eq!(now, 6);
        }
        assert_eq!(steps(3, &"a".repeat(65)).err().unwrap().kind(), io::ErrorKind::InvalidInput);
    }
}
