//! A page of journal lines in an answer: secrets masked, long messages cut, total size limited.

use super::{journal_args::Priority, journal_grep::JournalGrep, query_journal::QueryJournal};
use crate::registry::{context::Context, tool::Tool};
use base::{clock, error::ToolError, os::journal::JournalLine, redact::redact_text};
use schemars::JsonSchema;
use serde::Serialize;
use time::OffsetDateTime;

/// Longest message, in characters: enough for a long traceback.
const LONGEST_MESSAGE: usize = 8 * 1024;
const NAME: &str = QueryJournal::META.name;
/// Size limit of a page, in bytes of its messages.
const LARGEST_PAGE: usize = 1 << 20;

/// Where lines come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum LogSource {
    Journal,
    Server,
}

/// One line.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct LogEntry {
    #[schemars(extend("format" = "date-time"))]
    timestamp: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Priority")]
    priority: Option<Priority>,
    /// The unit it is about, or that wrote it; the kernel has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    unit: Option<String>,
    /// What the writer calls itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    identifier: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u32")]
    pid: Option<u32>,
    message: String,
    /// The message goes on; this much of it is shown.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    #[schemars(with = "bool")]
    cut: bool,
}

impl LogEntry {
    /// As one line, in journalctl's format.
    pub fn line(&self) -> String {
        let who = self.identifier.as_deref().or(self.unit.as_deref()).unwrap_or("-");
        format!("{} {who}: {}", self.timestamp, self.message)
    }

    /// Its time, severity and message.
    pub fn into_parts(self) -> (String, Option<&'static str>, String) {
        (self.timestamp, self.priority.map(Priority::name), self.message)
    }

    fn of(line: JournalLine) -> Self {
        let nanos = i128::from(line.micros) * 1000;
        let (message, cut) = safe(&line.message);
        Self {
            timestamp: clock::stamp(
                OffsetDateTime::from_unix_timestamp_nanos(nanos).unwrap_or(OffsetDateTime::UNIX_EPOCH),
            ),
            priority: line.priority.and_then(Priority::of),
            unit: line.unit,
            identifier: line.identifier,
            pid: line.pid,
            message,
            cut,
        }
    }
}

/// Tells the lines that are not shown: those that this program's services wrote, where policy hides its log.
pub fn hidden(cx: &Context) -> impl Fn(&JournalLine) -> bool + use<> {
    let shown = cx.shows(NAME, "logs:app");
    let is_own = |unit: &Option<String>| unit.as_deref().is_some_and(|unit| unit.starts_with("raspi-mcp"));
    move |line| !shown && (is_own(&line.unit) || is_own(&line.writer))
}

/// # Errors
/// `permission_denied` where policy hides this program's log.
pub fn check_own(cx: &Context) -> Result<(), ToolError> {
    if cx.shows(NAME, "logs:app") {
        return Ok(());
    }
    Err(ToolError::denied("there is no journal, and policy denies logs:app, or has a person asked first")
        .hint("the owner can change that line of [policy] in both halves"))
}

/// Masks secrets, then cuts: a secret that is cut first might not be recognised. Returns whether it was cut.
fn safe(message: &str) -> (String, bool) {
    let safe = redact_text(message);
    match safe.char_indices().nth(LONGEST_MESSAGE) {
        Some((at, _)) => (safe[..at].to_owned(), true),
        None => (safe, false),
    }
}

/// Lines up to a limit, of those that have what is searched for.
pub struct JournalPage {
    entries: Vec<LogEntry>,
    grep: Option<JournalGrep>,
    limit: usize,
    bytes: usize,
    last: Option<String>,
}

impl JournalPage {
    pub fn of(limit: usize, grep: Option<JournalGrep>) -> Self {
        Self { entries: Vec::new(), grep, limit, bytes: 0, last: None }
    }

    /// Adds the line and returns it as it is shown; `None` for one without what is searched for, which is passed over.
    pub fn add(&mut self, mut line: JournalLine) -> Option<&LogEntry> {
        self.last = Some(std::mem::take(&mut line.cursor));
        let shown = self.shown(line)?;
        self.bytes += shown.message.len();
        self.entries.push(shown);
        self.entries.last()
    }

    /// Whether the line would be added to this page if it were not full.
    pub fn wants(&self, line: JournalLine) -> bool {
        self.shown(line).is_some()
    }

    /// The line as it is shown, if that has what is searched for: what is masked or cut is not searched.
    fn shown(&self, line: JournalLine) -> Option<LogEntry> {
        let shown = LogEntry::of(line);
        self.grep.as_ref().is_none_or(|grep| grep.fits(&shown.message)).then_some(shown)
    }

    pub fn is_full(&self) -> bool {
        self.entries.len() >= self.limit || self.has_grown_full()
    }
    /// Whether the size limit was reached, rather than the number of lines.
    pub fn has_grown_full(&self) -> bool {
        self.bytes >= LARGEST_PAGE
    }
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
    pub fn len(&self) -> usize {
        self.entries.len()
    }
    /// The journal cursor of the last line that was added or passed over.
    pub fn last_cursor(&self) -> Option<String> {
        self.last.clone()
    }
    pub fn into_entries(self) -> Vec<LogEntry> {
        self.entries
    }
}

/// The server's own log in the form of journal entries.
pub mod own_log {
    use super::{LogEntry, Priority};
    use crate::log::LogLine;

    pub fn priority(line: &LogLine) -> Priority {
        match line.level {
            tracing::Level::ERROR => Priority::Err,
            tracing::Level::WARN => Priority::Warning,
            tracing::Level::INFO => Priority::Info,
            tracing::Level::DEBUG | tracing::Level::TRACE => Priority::Debug,
        }
    }

    pub fn shown(line: LogLine) -> LogEntry {
        LogEntry {
            priority: Some(priority(&line)),
            timestamp: line.timestamp,
            unit: Some("raspi-mcp.service".into()),
            identifier: Some("raspi-mcp".into()),
            pid: Some(std::process::id()),
            message: line.message,
            cut: false,
        }
    }
}
