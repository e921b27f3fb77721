//! Finds, reads and parses fragments on disk, within limits.

use super::{
    assignment::{Assignment, SourceAssignments, part_of},
    fault::{ConfigError, Origin},
    found::{ConfigEntry, LineIndex, table},
    kind::{Complaint, KnownTools},
};
use std::{
    collections::BTreeSet,
    fs::{self, File, Metadata, OpenOptions},
    io::{self, Read},
    os::unix::fs::{MetadataExt, OpenOptionsExt},
    path::{Path, PathBuf},
};
use toml::de::DeTable;

/// Maximum bytes of a fragment. They are written by hand or by a tool for a person, so more is a mistake.
const LARGEST: u64 = 1024 * 1024;
/// Maximum number of fragments in one folder.
const MOST: usize = 64;

/// The content of one file.
pub struct Fragment {
    pub assignments: Vec<Assignment>,
    /// Empty if the whole file was understood.
    pub faults: Vec<ConfigError>,
    /// The sections with the faults; `None` if the file cannot be used at all.
    pub faulty_sections: Option<BTreeSet<String>>,
}

impl Fragment {
    /// Whether this section has a fault.
    pub fn is_faulty(&self, section: &str) -> bool {
        self.faulty_sections.iter().flatten().any(|name| name == section)
    }

    /// Only the sections that were understood as a whole; `None` if the faults are not those of sections.
    pub fn understood(&self) -> Option<Self> {
        let faulty_sections = self.faulty_sections.as_ref().filter(|faulty_sections| !faulty_sections.is_empty())?;
        let whole = |assignment: &&Assignment| !faulty_sections.contains(part_of(assignment.key.name));
        let assignments = self.assignments.iter().filter(whole).cloned().collect();
        Some(Self { assignments, faults: Vec::new(), faulty_sections: None })
    }
}

/// Reads every `*.toml` of a folder, sorted by name. A missing folder has none; hidden files are ignored.
///
/// With `owner`, a file is accepted only if it belongs to that user and nobody else can write it.
pub fn read_dir(dir: &Path, owner: Option<u32>, tools: &KnownTools) -> Vec<Fragment> {
    read_dir_with(dir, owner, tools, None)
}

/// As [`read_dir`], with a text in place of one of the files, which need not exist yet.
pub fn read_dir_with(
    dir: &Path,
    owner: Option<u32>,
    tools: &KnownTools,
    instead: Option<&(PathBuf, String)>,
) -> Vec<Fragment> {
    let broken = |message: String| {
        let faults = vec![ConfigError::new(Origin::file(dir), message)];
        vec![Fragment { assignments: Vec::new(), faults, faulty_sections: None }]
    };
    let mut files = match list(dir) {
        Ok(files) => files,
        Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
        Err(error) => return broken(format!("cannot list this folder: {error}; make it readable or remove it")),
    };
    if let Some((path, _)) = instead
        && !files.contains(path)
    {
        files.push(path.clone());
    }
    if files.len() > MOST {
        return broken(format!("holds {} fragments; at most {MOST} are read, so merge some", files.len()));
    }
    base::sort::sort(&mut files);
    let read = |path: PathBuf| match instead {
        Some((other, text)) if *other == path => parse(&path, Ok(text.clone()), tools),
        _ => read_file(&path, owner, tools),
    };
    files.into_iter().map(read).collect()
}

fn list(dir: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(dir)? {
        let path = entry?.path();
        let hidden = path.file_name().is_none_or(|name| name.as_encoded_bytes().starts_with(b"."));
        if !hidden && path.extension().is_some_and(|extension| extension == "toml") {
            files.push(path);
        }
        // Enough to know that there are too many: a folder can have any number of files.
        if files.len() > 16 * MOST {
            break;
        }
    }
    Ok(files)
}

/// Reads one file.
pub fn read_file(path: &Path, owner: Option<u32>, tools: &KnownTools) -> Fragment {
    parse(path, read_text(path, |about| belongs(about, owner)), tools)
}

/// Parses the text of a file.
pub fn parse(path: &Path, text: Result<String, String>, tools: &KnownTools) -> Fragment {
    let mut reading = SourceAssignments::of(Origin::file(path), tools);
    let mut is_read = false;
    match text {
        Ok(text) => match document(&text) {
            Ok(entries) => {
                is_read = true;
                reading.table("", &entries);
            }
            Err(wrong) => wrong.into_iter().for_each(|(at, message)| reading.fault(at, message)),
        },
        Err(message) => reading.fault(None, message),
    }
    let faulty_sections = is_read.then_some(reading.faulty_sections);
    Fragment { assignments: reading.assignments, faults: reading.faults, faulty_sections }
}

/// The text of a regular file that `judge` accepts, at most 1 MiB.
///
/// # Errors
/// Why the file cannot be used, as text to put after its name.
pub fn read_text(path: &Path, judge: impl FnOnce(&Metadata) -> Result<(), String>) -> Result<String, String> {
    let cannot = |error: io::Error| format!("cannot read this file: {error}");
    // Non-blocking, so that a named pipe among the fragments does not block the start.
    let flags = rustix::fs::OFlags::NONBLOCK.bits();
    let flags = i32::try_from(flags).map_err(|error| error.to_string())?;
    let file: File = OpenOptions::new().read(true).custom_flags(flags).open(path).map_err(cannot)?;
    let about = file.metadata().map_err(cannot)?;
    if !about.is_file() {
        return Err("is not a regular file; it has to be one".into());
    }
    judge(&about)?;
    let mut bytes = Vec::new();
    file.take(LARGEST + 1).read_to_end(&mut bytes).map_err(cannot)?;
    if bytes.len() as u64 > LARGEST {
        return Err("is larger than 1 MiB; it may not be".into());
    }
    String::from_utf8(bytes).map_err(|error| format!("is not UTF-8 from byte {} on", error.utf8_error().valid_up_to()))
}

/// Checks that a file belongs to `owner`, if one is given, and that nobody else can write it.
fn belongs(about: &Metadata, owner: Option<u32>) -> Result<(), String> {
    // 0o022: the write bits of group and others.
    match owner.filter(|owner| about.uid() != *owner || about.mode() & 0o022 != 0) {
        None => Ok(()),
        Some(owner) => Err(format!(
            "belongs to user {} with mode {:o}; the privileged half believes only files of user {owner} that nobody \
             else can write: chown and chmod go-w it",
            about.uid(),
            about.mode() & 0o7777
        )),
    }
}

/// The entries of a TOML text, in the order they were written.
///
/// # Errors
/// The syntax faults. Faults in the rest are not reported then, because they could mislead.
pub fn document(text: &str) -> Result<Vec<ConfigEntry>, Vec<Complaint>> {
    let lines = LineIndex::of(text);
    let (document, errors) = DeTable::parse_recoverable(text);
    if errors.is_empty() {
        return Ok(table(document.get_ref(), &lines));
    }
    let mut last = None;
    let mut wrong = Vec::new();
    for error in errors {
        let at = error.span().map(|span| lines.position(span.start));
        // One mistake can cause several errors on its line; only the first is reported.
        if last != Some(at.map(|at| at.line)) {
            last = Some(at.map(|at| at.line));
            wrong.push((at, format!("not TOML: {}", error.message())));
        }
    }
    Err(wrong)
}
