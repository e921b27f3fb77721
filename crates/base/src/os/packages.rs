//! The installed packages: dpkg's or opkg's status file, both in the form of deb-control(5), or an appliance's own list.
//! Read as a stream: of each paragraph four fields are kept, whatever its length.

use super::{Root, blocking::StopSignal};
use crate::error::ToolError;
use serde::Serialize;
use std::{
    fs::File,
    io::{self, BufRead, BufReader, Read},
};

/// Where each list lies; the first that exists counts. The last one is written when an appliance's image is made.
const SOURCES: [(Source, &str); 4] = [
    (Source::Dpkg, "var/lib/dpkg/status"),
    (Source::Opkg, "usr/lib/opkg/status"),
    (Source::Opkg, "var/lib/opkg/status"),
    (Source::Image, "usr/share/raspi-mcp/packages"),
];
/// Bytes of a list that are read: that of 10,000 packages has 12 MB.
const LONGEST_FILE: u64 = 64 << 20;
/// Bytes of a line that are kept. The fields used here have a hundred; descriptions and checksums go on for longer.
const LONGEST_LINE: u64 = 1024;
/// Most packages that are kept, some 200 bytes each: Debian has 60,000 altogether.
const MOST: usize = 20_000;

/// Who keeps the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum Source {
    Dpkg,
    Opkg,
    /// The list that the appliance's image was made with.
    Image,
}

/// One package.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Package {
    pub name: String,
    pub version: String,
    /// Absent where the list does not say.
    pub architecture: Option<String>,
    /// In the package manager's words: installed, config-files, half-installed, ...
    pub state: String,
}

/// The packages that were asked for, by name.
#[derive(Debug, PartialEq, Eq)]
pub struct PackageList {
    pub source: Source,
    pub file: &'static str,
    pub packages: Vec<Package>,
    /// What could not be understood, or was not read: the list is not complete.
    pub faults: Vec<String>,
}

/// The packages whose name contains `text`. `None` without any list.
///
/// # Errors
/// `unavailable` when the list cannot be opened, `cancelled` when `stop` says so. A fault after that is told in the result.
pub fn read(root: &Root, text: &str, stop: &StopSignal) -> Result<Option<PackageList>, ToolError> {
    let Some((source, file)) = SOURCES.into_iter().find(|(_, file)| root.has(file)) else { return Ok(None) };
    let opened = File::open(root.path(file))
        .map_err(|fault| ToolError::unavailable(format!("the list of packages cannot be read: /{file}: {fault}")))?;
    let mut reader = BufReader::with_capacity(64 * 1024, opened.take(LONGEST_FILE));
    let mut found = Found { text, packages: Vec::new(), broken: 0, first_broken: 0, more: 0 };
    let mut faults = Vec::new();
    let (mut current, mut line, mut number) = (Paragraph::default(), Vec::new(), 0);
    loop {
        line.clear();
        match next_line(&mut reader, &mut line) {
            Ok(true) => number += 1,
            Ok(false) => break,
            Err(fault) => {
                faults.push(format!("it cannot be read after line {number}: {fault}"));
                break;
            }
        }
        if number % 1024 == 1 {
            stop.check()?;
        }
        let text = String::from_utf8_lossy(&line);
        if source == Source::Image {
            found.add(of_image(&text), number);
        } else if text.is_empty() {
            found.add(std::mem::take(&mut current).into_package(), number);
        } else {
            current.add(&text);
        }
    }
    if source != Source::Image {
        found.add(current.into_package(), number);
    }
    if reader.get_ref().limit() == 0 {
        faults.push(format!("only its first {} MiB were read", LONGEST_FILE >> 20));
    }
    faults.extend(found.faults());
    let mut packages = found.packages;
    crate::sort::sort(&mut packages);
    Ok(Some(PackageList { source, file, packages, faults }))
}

/// Appends a line without its end, or its first bytes. `false` at the end of the file.
fn next_line(reader: &mut impl BufRead, line: &mut Vec<u8>) -> io::Result<bool> {
    if reader.by_ref().take(LONGEST_LINE).read_until(b'\n', line)? == 0 {
        return Ok(false);
    }
    if line.last() == Some(&b'\n') {
        line.pop();
    } else {
        reader.skip_until(b'\n')?;
    }
    Ok(true)
}

/// What is known of a package when its paragraph ends.
enum Parsed {
    /// Nothing was said: two empty lines.
    Nothing,
    Package(Package),
    /// Known by name only.
    Gone,
    Broken,
}

#[derive(Default)]
struct Paragraph {
    package: Package,
    status: String,
    is_broken: bool,
    has_lines: bool,
}

impl Paragraph {
    fn add(&mut self, line: &str) {
        self.has_lines = true;
        if line.starts_with([' ', '\t']) {
            return;
        }
        let Some((key, value)) = line.split_once(':') else {
            self.is_broken = true;
            return;
        };
        let value = || value.trim().to_owned();
        match key {
            "Package" => self.package.name = value(),
            "Version" => self.package.version = value(),
            "Architecture" => self.package.architecture = Some(value()),
            "Status" => self.status = value(),
            _ => {}
        }
    }

    /// The third word of the status is the state, after what is wanted and the flags (dpkg-query(1)).
    fn into_package(self) -> Parsed {
        if !self.has_lines {
            return Parsed::Nothing;
        }
        let Some(state) = self.status.split_whitespace().nth(2) else { return Parsed::Broken };
        if state == "not-installed" {
            return Parsed::Gone;
        }
        let package = Package { state: state.to_owned(), ..self.package };
        if self.is_broken || !is_word(&package.name) || !is_word(&package.version) {
            return Parsed::Broken;
        }
        Parsed::Package(package)
    }
}

/// A line `name version purl` (buildroot-external/board/raspi-mcp/packages.sh).
fn of_image(line: &str) -> Parsed {
    let mut words = line.split_whitespace();
    let (Some(name), Some(version)) = (words.next(), words.next()) else {
        return if line.is_empty() { Parsed::Nothing } else { Parsed::Broken };
    };
    if !is_word(name) || !is_word(version) {
        return Parsed::Broken;
    }
    let architecture = words.next().and_then(|purl| purl.split_once("?arch=")).map(|(_, architecture)| architecture);
    Parsed::Package(Package {
        name: name.into(),
        version: version.into(),
        architecture: architecture.filter(|word| is_word(word)).map(str::to_owned),
        state: "installed".into(),
    })
}

/// Names and versions are printable ASCII without spaces (deb-version(7)).
fn is_word(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic())
}

struct Found<'a> {
    text: &'a str,
    packages: Vec<Package>,
    broken: usize,
    first_broken: usize,
    /// Beyond [`MOST`].
    more: usize,
}

impl Found<'_> {
    /// `line` is the one at which the paragraph ended.
    fn add(&mut self, parsed: Parsed, line: usize) {
        match parsed {
            Parsed::Package(package) if !package.name.contains(self.text) => {}
            Parsed::Package(_) if self.packages.len() == MOST => self.more += 1,
            Parsed::Package(package) => self.packages.push(package),
            Parsed::Nothing | Parsed::Gone => {}
            Parsed::Broken => {
                self.broken += 1;
                if self.first_broken == 0 {
                    self.first_broken = line;
                }
            }
        }
    }

    fn faults(&self) -> impl Iterator<Item = String> {
        let broken = (self.broken > 0).then(|| {
            format!("{} of its entries cannot be understood, the first before line {}", self.broken, self.first_broken)
        });
        let more = (self.more > 0).then(|| format!("{} more packages than the {MOST} that are kept", self.more));
        broken.into_iter().chain(more)
    }
}
