//! Documents come, change and go. Each change is one transaction: a process that is killed leaves the document as it was before
//! or as it is after.

use crate::{
    Corpus, SearchIndex,
    chunk::Chunk,
    database::{MAX_BYTES, MAX_CHUNKS},
    text::words,
};
use rusqlite::{Connection, ErrorCode, OptionalExtension, params};
use std::collections::{BTreeMap, BTreeSet};

/// By what a file is known to be unchanged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stamp {
    pub size: i64,
    /// Its last change, in nanoseconds since 1970 UTC.
    pub mtime_ns: i64,
    pub inode: i64,
}

/// A text, cut.
#[derive(Debug)]
pub struct Document<'a> {
    /// The name of its root, or `manual`.
    pub namespace: &'a str,
    /// Relative to its root.
    pub path: &'a str,
    pub stamp: Stamp,
    /// Of the whole file.
    pub etag: &'a str,
    pub lang: Option<&'a str>,
    pub chunks: &'a [Chunk],
}

/// What became of a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PutOutcome {
    Indexed,
    /// The index has no room for it; what it had of it before is removed.
    Full,
}

/// How much is indexed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    pub documents: i64,
    pub chunks: i64,
}

impl SearchIndex {
    /// Puts a document in place of the one with its path.
    ///
    /// # Errors
    /// Those of SQLite.
    pub fn put(&mut self, corpus: Corpus, document: &Document<'_>) -> rusqlite::Result<PutOutcome> {
        match self.try_put(corpus, document) {
            Ok(true) => Ok(PutOutcome::Indexed),
            Err(error) if error.sqlite_error_code() != Some(ErrorCode::DiskFull) => Err(error),
            // The card may be full as well; without it the rest still answers.
            Ok(false) | Err(_) => {
                self.remove(corpus, document.namespace, document.path)?;
                Ok(PutOutcome::Full)
            }
        }
    }

    fn try_put(&mut self, corpus: Corpus, document: &Document<'_>) -> rusqlite::Result<bool> {
        let tx = self.connection.transaction()?;
        remove(&tx, corpus, document.namespace, document.path)?;
        let there: i64 = tx.query_row("SELECT count(*) FROM chunks", [], |row| row.get(0))?;
        let more = i64::try_from(document.chunks.len()).unwrap_or(i64::MAX);
        if there.saturating_add(more) > MAX_CHUNKS {
            return Ok(false);
        }
        let Stamp { size, mtime_ns, inode } = document.stamp;
        tx.prepare_cached(
            "INSERT INTO documents (corpus, namespace, path, size, mtime_ns, inode, etag, lang) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
        )?
        .execute(params![corpus.table(), document.namespace, document.path, size, mtime_ns, inode, document.etag, document.lang])?;
        let id = tx.last_insert_rowid();
        for chunk in document.chunks {
            tx.prepare_cached("INSERT INTO chunks (document, line_start, line_end) VALUES (?1, ?2, ?3)")?
                .execute(params![id, chunk.line_start, chunk.line_end])?;
            let row = tx.last_insert_rowid();
            let table = corpus.table();
            tx.prepare_cached(&format!("INSERT INTO {table} (rowid, title, text) VALUES (?1, ?2, ?3)"))?
                .execute(params![row, chunk.title, chunk.text])?;
            count(&tx, corpus, &chunk.title, &chunk.text, 1)?;
        }
        tx.commit()?;
        Ok(true)
    }

    /// Removes a document, if it is there.
    ///
    /// # Errors
    /// Those of SQLite.
    pub fn remove(&mut self, corpus: Corpus, namespace: &str, path: &str) -> rusqlite::Result<()> {
        let tx = self.connection.transaction()?;
        remove(&tx, corpus, namespace, path)?;
        tx.commit()
    }

    /// The documents of a namespace whose path begins with `prefix`, with their stamps.
    ///
    /// # Errors
    /// Those of SQLite.
    pub fn known(&self, corpus: Corpus, namespace: &str, prefix: &str) -> rusqlite::Result<BTreeMap<String, Stamp>> {
        let mut query = self.connection.prepare_cached(
            "SELECT path, size, mtime_ns, inode FROM documents WHERE corpus = ?1 AND namespace = ?2 AND substr(path, 1, length(?3)) = ?3",
        )?;
        let rows = query.query_map(params![corpus.table(), namespace, prefix], |row| {
            Ok((row.get(0)?, Stamp { size: row.get(1)?, mtime_ns: row.get(2)?, inode: row.get(3)? }))
        })?;
        rows.collect()
    }

    /// Removes all documents of a corpus whose namespace is none of these.
    ///
    /// # Errors
    /// Those of SQLite.
    pub fn keep_only(&mut self, corpus: Corpus, namespaces: &BTreeSet<&str>) -> rusqlite::Result<()> {
        for (namespace, _) in self.namespaces(corpus)? {
            if !namespaces.contains(namespace.as_str()) {
                for path in self.known(corpus, &namespace, "")?.into_keys() {
                    self.remove(corpus, &namespace, &path)?;
                }
            }
        }
        Ok(())
    }

    /// How much each namespace of a corpus has.
    ///
    /// # Errors
    /// Those of SQLite.
    pub fn namespaces(&self, corpus: Corpus) -> rusqlite::Result<BTreeMap<String, Counts>> {
        let mut query = self.connection.prepare_cached(
            "SELECT d.namespace, count(DISTINCT d.id), count(c.id) FROM documents d LEFT JOIN chunks c ON c.document = d.id
             WHERE d.corpus = ?1 GROUP BY d.namespace",
        )?;
        let rows = query.query_map([corpus.table()], |row| {
            Ok((row.get(0)?, Counts { documents: row.get(1)?, chunks: row.get(2)? }))
        })?;
        rows.collect()
    }

    /// Whether something more may be put in.
    ///
    /// # Errors
    /// Those of SQLite.
    pub fn has_room(&self) -> rusqlite::Result<bool> {
        let chunks: i64 = self.connection.query_row("SELECT count(*) FROM chunks", [], |row| row.get(0))?;
        Ok(chunks < MAX_CHUNKS && self.bytes()? < MAX_BYTES)
    }
}

fn remove(tx: &Connection, corpus: Corpus, namespace: &str, path: &str) -> rusqlite::Result<()> {
    let table = corpus.table();
    let id: Option<i64> = tx
        .prepare_cached("SELECT id FROM documents WHERE corpus = ?1 AND namespace = ?2 AND path = ?3")?
        .query_row(params![table, namespace, path], |row| row.get(0))
        .optional()?;
    let Some(id) = id else { return Ok(()) };
    let chunks: Vec<(i64, String, String)> = tx
        .prepare_cached(&format!(
            "SELECT c.id, t.title, t.text FROM chunks c JOIN {table} t ON t.rowid = c.id WHERE c.document = ?1"
        ))?
        .query_map([id], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?
        .collect::<rusqlite::Result<_>>()?;
    for (row, title, text) in chunks {
        tx.prepare_cached(&format!("DELETE FROM {table} WHERE rowid = ?1"))?.execute([row])?;
        count(tx, corpus, &title, &text, -1)?;
    }
    tx.prepare_cached("DELETE FROM chunks WHERE document = ?1")?.execute([id])?;
    tx.prepare_cached("DELETE FROM documents WHERE id = ?1")?.execute([id])?;
    Ok(())
}

/// Counts the words of a chunk in or out.
fn count(tx: &Connection, corpus: Corpus, title: &str, text: &str, by: i64) -> rusqlite::Result<()> {
    let table = corpus.table();
    let all: BTreeSet<String> = words(title).chain(words(text)).collect();
    let mut add = tx.prepare_cached(&format!(
        "INSERT INTO {table}_words (word, chunks) VALUES (?1, ?2) ON CONFLICT (word) DO UPDATE SET chunks = chunks + ?2"
    ))?;
    for word in &all {
        add.execute(params![word, by])?;
    }
    if by < 0 {
        let mut clear = tx.prepare_cached(&format!("DELETE FROM {table}_words WHERE word = ?1 AND chunks <= 0"))?;
        for word in &all {
            clear.execute([word])?;
        }
    }
    Ok(())
}
