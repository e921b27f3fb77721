//! A full-text index of files and of the manual: SQLite's FTS5 with BM25, English stemming and spelling correction
//! (docs/contract/vector.md).
//!
//! Lexical, and named so: words find words. Decision 360 says why, with the figures. Knows base and SQLite; reads no file and no
//! folder itself.

mod chunk;
mod database;
mod documents;
mod find;
mod joined;
mod question;
mod snippet;
mod text;

pub use chunk::{Chunk, chunks};
pub use database::{MAX_BYTES, MAX_CHUNKS, SearchIndex};
pub use documents::{Document, PutOutcome, Stamp};
pub use find::{Found, SearchQuery};
pub use joined::joined;
pub use question::Reading;
pub use snippet::Snippet;
pub use text::{language, split, telling, text_of, words};

/// What is ranked together. Scores depend on all documents of a corpus, so a caller who may not see one document of it must not
/// search it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Corpus {
    /// Everybody may read it.
    Manual,
    /// For callers who may read files.
    Files,
}

impl Corpus {
    pub const ALL: [Self; 2] = [Self::Manual, Self::Files];

    /// Its tables in the database.
    const fn table(self) -> &'static str {
        match self {
            Self::Manual => "manual",
            Self::Files => "files",
        }
    }
}
