//! What `vector.search` searches: the manual, and the text files of roots with `index = true` (docs/contract/vector.md).
//!
//! The index is a file in the state folder, opened for a question or a scan and closed again: a server that nobody asks keeps
//! nothing of it. Where roots are indexed, one task follows their changes (inotify(7)) and sleeps while there are none.

mod follow;
mod manual;
mod scan;
mod watch;

pub use manual::{ADDRESS, MANUAL, ManualText, TOOLS};

use base::{
    error::{ErrorCode, ToolError},
    os::{
        Root,
        blocking::StopSignal,
        roots::{FolderRoot, FolderRoots},
    },
};
use search::{Corpus, Found, Reading, SearchIndex, SearchQuery};
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};
use tokio::sync::Notify;

/// A cheap handle.
#[derive(Clone)]
pub struct Indexing(Arc<Inner>);

struct Inner {
    file: PathBuf,
    /// The root of the machine's files, for the manual.
    root: Root,
    roots: Vec<Arc<FolderRoot>>,
    /// One user at a time; `None` while nobody uses it.
    index: Mutex<Option<SearchIndex>>,
    progress: Mutex<IndexProgress>,
    rebuild: Notify,
}

/// How far the index of files is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IndexProgress {
    /// Whether a scan runs.
    pub scanning: bool,
    /// Whether a root was scanned completely since the start.
    pub scanned: bool,
    /// Files of the last whole scan that are too large or no text.
    pub skipped: u64,
    /// Files that the index has no room for.
    pub left_out: u64,
}

/// One namespace of the index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamespaceCount {
    pub name: String,
    pub documents: i64,
    pub chunks: i64,
}

/// What is searched.
#[derive(Clone, Debug)]
pub struct IndexQuestion {
    pub text: String,
    /// Only this namespace.
    pub namespace: Option<String>,
    pub path_prefix: Option<String>,
    pub top_k: u32,
    /// Whether the caller may read files.
    pub files: bool,
    /// Only documents with all of these.
    pub tags: Vec<String>,
}

/// The tag of a document by its namespace; the other one is its language.
pub fn kind(namespace: &str) -> &'static str {
    match namespace {
        MANUAL => "manual",
        TOOLS => "tool",
        _ => "file",
    }
}

impl Indexing {
    /// For the roots that are indexed. `state`: the folder of the file; `root`: of the machine's files.
    pub fn of(files: &FolderRoots, state: &Path, root: &Root) -> Self {
        let roots = files.iter().filter(|root| root.indexed).cloned().collect();
        Self(Arc::new(Inner {
            file: state.join("search.db"),
            root: root.clone(),
            roots,
            index: Mutex::new(None),
            progress: Mutex::default(),
            rebuild: Notify::new(),
        }))
    }

    /// The names of the roots that are indexed.
    pub fn roots(&self) -> impl Iterator<Item = &str> {
        self.0.roots.iter().map(|root| root.name.as_str())
    }

    /// How far the index of files is.
    pub fn progress(&self) -> IndexProgress {
        *self.0.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn note(&self, change: impl FnOnce(&mut IndexProgress)) {
        change(&mut self.0.progress.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// Has everything indexed anew.
    pub fn rebuild(&self) {
        self.0.rebuild.notify_one();
    }

    /// Finds what answers a question, best first. Blocks: reads the card.
    ///
    /// # Errors
    /// `unavailable` when the index cannot be used; `cancelled`.
    pub fn find(
        &self,
        question: &IndexQuestion,
        tools: &[ManualText],
        stop: &StopSignal,
    ) -> Result<Vec<Found>, ToolError> {
        let (kinds, languages): (Vec<&String>, Vec<&String>) =
            question.tags.iter().partition(|tag| ["manual", "tool", "file"].contains(&tag.as_str()));
        if languages.windows(2).any(|pair| pair[0] != pair[1]) {
            return Ok(Vec::new());
        }
        let wanted = |name: &str| {
            question.namespace.as_deref().is_none_or(|only| only == name) && kinds.iter().all(|tag| *tag == kind(name))
        };
        let manual: Vec<String> = [MANUAL, TOOLS].into_iter().filter(|name| wanted(name)).map(str::to_owned).collect();
        let files =
            if question.files { self.roots().filter(|name| wanted(name)).map(str::to_owned).collect() } else { vec![] };
        self.using(|index| {
            if !manual.is_empty() {
                manual::refresh(index, &self.0.root, tools, stop)?;
            }
            let find = |corpus, namespaces: &[String]| {
                if namespaces.is_empty() {
                    return Ok((Vec::new(), Reading::default()));
                }
                stop.check()?;
                let reading = index.read(corpus, &question.text).map_err(failed)?;
                let path_prefix = question.path_prefix.as_deref();
                let lang = languages.first().map(|lang| lang.as_str());
                let query = SearchQuery { corpus, namespaces, path_prefix, lang, top_k: question.top_k };
                Ok::<_, ToolError>((index.find(query, &reading).map_err(failed)?, reading))
            };
            let ((manual, asked), (files, asked_files)) =
                (find(Corpus::Manual, &manual)?, find(Corpus::Files, &files)?);
            // Of no use where one corpus answers alone: it counts all passages.
            let both = !manual.is_empty() && !files.is_empty();
            let reach = |corpus, reading| if both { index.reach(corpus, reading).map_err(failed) } else { Ok(0.0) };
            let manual = (manual, reach(Corpus::Manual, &asked)?);
            let files = (files, reach(Corpus::Files, &asked_files)?);
            Ok(search::joined(manual, files, question.top_k as usize))
        })
    }

    /// The text of a page of the manual, by its path there. Only what is listed is read: no path leads elsewhere. Blocks.
    ///
    /// # Errors
    /// `not_found` for any other path, `unavailable` when the card cannot be read.
    pub fn page(&self, path: &str) -> Result<String, ToolError> {
        let pages = manual::pages(&self.0.root);
        match pages.iter().find(|(name, _)| name == path) {
            Some((_, file)) => manual::read(file),
            None => Err(manual::no_page(path, &pages)),
        }
    }

    /// The paths of all pages of the manual, sorted. Blocks.
    pub fn pages(&self) -> Vec<String> {
        let mut names: Vec<String> = manual::pages(&self.0.root).into_iter().map(|(name, _)| name).collect();
        base::sort::sort(&mut names);
        names
    }

    /// What each namespace has, and the bytes of the index. Blocks.
    ///
    /// # Errors
    /// `unavailable` when the index cannot be used.
    pub fn counts(&self, tools: &[ManualText], stop: &StopSignal) -> Result<(Vec<NamespaceCount>, i64), ToolError> {
        self.using(|index| {
            manual::refresh(index, &self.0.root, tools, stop)?;
            let mut counts: BTreeMap<String, (i64, i64)> = self.roots().map(|name| (name.to_owned(), (0, 0))).collect();
            for corpus in Corpus::ALL {
                for (name, count) in index.namespaces(corpus).map_err(failed)? {
                    counts.insert(name, (count.documents, count.chunks));
                }
            }
            let counts =
                counts.into_iter().map(|(name, (documents, chunks))| NamespaceCount { name, documents, chunks });
            Ok((counts.collect(), index.bytes().map_err(failed)?))
        })
    }

    /// Uses the index, alone. It is closed afterwards unless a scan runs.
    fn using<T>(&self, work: impl FnOnce(&mut SearchIndex) -> Result<T, ToolError>) -> Result<T, ToolError> {
        let mut held = self.0.index.lock().unwrap_or_else(PoisonError::into_inner);
        let index = match &mut *held {
            Some(index) => index,
            none => none.insert(SearchIndex::open(&self.0.file).map_err(failed)?),
        };
        let done = work(index);
        if !self.progress().scanning {
            *held = None;
        }
        done
    }

    fn close(&self) {
        *self.0.index.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

fn failed(error: rusqlite::Error) -> ToolError {
    ToolError::new(ErrorCode::Unavailable, format!("the search index cannot be used: {error}"))
        .hint("vector.rebuild makes it anew; look for free space on the card with system.get_disk_usage")
        .numbered(UNAVAILABLE)
}

/// The number of the slash dialect for an index that does not answer, or has no vectors.
pub const UNAVAILABLE: i32 = 1010;
