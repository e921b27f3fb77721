//! `logs.query_journal`: queries the machine's journal or, without one, the server's own log.

use super::{
    journal_args::{Cursor, Pattern, Priority, Seconds, UnitName},
    journal_empty,
    journal_page::{JournalPage, LogEntry, LogSource, own_log},
};
use crate::{
    registry::{context::Context, progress::Update, tool::Tool},
    tools::{page::PageLimit, time::Moment},
};
use base::{
    clock,
    error::ToolError,
    os::journal::{JournalReader, Query, QueryEnd},
};
use contract::meta::Meta;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::{io, time::Duration};
use tokio::time::{Instant, sleep_until, timeout};

/// Time limit of a query without following; a regular expression over years of journal takes long.
const PATIENCE: Duration = Duration::from_secs(30);
/// Shortest time between two progress reports; lines in between are sent together.
const GATHER: Duration = Duration::from_millis(250);
/// Most bytes in one progress report.
const LARGEST_REPORT: usize = 8 * 1024;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {
    /// Of this unit, or about it.
    unit: Option<UnitName>,
    /// Not before this time.
    since: Option<Moment>,
    /// Not after this time.
    until: Option<Moment>,
    /// At least this severe.
    priority: Option<Priority>,
    /// Regular expression; without capitals case does not count.
    grep: Option<Pattern>,
    #[serde(default)]
    limit: PageLimit,
    /// next_cursor of the answer before.
    cursor: Option<Cursor>,
    /// Back or forward in time.
    #[serde(default)]
    order: Order,
    /// Stream new lines as progress for so long.
    follow_seconds: Option<Seconds>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
enum Order {
    #[default]
    NewestFirst,
    OldestFirst,
}

#[derive(Serialize, JsonSchema)]
pub struct Out {
    entries: Vec<LogEntry>,
    returned_count: usize,
    /// Whether there is more in this order.
    has_more: bool,
    /// For the next call: after the last line of this page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    next_cursor: Option<String>,
    /// "journal", or "server": this server's own log, where there is no journal.
    source: LogSource,
    /// Lines that were too long to be read.
    left_out: u64,
    /// The page ends before limit since it has grown to 1 MiB.
    full: bool,
    /// What to know about this answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    note: Option<String>,
}

pub struct QueryJournal;

impl Tool for QueryJournal {
    type Args = Args;
    type Out = Out;
    const META: Meta = Meta {
        name: "logs.query_journal",
        title: "Query the journal",
        description: "What services and the kernel have logged.\n\nUse when: something failed.\n\nReturns: lines with time, unit, severity, message without secrets; a cursor to go on.",
        long: true,
        timeout_seconds: 330,
        estimated_tokens: 4000,
        tags: &["logs", "journal", "systemd", "diagnosis"],
        ..Meta::READ
    };

    async fn call(cx: &Context, args: Args) -> Result<Out, ToolError> {
        if args.follow_seconds.is_some() && args.until.is_some() {
            return Err(ToolError::invalid("follow_seconds waits for lines that come after now; leave until out")
                .with("parameter", "until"));
        }
        if let (Some(since), Some(until)) = (args.since, args.until)
            && since > until
        {
            return Err(
                ToolError::invalid("since is later than until: nothing lies between them").with("parameter", "since")
            );
        }
        let too_long =
            |_| ToolError::timeout(Self::META.name, PATIENCE).hint("narrow it: a later since, a unit, or no grep");
        let Some(seconds) = args.follow_seconds else {
            return timeout(PATIENCE, args.page(cx)).await.map_err(too_long)?;
        };
        match timeout(PATIENCE, args.anchor(cx)).await.map_err(too_long)?? {
            Anchored::After(cursor) => args.follow(cx, cursor, seconds.duration()).await,
            Anchored::Instead(answer) => Ok(answer),
        }
    }
}

/// The newest `limit` lines of a unit, and what to know about them.
///
/// # Errors
/// Those of the tool: no journal, or one that this user may not read.
pub async fn newest_of(cx: &Context, unit: &str, limit: u32) -> Result<(Vec<LogEntry>, Option<String>), ToolError> {
    let args = Args {
        unit: Some(UnitName::try_from(unit.to_owned()).map_err(ToolError::invalid)?),
        since: None,
        until: None,
        priority: None,
        grep: None,
        limit: PageLimit::try_from(limit).map_err(ToolError::invalid)?,
        cursor: None,
        order: Order::NewestFirst,
        follow_seconds: None,
    };
    let page = args.page(cx).await?;
    Ok((page.entries, page.note))
}

impl Args {
    fn query(&self) -> Query {
        let micros = |moment: Moment| u64::try_from(moment.0.unix_timestamp_nanos() / 1000).unwrap_or(0);
        let follow = self.follow_seconds.is_some();
        Query {
            unit: self.unit.clone().map(UnitName::into_text),
            since: self.since.map(micros),
            until: self.until.map(micros),
            priority: self.priority.map(Priority::number),
            grep: self.grep.clone().map(Pattern::into_text),
            after: self.cursor.clone().map(Cursor::into_text),
            newest_first: self.order == Order::NewestFirst && !follow,
            follow,
            ..Query::default()
        }
    }

    /// Where following begins, unless the caller gave a cursor: after the newest line of any unit. No later line is
    /// then missed, however long journalctl takes to start. If there is nothing to follow, returns the answer instead.
    async fn anchor(&self, cx: &Context) -> Result<Anchored, ToolError> {
        if self.cursor.is_some() {
            return Ok(Anchored::After(self.query().after));
        }
        let query = Query { newest_first: true, ..Query::default() };
        let Some(mut reading) = start(cx, query)? else { return self.own(cx, NO_PROGRAM).map(Anchored::Instead) };
        let Some(newest) = reading.next().await.map_err(unreadable)? else {
            let ended = reading.end().await.map_err(unreadable)?;
            return match self.judged(&ended, true)? {
                Verdict::Fine(_) => Ok(Anchored::After(None)),
                Verdict::NoJournal(why) => self.own(cx, &why).map(Anchored::Instead),
            };
        };
        reading.stop().await.map_err(unreadable)?;
        // Lines since a given past time come first, if there are any.
        let after = self.query().since.is_none_or(|since| newest.micros < since);
        Ok(Anchored::After(after.then_some(newest.cursor)))
    }

    /// One page.
    async fn page(&self, cx: &Context) -> Result<Out, ToolError> {
        let Some(mut reading) = start(cx, self.query())? else { return self.own(cx, NO_PROGRAM) };
        let mut page = JournalPage::of(self.limit.get());
        let more = loop {
            match reading.next().await.map_err(unreadable)? {
                Some(_) if page.is_full() => break true,
                Some(line) => drop(page.add(line)),
                None => break false,
            }
        };
        let left_out = reading.left_out;
        if more || reading.is_beyond {
            reading.stop().await.map_err(unreadable)?;
            return Ok(self.answer(page, more, left_out, None));
        }
        let ended = reading.end().await.map_err(unreadable)?;
        let note = match self.judged(&ended, page.is_empty())? {
            Verdict::Fine(None) if page.is_empty() && self.cursor.is_none() => Some(self.why_empty(cx).await),
            Verdict::Fine(note) => note,
            Verdict::NoJournal(why) => return self.own(cx, &why),
        };
        Ok(self.answer(page, false, left_out, note))
    }

    /// Why a successful query has found no line.
    async fn why_empty(&self, cx: &Context) -> String {
        let Query { unit, since, .. } = self.query();
        let given = [
            ("unit", unit.is_some()),
            ("since", since.is_some()),
            ("until", self.until.is_some()),
            ("priority", self.priority.is_some()),
            ("grep", self.grep.is_some()),
        ];
        journal_empty::why(cx, unit.as_deref(), &given).await
    }

    /// Collects new lines until the time is over or the page is full.
    async fn follow(&self, cx: &Context, after: Option<String>, time: Duration) -> Result<Out, ToolError> {
        let Some(mut reading) = start(cx, Query { after, ..self.query() })? else { return self.own(cx, NO_PROGRAM) };
        let (mut page, end) = (JournalPage::of(self.limit.get()), Instant::now() + time);
        let (mut gathered, mut flush) = (String::new(), Instant::now());
        let report = |gathered: &mut String, count: usize| {
            let message = std::mem::take(gathered);
            #[expect(clippy::cast_precision_loss)] // At most 1000 lines.
            cx.progress.report(Update {
                progress: count as f64,
                total: None,
                message,
                phase: "follow",
                stream: "stdout",
            });
        };
        while !page.is_full() {
            let line = tokio::select! {
                line = reading.next() => line.map_err(unreadable)?,
                () = sleep_until(end) => break,
                () = sleep_until(flush), if !gathered.is_empty() => {
                    report(&mut gathered, page.len());
                    flush = Instant::now() + GATHER;
                    continue;
                }
            };
            let Some(line) = line else {
                // While following, journalctl ends by itself only after an error.
                let ended = reading.end().await.map_err(unreadable)?;
                return match self.judged(&ended, page.is_empty())? {
                    Verdict::NoJournal(why) => self.own(cx, &why),
                    Verdict::Fine(_) => Err(ToolError::unavailable("journalctl stopped following").hint("try again")),
                };
            };
            let shown = page.add(line);
            if cx.progress.wanted() && gathered.len() < LARGEST_REPORT {
                if !gathered.is_empty() {
                    gathered.push('\n');
                }
                gathered.push_str(&shown.line());
            }
        }
        if !gathered.is_empty() {
            report(&mut gathered, page.len());
        }
        let (left_out, full) = (reading.left_out, page.is_full());
        reading.stop().await.map_err(unreadable)?;
        Ok(self.answer(page, full, left_out, None))
    }

    fn answer(&self, page: JournalPage, has_more: bool, left_out: u64, note: Option<String>) -> Out {
        let forward = self.order == Order::OldestFirst || self.follow_seconds.is_some();
        let given = self.cursor.clone().map(Cursor::into_text);
        // Forwards, more lines may follow at any time; backwards, only existing ones.
        let next_cursor = page.last_cursor().or(given).filter(|_| has_more || forward);
        let full = page.has_grown_full();
        let entries = page.into_entries();
        Out {
            returned_count: entries.len(),
            entries,
            has_more,
            next_cursor,
            source: LogSource::Journal,
            left_out,
            full,
            note,
        }
    }

    /// Interprets how journalctl ended.
    fn judged(&self, ended: &QueryEnd, nothing_came: bool) -> Result<Verdict, ToolError> {
        let said = ended.said.as_str();
        let has = |words: &str| said.contains(words);
        if nothing_came
            && (has("No journal files were found") || has("No journal files were opened") && !has("permission"))
        {
            return Ok(Verdict::NoJournal("there are no journal files on this machine".into()));
        }
        if has("insufficient permissions") || has("not seeing messages from other users") {
            let note = "only what this server's user may see: add it to the group systemd-journal for the rest";
            return if ended.success || !nothing_came {
                Ok(Verdict::Fine(Some(note.into())))
            } else {
                Err(ToolError::unavailable("this server's user may not read the journal")
                    .hint("add it to the group systemd-journal and restart raspi-mcp"))
            };
        }
        if ended.success {
            return Ok(Verdict::Fine(None));
        }
        let short: String = said.lines().last().unwrap_or("it said nothing").chars().take(300).collect();
        if self.grep.is_some() && (has("pattern") || has("PCRE")) {
            return Err(ToolError::invalid(format!("journalctl does not take this pattern: {short}"))
                .with("parameter", "grep")
                .hint("it is a regular expression (PCRE2): a backslash before ( [ . * takes them as they are"));
        }
        if self.cursor.is_some() && has("cursor") {
            return Err(ToolError::invalid(format!("journalctl does not know this cursor: {short}"))
                .with("parameter", "cursor")
                .hint("pass the next_cursor of an answer unchanged, or leave it out"));
        }
        // As grep(1): without matches it exits with 1 and prints nothing.
        if said.is_empty() {
            return Ok(Verdict::Fine(None));
        }
        Err(ToolError::unavailable(format!("journalctl failed: {short}"))
            .hint("raspi-mcp doctor, or journalctl by hand"))
    }

    /// The answer from the server's own log if there is no journal.
    fn own(&self, cx: &Context, why: &str) -> Result<Out, ToolError> {
        let missing = |what: &str| {
            Err(ToolError::missing(format!("{why}, so {what}"))
                .hint("logs.get_recent_app_logs has this server's own log"))
        };
        if self.unit.as_ref().is_some_and(|unit| !unit.is_ours()) {
            return missing("nothing is known of other units");
        }
        if self.cursor.is_some() || self.follow_seconds.is_some() {
            return missing("there is no cursor to go on from, and nothing to follow");
        }
        let stamp = |moment: Option<Moment>| moment.map(|moment| clock::stamp(moment.0));
        let (since, until) = (stamp(self.since), stamp(self.until));
        let words = self.grep.clone().map(|pattern| pattern.into_text().to_lowercase());
        let mut lines = cx.services.log.newest(|line| {
            self.priority.is_none_or(|least| own_log::priority(line) <= least)
                && since.as_ref().is_none_or(|since| line.timestamp >= *since)
                && until.as_ref().is_none_or(|until| line.timestamp <= *until)
                && words.as_ref().is_none_or(|words| line.message.to_lowercase().contains(words))
        });
        if self.order == Order::OldestFirst {
            lines.reverse();
        }
        let has_more = lines.len() > self.limit.get();
        lines.truncate(self.limit.get());
        let plain = if words.is_some() { "; grep looks for plain text there" } else { "" };
        Ok(Out {
            returned_count: lines.len(),
            entries: lines.into_iter().map(own_log::shown).collect(),
            has_more,
            next_cursor: None,
            source: LogSource::Server,
            left_out: 0,
            full: false,
            note: Some(format!("{why}: this is the server's own log{plain}")),
        })
    }
}

/// The starting point for following.
enum Anchored {
    /// After the line with this cursor; without one, at the beginning.
    After(Option<String>),
    /// There is nothing to follow: return this answer.
    Instead(Out),
}

enum Verdict {
    /// With a note, if any.
    Fine(Option<String>),
    /// Why there is no journal.
    NoJournal(String),
}

const NO_PROGRAM: &str = "there is no journalctl on this machine";

fn start(cx: &Context, query: Query) -> Result<Option<JournalReader>, ToolError> {
    JournalReader::start(&cx.services.machine.root, query)
        .map_err(|fault| ToolError::unavailable(format!("journalctl cannot be started: {fault}")))
}

fn unreadable(fault: io::Error) -> ToolError {
    ToolError::unavailable(format!("the journal cannot be read: {fault}")).hint("try again")
}
