//! `files.list`: lists a folder (docs/contract/files.md).

use super::{
    bounded_or_null,
    content::to_base64,
    mtime,
    place::{FileAccess, LONGEST_PATH, LONGEST_PATH_BASE64, PathArguments, RootedPath},
    reach::{RootOut, roots},
    size,
    visit::visiting,
};
use crate::{
    registry::{context::Context, tool::Tool},
    tools::{
        bounded, empty,
        page::{Offset, PageLimit, Pagination},
    },
};
use base::{
    error::ToolError,
    os::{
        beneath::Beneath,
        blocking::StopSignal,
        glob::{self, Glob},
        walk::{WalkStep, walk},
    },
};
use contract::meta::Meta;
use rustix::{
    fs::{FileType, OFlags, fstat, readlinkat},
    io::Errno,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::{collections::BinaryHeap, ffi::OsStr, os::unix::ffi::OsStrExt, path::Path};

/// Most names held in memory. Pages beyond them need another walk, not more memory.
const WINDOW: usize = 16 * 1024;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {
    /// Folder: full path, or relative to a root.
    #[serde(default = "here", deserialize_with = "bounded::<_, 1, LONGEST_PATH>")]
    #[schemars(length(min = 1, max = LONGEST_PATH))]
    path: String,
    /// As files.list gives it beside path.
    #[serde(default, deserialize_with = "bounded_or_null::<_, LONGEST_PATH_BASE64>")]
    #[schemars(length(max = LONGEST_PATH_BASE64))]
    path_base64: Option<String>,
    /// Where a relative path begins; else the first root.
    #[serde(default, deserialize_with = "bounded_or_null::<_, 64>")]
    #[schemars(length(max = 64))]
    root: Option<String>,
    /// Also what is in its folders.
    #[serde(default)]
    recursive: bool,
    /// Also names that begin with a dot.
    #[serde(default)]
    include_hidden: bool,
    /// Names like "*.log", or paths like "**/a/*.txt".
    #[serde(default, deserialize_with = "bounded_or_null::<_, { glob::LONGEST }>")]
    #[schemars(length(max = glob::LONGEST))]
    pattern: Option<String>,
    #[serde(default)]
    limit: PageLimit,
    #[serde(default)]
    offset: Offset,
}

fn here() -> String {
    ".".into()
}

#[derive(Serialize, JsonSchema)]
pub struct Out {
    /// Full path of the folder.
    path: String,
    /// Name of the root it is in.
    root: String,
    /// Sorted by path.
    entries: Vec<Listed>,
    /// Folders that were not entered: no right to, a mount, or more than 32 levels deep.
    closed_directories: usize,
    pagination: Pagination,
    /// Every folder that files.* may reach.
    roots: Vec<RootOut>,
    /// Why it is empty.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    note: Option<String>,
}

#[derive(Serialize, JsonSchema)]
struct Listed {
    name: String,
    /// Full path, for files.read.
    path: String,
    /// The path's bytes in base64, where they are not UTF-8: give it beside path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    path_base64: Option<String>,
    /// The name's bytes in base64, where they are not UTF-8.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    name_base64: Option<String>,
    r#type: Kind,
    /// In bytes.
    size: u64,
    #[schemars(extend("format" = "date-time"))]
    mtime: String,
    /// Permission bits.
    mode: u32,
    /// What a symbolic link says; it is followed by files.read if that is in the root.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    target: Option<String>,
}

#[derive(Clone, Copy, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
enum Kind {
    File,
    Directory,
    Symlink,
    /// A fifo, socket or device: files.read does not open it.
    Other,
}

pub struct List;

impl Tool for List {
    type Args = Args;
    type Out = Out;
    const META: Meta = Meta {
        name: "files.list",
        title: "List a folder",
        description: "List what is in one of the configured folders.\n\nUse when: you look for a file, or for the folders.\n\nReturns: name, type, size, time of each entry; every root.",
        paginated: true,
        estimated_tokens: 2000,
        tags: &["fs", "file", "folder"],
        ..Meta::READ
    };

    fn permit(cx: &Context, args: &Args) -> Result<(), ToolError> {
        args.place(cx).map(drop)
    }

    async fn call(cx: &Context, args: Args) -> Result<Out, ToolError> {
        let place = args.place(cx)?;
        let roots = roots(cx);
        visiting(cx, place, move |place, stop| args.list(place, roots, stop)).await
    }
}

impl Args {
    fn named(&self) -> PathArguments<'_> {
        PathArguments { path: &self.path, path_base64: self.path_base64.as_deref(), root: self.root.as_deref() }
    }

    fn place(&self, cx: &Context) -> Result<RootedPath, ToolError> {
        RootedPath::of(cx, self.named(), FileAccess::List)
    }

    fn list(&self, place: &RootedPath, roots: Vec<RootOut>, stop: &StopSignal) -> Result<Out, ToolError> {
        let glob = self.pattern.as_deref().map(Glob::of_paths).transpose();
        let glob = glob.map_err(|why| ToolError::invalid(format!("the pattern {why}")).with("parameter", "pattern"))?;
        let folder = place.open()?.directory(&place.relative).map_err(|fault| match fault {
            Errno::NOTDIR => ToolError::precondition(format!("{} is no directory", place.shown()))
                .with("parameter", "path")
                .hint("files.read reads a file"),
            other => place.fault(other),
        })?;
        let (mut skip, mut after) = (self.offset.get(), None);
        let (names, seen) = loop {
            let most = (skip + self.limit.get()).min(WINDOW.max(self.limit.get()));
            let (names, seen) = self.smallest(place, &folder, glob.as_ref(), after.as_deref(), most, stop)?;
            if skip == 0 || most > skip || names.len() < most {
                break (names.into_iter().skip(skip).collect::<Vec<_>>(), seen);
            }
            skip -= names.len();
            after = names.into_iter().next_back();
        };
        let entries: Vec<Listed> =
            names.iter().filter_map(|key| shown(place, &folder, key).transpose()).collect::<Result<_, _>>()?;
        let pagination = Pagination::at(self.limit, self.offset, names.len(), seen.fitting);
        Ok(Out {
            path: place.shown(),
            root: place.root.name.clone(),
            note: entries.is_empty().then(|| seen.why(&pagination)),
            pagination,
            entries,
            closed_directories: seen.closed,
            roots,
        })
    }

    /// The first `most` paths after `after`, sorted, and the totals.
    fn smallest(
        &self,
        place: &RootedPath,
        folder: &Beneath,
        glob: Option<&Glob>,
        after: Option<&[u8]>,
        most: usize,
        stop: &StopSignal,
    ) -> Result<(Vec<Vec<u8>>, Seen), ToolError> {
        let (mut kept, mut seen) = (BinaryHeap::with_capacity(most.min(1024)), Seen::default());
        let mut visit = |step: WalkStep<'_>| {
            let (path, name, kind) = match step {
                WalkStep::Closed { path: [], fault } => return Err(place.fault(fault)),
                WalkStep::Closed { .. } => {
                    seen.closed += 1;
                    return Ok(false);
                }
                WalkStep::Entry { path, name, kind, .. } => (path, name, kind),
            };
            if !self.include_hidden && name.as_bytes().starts_with(b".") {
                seen.hidden += 1;
                return Ok(false);
            }
            let enter = self.recursive && kind == FileType::Directory;
            if glob.is_some_and(|glob| !glob.fits(&String::from_utf8_lossy(path))) {
                seen.other += 1;
                return Ok(enter);
            }
            seen.fitting += 1;
            if seen.fitting.is_multiple_of(1024) {
                stop.check()?;
            }
            // Sorts a folder directly before its contents: NUL, which no name contains, sorts first.
            let key: Vec<u8> = path.iter().map(|byte| if *byte == b'/' { 0 } else { *byte }).collect();
            if after.is_none_or(|after| key.as_slice() > after) {
                kept.push(key);
                if kept.len() > most {
                    kept.pop();
                }
            }
            Ok(enter)
        };
        walk(folder, &mut Vec::new(), stop, &mut visit)?;
        Ok((kept.into_sorted_vec(), seen))
    }
}

/// Counts of a walk.
#[derive(Default)]
struct Seen {
    fitting: usize,
    closed: usize,
    /// Hidden names (with a leading dot), and `other` names that do not fit the pattern.
    hidden: usize,
    other: usize,
}

impl Seen {
    /// Why a page is empty.
    fn why(&self, pagination: &Pagination) -> String {
        let Self { hidden, other, .. } = *self;
        empty::beyond(pagination).unwrap_or_else(|| match (other, hidden) {
            (0, 0) => "the folder is empty".to_owned(),
            (0, _) => format!("only {hidden} hidden names are there: include_hidden shows them"),
            (_, 0) => format!("none of {other} names fits the pattern"),
            _ => format!("none of {other} names fits the pattern; {hidden} hidden ones were not looked at"),
        })
    }
}

/// One entry in its current state; `None` if it no longer exists.
fn shown(place: &RootedPath, folder: &Beneath, key: &[u8]) -> Result<Option<Listed>, ToolError> {
    let bytes: Vec<u8> = key.iter().map(|byte| if *byte == 0 { b'/' } else { *byte }).collect();
    let path = Path::new(OsStr::from_bytes(&bytes));
    let found = match folder.open_plainly(path, OFlags::PATH) {
        Ok(found) => found,
        // Removed meanwhile, or its folder was replaced.
        Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => return Ok(None),
        // A mount point, which belongs to no root: only its name is listed.
        Err(Errno::XDEV) => return Ok(Some(mount(place, path))),
        Err(fault) => return Err(place.fault(fault)),
    };
    let about = fstat(&found).map_err(|fault| place.fault(fault))?;
    let kind = match FileType::from_raw_mode(about.st_mode) {
        FileType::RegularFile => Kind::File,
        FileType::Directory => Kind::Directory,
        FileType::Symlink => Kind::Symlink,
        _ => Kind::Other,
    };
    let target = match kind {
        Kind::Symlink => readlinkat(&found, "", Vec::new()).ok().map(|link| link.to_string_lossy().into_owned()),
        _ => None,
    };
    let listed = Listed {
        size: size(&about),
        mtime: mtime(&about),
        mode: about.st_mode & 0o7777,
        target,
        ..bare(place, path, kind)
    };
    Ok(Some(listed))
}

fn mount(place: &RootedPath, path: &Path) -> Listed {
    bare(place, path, Kind::Directory)
}

fn bare(place: &RootedPath, path: &Path, kind: Kind) -> Listed {
    let name = path.file_name().unwrap_or_default();
    let full = place.root.path.join(&place.relative).join(path);
    Listed {
        name: name.to_string_lossy().into_owned(),
        path: full.to_string_lossy().into_owned(),
        path_base64: in_base64(full.as_os_str()),
        name_base64: in_base64(name),
        r#type: kind,
        size: 0,
        mtime: base::clock::stamp(time::OffsetDateTime::UNIX_EPOCH),
        mode: 0,
        target: None,
    }
}

/// In base64, what is not UTF-8.
fn in_base64(name: &OsStr) -> Option<String> {
    name.to_str().is_none().then(|| to_base64(name.as_bytes()))
}
