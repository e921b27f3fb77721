//! The journal, read through `journalctl`: the file format is private to systemd, and its library would be C code in
//! the half that talks to the network. Values are passed as `--option=value`, so none of them can be taken for an
//! option; no shell is involved.
//!
//! journalctl(1), systemd.journal-fields(7), and "Journal JSON Format" of systemd's documentation.

use super::root::Root;
use serde::Deserialize;
use serde_json::Value;
use std::{io, process::Stdio};
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, BufReader},
    process::{Child, ChildStdout, Command},
    task::JoinHandle,
};

/// Longest line of JSON that is parsed; longer ones are counted and skipped. Messages have 48 KiB at most unless they
/// come over the native protocol.
const LONGEST_LINE: usize = 256 * 1024;
/// Bytes kept of its error output.
const LONGEST_COMPLAINT: u64 = 4096;
const FIELDS: &str = "MESSAGE,PRIORITY,_SYSTEMD_UNIT,UNIT,SYSLOG_IDENTIFIER,_COMM,_PID";

/// Suffixes of unit names; a name without one gets the first (systemd.unit(5)).
const TYPES: [&str; 11] = [
    ".service",
    ".socket",
    ".timer",
    ".mount",
    ".automount",
    ".target",
    ".path",
    ".scope",
    ".slice",
    ".swap",
    ".device",
];

/// Which lines, and in which order. What is searched for in them is not part of it: journalctl would search the text
/// before secrets are masked.
#[derive(Clone, Debug, Default)]
pub struct Query {
    /// A unit's name, validated by the caller.
    pub unit: Option<String>,
    /// Microseconds since 1970, both inclusive.
    pub since: Option<u64>,
    pub until: Option<u64>,
    /// The lowest severity included: 0 (emerg) to 7 (debug).
    pub priority: Option<u8>,
    /// Continues after the line with this cursor.
    pub after: Option<String>,
    pub newest_first: bool,
    /// Only lines of this boot.
    pub this_boot: bool,
    /// Waits for new lines at the end.
    pub follow: bool,
    /// Times do not grow from line to line ([`super::journal_boots::overlap`]): each line is compared with `since` and
    /// `until`, since journalctl would stop at the first one outside.
    pub scattered: bool,
}

impl Query {
    fn arguments(&self) -> Vec<String> {
        let mut all: Vec<String> = ["--no-pager", "--output=json", "--all"].map(String::from).to_vec();
        all.push(format!("--output-fields={FIELDS}"));
        let mut add = |name: &str, value: Option<String>| all.extend(value.map(|value| format!("--{name}={value}")));
        // Following must continue after any line, not only one of this unit: with a cursor and a filter, journalctl
        // (252) skips the first line that matches. So it reads all lines, and [`Query::wants`] filters.
        add("unit", self.unit.clone().filter(|_| !self.follow));
        add("priority", self.priority.filter(|_| !self.follow).map(|level| level.to_string()));
        add("after-cursor", self.after.clone());
        let moment = |micros: u64| format!("@{}.{:06}", micros / 1_000_000, micros % 1_000_000);
        // It accepts one start only; with a cursor, [`Query::ends`] and the reader apply this one.
        add("since", self.since.filter(|_| self.after.is_none() && !self.scattered).map(moment));
        add("until", self.until.filter(|_| !self.scattered).map(moment));
        if self.this_boot {
            all.push("--boot=0".into());
        }
        if self.newest_first {
            all.push("--reverse".into());
        }
        if self.follow {
            // It follows one boot only, unless it merges journals; and in a container's sandbox the boot id is hidden.
            all.extend(["--follow", "--no-tail", "--merge"].map(String::from));
        }
        all
    }

    /// Whether the line has the requested unit and severity.
    fn wants(&self, line: &JournalLine) -> bool {
        let of_unit = self.unit.as_ref().is_none_or(|unit| {
            let full =
                if TYPES.iter().any(|end| unit.ends_with(end)) { unit.clone() } else { format!("{unit}.service") };
            line.unit.as_ref() == Some(&full) || line.writer.as_ref() == Some(&full)
        });
        of_unit && self.priority.is_none_or(|least| line.priority.is_some_and(|priority| priority <= least))
    }

    /// Whether a line of that time lies before the requested range, or after it.
    fn misses(&self, micros: u64) -> (bool, bool) {
        (self.since.is_some_and(|since| micros < since), self.until.is_some_and(|until| micros > until))
    }
}

/// One line of the journal.
#[derive(Clone, Debug, PartialEq)]
pub struct JournalLine {
    pub cursor: String,
    /// Microseconds since 1970.
    pub micros: u64,
    pub priority: Option<u8>,
    /// The unit it is about, or that wrote it.
    pub unit: Option<String>,
    /// The unit that wrote it.
    pub writer: Option<String>,
    pub identifier: Option<String>,
    pub pid: Option<u32>,
    /// Invalid UTF-8 is replaced.
    pub message: String,
}

/// The program, with its output piped and without error output; dropping its process ends it. `None` if there is none.
pub(super) fn journalctl(root: &Root) -> Option<Command> {
    let places = ["usr/bin/journalctl", "bin/journalctl"];
    let program = places.into_iter().map(|at| root.path(at)).find(|path| path.exists())?;
    let mut command = Command::new(program);
    command
        .env_clear()
        .envs([("LC_ALL", "C.UTF-8"), ("TZ", "UTC"), ("SYSTEMD_COLORS", "0"), ("SYSTEMD_URLIFY", "0")])
        .current_dir("/")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .kill_on_drop(true);
    Some(command)
}

/// A running query. Dropping it ends its process.
pub struct JournalReader {
    query: Query,
    child: Child,
    out: BufReader<ChildStdout>,
    /// The incomplete line; a read can be cancelled between two pieces.
    partial: Vec<u8>,
    overlong: bool,
    /// A line beyond the requested range was read, so no later one is needed.
    pub is_beyond: bool,
    /// Number of lines longer than `LONGEST_LINE`, or that are not JSON in the expected form.
    pub left_out: u64,
    complaint: JoinHandle<String>,
}

/// How a query ended.
#[derive(Debug)]
pub struct QueryEnd {
    pub success: bool,
    /// Its error output, shortened.
    pub said: String,
}

impl JournalReader {
    /// Starts a query; `None` when there is no `journalctl`.
    ///
    /// # Errors
    /// Those of starting a process.
    pub fn start(root: &Root, query: Query) -> io::Result<Option<Self>> {
        let Some(mut command) = journalctl(root) else { return Ok(None) };
        let mut child = command.args(query.arguments()).stderr(Stdio::piped()).spawn()?;
        let lost = || io::Error::other("a pipe of the process is missing");
        let (out, said) = (child.stdout.take().ok_or_else(lost)?, child.stderr.take().ok_or_else(lost)?);
        let complaint = crate::task::spawn(async move {
            let mut kept = Vec::new();
            let mut said = said.take(LONGEST_COMPLAINT);
            // Read errors are ignored; the exit code counts.
            let _ = said.read_to_end(&mut kept).await;
            let mut rest = said.into_inner();
            let _ = tokio::io::copy(&mut rest, &mut tokio::io::sink()).await;
            String::from_utf8_lossy(&kept).trim().to_owned()
        });
        let out = BufReader::new(out);
        Ok(Some(Self {
            query,
            child,
            out,
            partial: Vec::new(),
            is_beyond: false,
            overlong: false,
            left_out: 0,
            complaint,
        }))
    }

    /// The next line; `None` at the end. Cancel safe.
    ///
    /// # Errors
    /// Those of reading.
    pub async fn next(&mut self) -> io::Result<Option<JournalLine>> {
        while let Some(text) = self.text().await? {
            let Some(line) = JournalLine::parse(&text) else {
                self.left_out += 1;
                continue;
            };
            if self.query.follow && !self.query.wants(&line) {
                continue;
            }
            match (self.query.misses(line.micros), self.query.newest_first) {
                ((false, false), _) => return Ok(Some(line)),
                // Beyond the end of the requested range.
                ((true, _), true) | ((_, true), false) if !self.query.scattered => {
                    self.is_beyond = true;
                    return Ok(None);
                }
                _ => {}
            }
        }
        Ok(None)
    }

    /// The text of one line.
    async fn text(&mut self) -> io::Result<Option<Vec<u8>>> {
        loop {
            let piece = self.out.fill_buf().await?;
            if piece.is_empty() {
                return Ok(None);
            }
            let end = piece.iter().position(|byte| *byte == b'\n');
            let part = &piece[..end.unwrap_or(piece.len())];
            if self.partial.len() + part.len() > LONGEST_LINE {
                self.overlong = true;
                self.partial.clear();
            }
            if !self.overlong {
                self.partial.extend_from_slice(part);
            }
            let used = part.len() + usize::from(end.is_some());
            self.out.consume(used);
            if end.is_some() {
                if std::mem::take(&mut self.overlong) {
                    self.left_out += 1;
                    continue;
                }
                return Ok(Some(std::mem::take(&mut self.partial)));
            }
        }
    }

    /// Ends the process, if it is still running, and waits for it.
    ///
    /// # Errors
    /// Those of waiting.
    pub async fn stop(mut self) -> io::Result<()> {
        self.child.kill().await
    }

    /// Waits for the end of a process without further lines, and reads its error output.
    ///
    /// # Errors
    /// Those of waiting.
    pub async fn end(mut self) -> io::Result<QueryEnd> {
        let status = self.child.wait().await?;
        let said = self.complaint.await.unwrap_or_default();
        Ok(QueryEnd { success: status.success(), said })
    }
}

#[derive(Deserialize)]
struct Raw {
    #[serde(rename = "__CURSOR")]
    cursor: String,
    #[serde(rename = "__REALTIME_TIMESTAMP")]
    realtime: String,
    #[serde(default, rename = "MESSAGE")]
    message: Value,
    #[serde(default, rename = "PRIORITY")]
    priority: Value,
    #[serde(default, rename = "UNIT")]
    about: Value,
    #[serde(default, rename = "_SYSTEMD_UNIT")]
    by: Value,
    #[serde(default, rename = "SYSLOG_IDENTIFIER")]
    identifier: Value,
    #[serde(default, rename = "_COMM")]
    program: Value,
    #[serde(default, rename = "_PID")]
    pid: Value,
}

impl JournalLine {
    fn parse(json: &[u8]) -> Option<Self> {
        let raw: Raw = serde_json::from_slice(json).ok()?;
        Some(Self {
            cursor: raw.cursor,
            micros: raw.realtime.parse().ok()?,
            priority: text(&raw.priority).and_then(|level| level.parse().ok()).filter(|level| *level <= 7),
            unit: text(&raw.about).or_else(|| text(&raw.by)),
            writer: text(&raw.by),
            identifier: text(&raw.identifier).or_else(|| text(&raw.program)),
            pid: text(&raw.pid).and_then(|pid| pid.parse().ok()),
            message: text(&raw.message).unwrap_or_default(),
        })
    }
}

/// A field as text: a string; a list of numbers, which are its bytes; or a list of either, for a repeated field.
fn text(field: &Value) -> Option<String> {
    match field {
        Value::String(text) => Some(text.clone()),
        Value::Array(items) if items.iter().all(Value::is_u64) && !items.is_empty() => {
            let bytes: Vec<u8> =
                items.iter().filter_map(|item| item.as_u64().and_then(|byte| u8::try_from(byte).ok())).collect();
            Some(String::from_utf8_lossy(&bytes).into_owned())
        }
        Value::Array(items) => {
            let texts: Vec<String> = items.iter().filter_map(text).collect();
            (!texts.is_empty()).then(|| texts.join("\n"))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_come_in_four_shapes() {
        let line = |fields: &str| {
            JournalLine::parse(format!(r#"{{"__CURSOR":"s=1","__REALTIME_TIMESTAMP":"1000001"{fields}}}"#).as_bytes())
        };
        let plain = line(r#","MESSAGE":"hi","PRIORITY":"3","_PID":"7","_SYSTEMD_UNIT":"a.service""#).unwrap();
        assert_eq!((plain.message.as_str(), plain.priority, plain.pid), ("hi", Some(3), Some(7)));
        assert_eq!((plain.micros, plain.unit.as_deref()), (1_000_001, Some("a.service")));
        let about = line(r#","UNIT":"b.service","_SYSTEMD_UNIT":"init.scope","MESSAGE":[104,105,255]"#).unwrap();
        assert_eq!((about.unit.as_deref(), about.message.as_str()), (Some("b.service"), "hi\u{fffd}"));
        assert_eq!(line(r#","MESSAGE":["one",[116,119,111]]"#).unwrap().message, "one\ntwo");
        assert_eq!(line(r#","MESSAGE":null,"PRIORITY":"9""#).unwrap().message, "");
        assert!(JournalLine::parse(b"{}").is_none() && JournalLine::parse(b"-- No entries --").is_none());
    }

    #[test]
    fn no_value_can_be_an_option() {
        let query = Query {
            unit: Some("--file=/etc/shadow".into()),
            after: Some("-D/".into()),
            since: Some(1),
            ..Query::default()
        };
        let arguments = query.arguments();
        for known in ["--unit=--file=/etc/shadow", "--after-cursor=-D/"] {
            assert!(arguments.iter().any(|argument| argument == known), "{known}: {arguments:?}");
        }
        assert!(!arguments.iter().any(|argument| argument.starts_with("--since")), "one beginning only");
    }
}
