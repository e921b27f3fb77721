//! Small files of sysfs: one line, one number.

use base::os::{Root, lossy, malformed};
use std::{
    fs::File,
    io::{self, Read},
};

/// sysfs gives at most a page; a file that has more is none of it.
const PAGE: u64 = 4096;
/// Longest number, in characters.
const NUMBER: usize = 40;
/// Larger values are nonsense in every unit; smaller ones survive the conversions.
const LARGEST: f64 = 1e15;

/// The file's text, without white space around it. Bytes that are not UTF-8 become U+FFFD: a label of a driver may have
/// some, and a number has none.
///
/// # Errors
/// Those of reading; `InvalidData` for more than a page.
pub fn text(root: &Root, file: &str) -> io::Result<String> {
    let mut bytes = Vec::with_capacity(64);
    File::open(root.path(file)).and_then(|open| open.take(PAGE + 1).read_to_end(&mut bytes)).map_err(|fault| {
        let kind = if is_gone(&fault) { io::ErrorKind::NotFound } else { fault.kind() };
        io::Error::new(kind, format!("/{file}: {fault}"))
    })?;
    if bytes.len() as u64 > PAGE {
        return Err(malformed(file, "it is longer than a page"));
    }
    Ok(lossy(bytes).trim().to_owned())
}

/// A device that was removed: ENODEV and ENXIO beside ENOENT.
fn is_gone(fault: &io::Error) -> bool {
    use rustix::io::Errno;
    matches!(Errno::from_io_error(fault), Some(Errno::NOENT | Errno::NODEV | Errno::NXIO))
}

/// The file's number: decimal, with a sign and a fraction at most.
///
/// # Errors
/// Those of [`text`]; `InvalidData` for anything else.
pub fn number(root: &Root, file: &str) -> io::Result<f64> {
    parse(&text(root, file)?).ok_or_else(|| malformed(file, "it does not hold a number"))
}

/// A plain decimal number of a plausible size. Never -0.
pub fn parse(text: &str) -> Option<f64> {
    let plain = |byte: u8| byte.is_ascii_digit() || matches!(byte, b'-' | b'+' | b'.');
    if text.len() > NUMBER || !text.bytes().all(plain) {
        return None;
    }
    plausible(text.parse().ok()?)
}

/// The value, if it is one; zero without a sign.
pub fn plausible(value: f64) -> Option<f64> {
    (value.abs() <= LARGEST).then_some(value + 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_good_and_bad() {
        for (text, number) in [("0", 0.0), ("-12500", -12500.0), ("0.000030517", 0.000_030_517), ("+5", 5.0)] {
            assert_eq!(parse(text), Some(number), "{text}");
        }
        assert!(parse("-0").is_some_and(|zero| zero == 0.0 && zero.is_sign_positive()), "-0 is 0");
        for bad in ["", "-", "nan", "inf", "1e3", "0x10", "1 2", "12a", "--1", "1.2.3", "9999999999999999"] {
            assert_eq!(parse(bad), None, "{bad}");
        }
        assert_eq!(parse(&"1".repeat(NUMBER + 1)), None);
        assert_eq!(plausible(f64::NAN), None);
        assert_eq!(plausible(-LARGEST), Some(-LARGEST));
    }

    #[test]
    fn a_file_that_does_not_end_is_refused_after_a_page() {
        let folder = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink("/dev/zero", folder.path().join("endless")).unwrap();
        std::fs::write(folder.path().join("page"), " ".repeat(4096)).unwrap();
        std::fs::write(folder.path().join("binary"), b"21\xff").unwrap();
        let root = Root::at(folder.path());
        assert_eq!(text(&root, "page").unwrap(), "");
        assert_eq!(text(&root, "binary").unwrap(), "21\u{fffd}");
        for (file, word) in [("endless", "longer than a page"), ("binary", "a number"), ("page", "a number")] {
            let fault = number(&root, file).unwrap_err();
            assert!(fault.kind() == io::ErrorKind::InvalidData && fault.to_string().contains(word), "{fault}");
        }
        assert_eq!(text(&root, "none").unwrap_err().kind(), io::ErrorKind::NotFound);
    }
}
