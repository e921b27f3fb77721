//! The directory used as `/`: the real one on a machine, a captured tree in a test.

use std::{
    fs::{self, File},
    io::{self, BufRead, BufReader, Read},
    ops::ControlFlow,
    path::{Path, PathBuf},
};

/// Largest file that is read, in bytes: `/proc/cpuinfo` of 64 cores has 80 kB, `/proc/mounts` of a container host 200
/// kB.
const LARGEST_FILE: u64 = 512 * 1024;
/// Longest line of [`Root::each_line`], in bytes; longer ones are passed over. A group of 30,000 members has as many.
const LONGEST_LINE: u64 = 512 * 1024;
/// Most bytes that [`Root::each_line`] reads of a file: `smaps` has at most 65,530 mappings of some 800 bytes.
const LONGEST_FILE: u64 = 64 << 20;
/// Bytes read at a time: procfs gives a whole number of lines for each.
const PART: usize = 16 * 1024;
/// Most entries read of a directory; further ones are ignored.
const LONGEST_LIST: usize = 1024;

/// A directory used as `/`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Root {
    path: PathBuf,
}

impl Root {
    /// The machine itself.
    pub fn system() -> Self {
        Self { path: PathBuf::from("/") }
    }
    /// A tree of captured files.
    pub fn at(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }
    /// Whether this is the machine itself, so that sources other than files (a system call, a program) apply too.
    pub fn is_system(&self) -> bool {
        self.path == Path::new("/")
    }
    /// The full path of `relative`, which must be a constant of this crate or a name from [`Root::list`].
    pub fn path(&self, relative: &str) -> PathBuf {
        self.path.join(relative.trim_start_matches('/'))
    }

    /// The full path of `absolute` of the machine, which may be of any bytes.
    pub fn path_of(&self, absolute: &Path) -> PathBuf {
        self.path.join(absolute.strip_prefix("/").unwrap_or(absolute))
    }

    /// The whole file as text. Bytes that are not UTF-8 become U+FFFD: names of mount points, accounts, devices and
    /// programs may have any, and one of them must not hide the rest. Where a name decides a right, compare bytes:
    /// [`Root::each_line`].
    ///
    /// # Errors
    /// Those of opening and reading; `InvalidData` for more than 512 KiB.
    pub fn read(&self, relative: &str) -> io::Result<String> {
        self.read_bytes(relative).map(lossy)
    }

    /// Calls `each` with each line, without its newline, until it breaks, and returns what it broke with. The file is
    /// read in parts, so that its length is not limited by memory; a line longer than 512 KiB is passed over.
    ///
    /// # Errors
    /// Those of opening and reading; `InvalidData` for more than 64 MiB.
    pub fn each_line<T>(&self, relative: &str, mut each: impl FnMut(&[u8]) -> ControlFlow<T>) -> io::Result<Option<T>> {
        let failed = |fault: io::Error| named(relative, &fault);
        let file = File::open(self.path(relative)).map_err(failed)?;
        let mut parts = BufReader::with_capacity(PART, file.take(LONGEST_FILE + 1));
        let mut line = Vec::new();
        loop {
            line.clear();
            let got = parts.by_ref().take(LONGEST_LINE + 1).read_until(b'\n', &mut line).map_err(failed)?;
            let ended = line.pop_if(|last| *last == b'\n').is_some();
            if got == 0 {
                return if parts.get_ref().limit() > 0 {
                    Ok(None)
                } else {
                    Err(malformed(relative, "it is larger than 64 MiB"))
                };
            }
            if !ended && got as u64 > LONGEST_LINE {
                parts.skip_until(b'\n').map_err(failed)?;
                continue;
            }
            if let ControlFlow::Break(found) = each(&line) {
                return Ok(Some(found));
            }
        }
    }

    /// The whole file.
    ///
    /// # Errors
    /// Those of opening and reading; `InvalidData` when the file is larger than 512 KiB.
    pub fn read_bytes(&self, relative: &str) -> io::Result<Vec<u8>> {
        // procfs generates a file again for every read, so small reads are avoided.
        let mut bytes = Vec::with_capacity(4096);
        File::open(self.path(relative))
            .and_then(|file| file.take(LARGEST_FILE + 1).read_to_end(&mut bytes))
            .map_err(|fault| named(relative, &fault))?;
        if bytes.len() as u64 > LARGEST_FILE {
            return Err(malformed(relative, "it is larger than 512 KiB"));
        }
        Ok(bytes)
    }

    /// A file of one line, without surrounding white space and the NUL that ends device tree strings.
    ///
    /// # Errors
    /// Those of [`Root::read`]; `InvalidData` when the line is empty.
    pub fn line(&self, relative: &str) -> io::Result<String> {
        let text = self.read(relative)?;
        let line = text.trim_matches(|c: char| c.is_whitespace() || c == '\0');
        if line.is_empty() {
            return Err(malformed(relative, "it is empty"));
        }
        Ok(line.to_owned())
    }

    /// A file that contains one integer.
    ///
    /// # Errors
    /// Those of [`Root::line`]; `InvalidData` when it is not an integer.
    pub fn number(&self, relative: &str) -> io::Result<i64> {
        let line = self.line(relative)?;
        line.parse().map_err(|_| malformed(relative, "it does not hold a whole number"))
    }

    /// One cell of a device tree: 32 bits, big endian. `None` without the file.
    ///
    /// # Errors
    /// Those of [`Root::read_bytes`]; `InvalidData` when the file does not have 4 bytes.
    pub fn cell(&self, relative: &str) -> io::Result<Option<u32>> {
        let Some(bytes) = if_there(self.read_bytes(relative))? else { return Ok(None) };
        match <[u8; 4]>::try_from(bytes.as_slice()) {
            Ok(bytes) => Ok(Some(u32::from_be_bytes(bytes))),
            Err(_) => Err(malformed(relative, &format!("it has {} bytes where a cell has 4", bytes.len()))),
        }
    }

    /// The names in a directory, sorted so that `hwmon10` comes after `hwmon9`. At most 1024.
    ///
    /// # Errors
    /// Those of opening the directory.
    pub fn list(&self, relative: &str) -> io::Result<Vec<String>> {
        let mut names: Vec<String> = fs::read_dir(self.path(relative))
            .map_err(|fault| named(relative, &fault))?
            .take(LONGEST_LIST)
            .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
            .collect();
        crate::sort::sort_by(&mut names, |a, b| split_number(a).cmp(&split_number(b)));
        Ok(names)
    }

    /// All names in a directory, in its order: for counting and searching, where 1024 may be too few. One that is not
    /// UTF-8 is among them, with U+FFFD.
    ///
    /// # Errors
    /// Those of opening the directory.
    pub fn names(&self, relative: &str) -> io::Result<impl Iterator<Item = String> + use<>> {
        let entries = fs::read_dir(self.path(relative)).map_err(|fault| named(relative, &fault))?;
        Ok(entries.filter_map(|entry| Some(entry.ok()?.file_name().to_string_lossy().into_owned())))
    }

    /// The target of a symbolic link, as written.
    ///
    /// # Errors
    /// Those of `readlink`.
    pub fn link(&self, relative: &str) -> io::Result<PathBuf> {
        fs::read_link(self.path(relative))
    }

    /// Whether `relative` exists.
    pub fn has(&self, relative: &str) -> bool {
        self.path(relative).exists()
    }
}

/// Bytes as text: those that are not UTF-8 become U+FFFD.
pub fn lossy(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap_or_else(|fault| String::from_utf8_lossy(fault.as_bytes()).into_owned())
}

/// `mmcblk10` as `("mmcblk", 10, name)`: numbers sort as numbers.
fn split_number(name: &str) -> (&str, u64, &str) {
    let stem = name.trim_end_matches(|c: char| c.is_ascii_digit());
    (stem, name[stem.len()..].parse().unwrap_or(0), name)
}

/// Turns `NotFound` into `None`.
///
/// # Errors
/// All of `read` except `NotFound`.
pub fn if_there<T>(read: io::Result<T>) -> io::Result<Option<T>> {
    match read {
        Err(fault) if fault.kind() == io::ErrorKind::NotFound => Ok(None),
        read => read.map(Some),
    }
}

/// The same error with the file's name, which the system's message lacks.
pub(super) fn named(relative: &str, fault: &io::Error) -> io::Error {
    io::Error::new(fault.kind(), format!("/{}: {fault}", relative.trim_start_matches('/')))
}

/// The error for a file that cannot be parsed.
pub fn malformed(relative: &str, why: &str) -> io::Error {
    io::Error::new(
        io::ErrorKind::InvalidData,
        format!("/{} cannot be understood: {why}", relative.trim_start_matches('/')),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_counts_as_people_do() {
        let dir = tempfile::tempdir().unwrap();
        for name in ["hwmon10", "hwmon2", "a"] {
            fs::write(dir.path().join(name), "").unwrap();
        }
        assert_eq!(Root::at(dir.path()).list("").unwrap(), ["a", "hwmon2", "hwmon10"]);
    }

    #[test]
    fn a_file_beyond_the_bound_is_refused_and_the_bound_itself_is_read() {
        let dir = tempfile::tempdir().unwrap();
        let root = Root::at(dir.path());
        fs::write(dir.path().join("full"), vec![b'x'; LARGEST_FILE as usize]).unwrap();
        assert_eq!(root.read("/full").unwrap().len() as u64, LARGEST_FILE);
        fs::write(dir.path().join("full"), vec![b'x'; LARGEST_FILE as usize + 1]).unwrap();
        let refused = root.read("full").unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::InvalidData);
        assert_eq!(refused.to_string(), "/full cannot be understood: it is larger than 512 KiB");
    }

    #[test]
    fn a_byte_that_is_not_utf8_hides_nothing_else() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("names"), b"a\nM\xfcsik\nb\n").unwrap();
        assert_eq!(Root::at(dir.path()).read("names").unwrap(), "a\nM\u{fffd}sik\nb\n");
    }

    #[test]
    fn lines_are_read_in_parts_of_a_file_larger_than_the_bound_of_a_whole_one() {
        let dir = tempfile::tempdir().unwrap();
        let root = Root::at(dir.path());
        let overlong = vec![b'y'; LONGEST_LINE as usize + 1];
        let longest = vec![b'z'; LONGEST_LINE as usize];
        fs::write(dir.path().join("long"), [&overlong[..], b"\n\n\xff\n", &longest, b"\nlast"].concat()).unwrap();
        let mut found = Vec::new();
        let all = root.each_line::<()>("long", |line| {
            found.push((line.len(), line.first().copied()));
            ControlFlow::Continue(())
        });
        assert_eq!(all.unwrap(), None);
        assert_eq!(
            found,
            [(0, None), (1, Some(0xff)), (LONGEST_LINE as usize, Some(b'z')), (4, Some(b'l'))],
            "the line beyond the bound is passed over"
        );
        let first = root.each_line("long", |line| ControlFlow::Break(line.len()));
        assert_eq!(first.unwrap(), Some(0));
        let none = root.each_line::<()>("none", |_| ControlFlow::Continue(()));
        assert_eq!(none.unwrap_err().kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn device_tree_strings_lose_their_nul() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("model"), b"Raspberry Pi 5 Model B Rev 1.0\0").unwrap();
        assert_eq!(Root::at(dir.path()).line("model").unwrap(), "Raspberry Pi 5 Model B Rev 1.0");
    }

    #[test]
    fn what_is_not_there_is_none_and_a_cell_has_four_bytes() {
        let dir = tempfile::tempdir().unwrap();
        let root = Root::at(dir.path());
        assert_eq!((if_there(root.read("cell")).unwrap(), root.cell("cell").unwrap()), (None, None));
        fs::write(dir.path().join("cell"), [0, 0, 1, 2]).unwrap();
        assert_eq!(root.cell("cell").unwrap(), Some(0x102));
        for bad in [&[0, 0, 1][..], &[0; 5], &[]] {
            fs::write(dir.path().join("cell"), bad).unwrap();
            assert_eq!(root.cell("cell").unwrap_err().kind(), io::ErrorKind::InvalidData, "{bad:?}");
        }
        // There, and not to be read as a file.
        assert!(if_there(root.read("")).is_err());
    }
}
