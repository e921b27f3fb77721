//! Finds chunks, best first. All conditions hold inside the query: what does not fulfil them takes nobody's place.

use crate::{
    Corpus, SearchIndex,
    question::Reading,
    snippet::{self, Snippet},
};
use rusqlite::{params_from_iter, types::Value};

/// What a word of a heading weighs beside one of the text.
const TITLE: f64 = 2.0;
/// What a passage counts more with which a document begins: it says what the document is about. From 1.05 to 1.3 this made every set
/// of questions better (decision 363).
const FIRST: f64 = 1.15;
/// What a further passage of the same document counts: others may answer too.
const AGAIN: f64 = 0.85;
/// Passages beside those wanted that are ranked by all words.
const POOL: u32 = 100;
/// A score of BM25 at which the score shown is one half.
const HALF: f64 = 10.0;

/// A question and its conditions.
#[derive(Clone, Copy, Debug)]
pub struct SearchQuery<'a> {
    pub corpus: Corpus,
    /// Only documents of these.
    pub namespaces: &'a [String],
    /// Only documents whose path begins so.
    pub path_prefix: Option<&'a str>,
    /// Only documents in this language.
    pub lang: Option<&'a str>,
    pub top_k: u32,
}

/// A chunk that was found.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    pub namespace: String,
    pub path: String,
    pub etag: String,
    pub lang: Option<String>,
    /// BM25's number, greater for a better match; comparable within its corpus.
    pub weight: f64,
    /// From 0 to 1; comparable within one answer.
    pub score: f64,
    pub snippet: Snippet,
}

impl SearchIndex {
    /// Finds what `reading` says.
    ///
    /// # Errors
    /// Those of SQLite.
    pub fn find(&self, query: SearchQuery<'_>, reading: &Reading) -> rusqlite::Result<Vec<Found>> {
        let (Some(expression), false) = (reading.expression(), query.namespaces.is_empty()) else {
            return Ok(Vec::new());
        };
        let table = query.corpus.table();
        let telling = reading.telling();
        let pool = query.top_k.saturating_add(POOL);
        // What is chosen by, how many, and how many of these are answered.
        let mut values: Vec<Value> =
            vec![telling.clone().unwrap_or_else(|| expression.clone()).into(), pool.into(), query.top_k.into()];
        let mut condition = String::new();
        if !self.is_everything(&query)? {
            let marks: Vec<String> = (0..query.namespaces.len()).map(|at| format!("?{}", at + 4)).collect();
            values.extend(query.namespaces.iter().cloned().map(Value::from));
            condition = format!(
                " AND rowid IN (SELECT c.id FROM documents d JOIN chunks c ON c.document = d.id
                  WHERE d.corpus = '{table}' AND d.namespace IN ({})",
                marks.join(", ")
            );
            if let Some(prefix) = query.path_prefix {
                values.push(prefix.to_owned().into());
                let mark = values.len();
                condition.push_str(&format!(" AND substr(d.path, 1, length(?{mark})) = ?{mark}"));
            }
            if let Some(lang) = query.lang {
                values.push(lang.to_owned().into());
                condition.push_str(&format!(" AND d.lang = ?{}", values.len()));
            }
            condition.push(')');
        }
        let scored =
            format!("SELECT rowid AS id, bm25({table}, {TITLE}, 1.0) AS score FROM {table} WHERE {table} MATCH");
        let mut best = format!("{scored} ?1{condition} ORDER BY score, rowid LIMIT ?2");
        if telling.is_some() {
            values.push(expression.into());
            best = format!("{scored} ?{} AND +rowid IN (SELECT id FROM ({best}))", values.len());
        }
        // The texts of those that are shown only.
        let sql = format!(
            "SELECT d.namespace, d.path, d.etag, b.score, b.line_start, t.text, d.lang
             FROM (SELECT f.id, f.document, f.line_start, f.score * CASE
                     WHEN row_number() OVER (PARTITION BY f.document ORDER BY f.score, f.id) = 1 THEN 1.0 ELSE {AGAIN} END AS score
                   FROM (SELECT s.id, c.document, c.line_start, s.score * CASE
                           WHEN EXISTS (SELECT 1 FROM chunks p WHERE p.id = s.id - 1 AND p.document = c.document) THEN 1.0
                           ELSE {FIRST} END AS score
                         FROM ({best}) s JOIN chunks c ON c.id = s.id) f
                   ORDER BY 4, 1 LIMIT ?3) b
             JOIN {table} t ON t.rowid = b.id JOIN documents d ON d.id = b.document
             ORDER BY b.score, d.namespace, d.path, b.line_start"
        );
        let mut statement = self.connection.prepare_cached(&sql)?;
        let rows = statement.query_map(params_from_iter(values), |row| {
            // FTS5 gives better matches lower numbers: all are negative.
            let weight = -row.get::<_, f64>(3)?;
            Ok(Found {
                namespace: row.get(0)?,
                path: row.get(1)?,
                etag: row.get(2)?,
                lang: row.get(6)?,
                weight,
                score: weight / (weight + HALF),
                snippet: snippet::of(row.get_ref(5)?.as_str()?, row.get(4)?, reading),
            })
        })?;
        rows.collect()
    }

    /// Whether every document of the corpus fulfils the conditions.
    fn is_everything(&self, query: &SearchQuery<'_>) -> rusqlite::Result<bool> {
        if query.lang.is_some() || query.path_prefix.is_some_and(|prefix| !prefix.is_empty()) {
            return Ok(false);
        }
        let mut names = self.connection.prepare_cached("SELECT DISTINCT namespace FROM documents WHERE corpus = ?1")?;
        let names = names.query_map([query.corpus.table()], |row| row.get::<_, String>(0))?;
        for name in names {
            if !query.namespaces.contains(&name?) {
                return Ok(false);
            }
        }
        Ok(true)
    }
}
