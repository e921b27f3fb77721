//! The manual: the documentation that is installed with the program, and the descriptions of the tools.

use super::failed;
use base::{
    canonical,
    error::ToolError,
    os::{Root, blocking::StopSignal},
};
use search::{Corpus, Document, SearchIndex, Stamp, chunks, language, text_of};
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    io::Read,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

/// The namespace of the documentation.
pub const MANUAL: &str = "manual";
/// The addresses of pages, each with its path behind this; `raspi://docs/{path}` in [`crate::resources`].
pub const ADDRESS: &str = "raspi://docs/";
/// The namespace of the tools' descriptions.
pub const TOOLS: &str = "tools";
/// Where packages and images install docs/.
const FOLDER: &str = "usr/share/raspi-mcp/manual";
/// Bytes of one document, at most.
const LONGEST: u64 = 1 << 20;

/// A text of the program itself.
#[derive(Clone, Debug)]
pub struct ManualText {
    pub name: String,
    pub text: String,
}

/// Brings the manual up to date. Almost nothing to do, but for the first time and after an update of the program.
pub fn refresh(index: &mut SearchIndex, root: &Root, tools: &[ManualText], stop: &StopSignal) -> Result<(), ToolError> {
    let known = index.known(Corpus::Manual, MANUAL, "").map_err(failed)?;
    let mut there = BTreeSet::new();
    for (path, file) in pages(root) {
        let Ok(about) = fs::metadata(&file) else { continue };
        let stamp = Stamp {
            size: about.size().try_into().unwrap_or(i64::MAX),
            mtime_ns: about.mtime().saturating_mul(1_000_000_000).saturating_add(about.mtime_nsec()),
            inode: about.ino().cast_signed(),
        };
        if known.get(&path) != Some(&stamp) {
            stop.check()?;
            let Some(bytes) = fs::read(&file).ok().filter(|bytes| bytes.len() as u64 <= LONGEST) else { continue };
            put(index, MANUAL, &path, stamp, &bytes)?;
        }
        there.insert(path);
    }
    remove_others(index, MANUAL, &known, &there)?;
    let known = index.known(Corpus::Manual, TOOLS, "").map_err(failed)?;
    let mut there = BTreeSet::new();
    for tool in tools {
        // The text has no file: a digest of it takes the place of a time.
        let mtime_ns = digits(&canonical::sha256_of(tool.text.as_bytes()));
        let stamp = Stamp { size: tool.text.len().try_into().unwrap_or(i64::MAX), mtime_ns, inode: 0 };
        if known.get(&tool.name) != Some(&stamp) {
            put(index, TOOLS, &tool.name, stamp, tool.text.as_bytes())?;
        }
        there.insert(tool.name.clone());
    }
    remove_others(index, TOOLS, &known, &there)
}

/// Removes what is known and is not there any more.
fn remove_others(
    index: &mut SearchIndex,
    namespace: &str,
    known: &BTreeMap<String, Stamp>,
    there: &BTreeSet<String>,
) -> Result<(), ToolError> {
    let mut gone = known.keys().filter(|path| !there.contains(*path));
    gone.try_for_each(|path| index.remove(Corpus::Manual, namespace, path).map_err(failed))
}

/// A number made of the first digits.
fn digits(etag: &str) -> i64 {
    i64::from_str_radix(&etag[..15], 16).unwrap_or_default()
}

fn put(index: &mut SearchIndex, namespace: &str, path: &str, stamp: Stamp, bytes: &[u8]) -> Result<(), ToolError> {
    let Some(text) = text_of(bytes) else { return Ok(()) };
    let etag = canonical::sha256_of(bytes);
    let chunks = chunks(text, true);
    let document = Document { namespace, path, stamp, etag: &etag, lang: language(path), chunks: &chunks };
    index.put(Corpus::Manual, &document).map(drop).map_err(failed)
}

/// A page's text.
///
/// # Errors
/// `unavailable` when it cannot be read, is no text, or larger than 1 MiB.
pub fn read(file: &Path) -> Result<String, ToolError> {
    let mut text = String::new();
    let read = fs::File::open(file).and_then(|file| file.take(LONGEST + 1).read_to_string(&mut text));
    match read {
        Ok(length) if length as u64 <= LONGEST => Ok(text),
        Ok(_) => Err(ToolError::unavailable("this page of the manual is larger than 1 MiB")),
        Err(error) => Err(ToolError::unavailable(format!("this page of the manual cannot be read: {error}"))),
    }
}

/// What is said of a page that is not there.
pub fn no_page(path: &str, pages: &[(String, PathBuf)]) -> ToolError {
    let names = pages.iter().map(|(name, _)| name.as_str());
    let hint = match base::nearest::nearest(path, names) {
        _ if pages.is_empty() => {
            "the manual is not installed: packages and images have it in /usr/share/raspi-mcp/manual".into()
        }
        Some(near) => format!("did you mean {near}?"),
        None => "vector.search with namespace = \"manual\" finds the page that says something".to_owned(),
    };
    ToolError::not_found(format!("the manual has no page {path:?}")).hint(hint).with("path", "/path")
}

/// The Markdown files of the manual, by their relative paths. The folder belongs to the program; without it there is no manual.
pub fn pages(root: &Root) -> Vec<(String, PathBuf)> {
    let mut files = Vec::new();
    let mut open = vec![(String::new(), root.path(FOLDER))];
    while let Some((prefix, folder)) = open.pop() {
        let Ok(entries) = fs::read_dir(&folder) else { continue };
        for entry in entries.flatten() {
            let Ok(name) = entry.file_name().into_string() else { continue };
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => open.push((format!("{prefix}{name}/"), entry.path())),
                Ok(kind) if kind.is_file() && name.ends_with(".md") => {
                    files.push((format!("{prefix}{name}"), entry.path()));
                }
                _ => {}
            }
        }
    }
    files
}
