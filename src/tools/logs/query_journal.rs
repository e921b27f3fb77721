//! `logs.query_journal`: queries the machine's journal or, without one, the server's own log.

use super::{
    journal_args::{Cursor, Pattern, Priority, Seconds, UnitName},
    journal_empty,
    journal_end::{Verdict, judged},
    journal_grep::JournalGrep,
    journal_page::{self, JournalPage, LogEntry, LogSource, own_log},
};
use crate::{
    registry::{context::Context, progress::Update, tool::Tool},
    tools::{page::PageLimit, time::Moment},
};
use base::{
    clock,
    error::ToolError,
    os::{
        journal::{JournalReader, Query},
        journal_boots,
    },
};
use contract::meta::Meta;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::{io, time::Duration};
use tokio::time::{Instant, sleep_until, timeout, timeout_at};

/// Time limit of a query without following.
const PATIENCE: Duration = Duration::from_secs(30);
/// How long lines are collected for a page; a search over years of journal takes longer, and goes on in the next page.
const COLLECTED: Duration = Duration::from_secs(25);
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
    /// Regular expression, of lines as shown: secrets are masked before. Without capitals case does not count.
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
        args.grep()?;
        if args.since.zip(args.until).is_some_and(|(since, until)| since > until) {
            let why = "since is later than until: nothing lies between them";
            return Err(ToolError::invalid(why).with("parameter", "since"));
        }
        let too_long = |_| ToolError::timeout(Self::META.name, PATIENCE).hint("narrow it: a later since, or a unit");
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
            after: self.cursor.clone().map(Cursor::into_text),
            newest_first: self.order == Order::NewestFirst && !follow,
            follow,
            ..Query::default()
        }
    }

    fn grep(&self) -> Result<Option<JournalGrep>, ToolError> {
        self.grep.as_ref().map(JournalGrep::of).transpose()
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
            return match judged(&ended, true, false)? {
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
        let ranged = self.since.or(self.until).is_some();
        let scattered = ranged && journal_boots::overlap(&cx.services.machine.root).await;
        let query = Query { scattered, ..self.query() };
        let Some(mut reading) = start(cx, query)? else { return self.own(cx, NO_PROGRAM) };
        let (mut page, end) = (JournalPage::of(self.limit.get(), self.grep()?), Instant::now() + COLLECTED);
        let is_hidden = journal_page::hidden(cx);
        let (more, note) = loop {
            let Ok(next) = timeout_at(end, reading.next()).await else {
                if page.last_cursor().is_none() {
                    return Err(ToolError::timeout(QueryJournal::META.name, COLLECTED).hint(NARROW));
                }
                break (true, Some(NOT_ALL.to_owned()));
            };
            match next.map_err(unreadable)? {
                Some(line) if is_hidden(&line) => {}
                Some(line) if page.is_full() => {
                    if page.wants(line) {
                        break (true, None);
                    }
                }
                Some(line) => drop(page.add(line)),
                None => break (false, None),
            }
        };
        let note = note.or(scattered.then(|| SET_BACK.to_owned()));
        let left_out = reading.left_out;
        if more || reading.is_beyond {
            reading.stop().await.map_err(unreadable)?;
            return Ok(self.answer(page, more, left_out, note));
        }
        let ended = reading.end().await.map_err(unreadable)?;
        let note = match judged(&ended, page.is_empty(), self.cursor.is_some())? {
            Verdict::Fine(None) if page.is_empty() && self.cursor.is_none() => Some(self.why_empty(cx).await),
            Verdict::Fine(said) => said.or(note),
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
        let (mut page, end) = (JournalPage::of(self.limit.get(), self.grep()?), Instant::now() + time);
        let (mut gathered, mut flush) = (String::new(), Instant::now());
        let is_hidden = journal_page::hidden(cx);
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
                return match judged(&ended, page.is_empty(), self.cursor.is_some())? {
                    Verdict::NoJournal(why) => self.own(cx, &why),
                    Verdict::Fine(_) => Err(ToolError::unavailable("journalctl stopped following").hint("try again")),
                };
            };
            if is_hidden(&line) {
                continue;
            }
            let Some(shown) = page.add(line) else { continue };
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

    /// The answer from the server's own log if there is no journal.
    fn own(&self, cx: &Context, why: &str) -> Result<Out, ToolError> {
        journal_page::check_own(cx)?;
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
        let grep = self.grep()?;
        let mut lines = cx.services.log.newest(|line| {
            self.priority.is_none_or(|least| own_log::priority(line) <= least)
                && since.as_ref().is_none_or(|since| line.timestamp >= *since)
                && until.as_ref().is_none_or(|until| line.timestamp <= *until)
                && grep.as_ref().is_none_or(|grep| grep.fits(&line.message))
        });
        if self.order == Order::OldestFirst {
            lines.reverse();
        }
        let has_more = lines.len() > self.limit.get();
        lines.truncate(self.limit.get());
        Ok(Out {
            returned_count: lines.len(),
            entries: lines.into_iter().map(own_log::shown).collect(),
            has_more,
            next_cursor: None,
            source: LogSource::Server,
            left_out: 0,
            full: false,
            note: Some(format!("{why}: this is the server's own log")),
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

const SET_BACK: &str = "the clock was set back between two boots: lines have the order in which they were written";
const NOT_ALL: &str =
    "not all lines were looked at in time: next_cursor goes on, or narrow it with a unit or a later since";
const NARROW: &str = "narrow it: a later since, or a unit";
const NO_PROGRAM: &str = "there is no journalctl on this machine";

fn start(cx: &Context, query: Query) -> Result<Option<JournalReader>, ToolError> {
    JournalReader::start(&cx.services.machine.root, query)
        .map_err(|fault| ToolError::unavailable(format!("journalctl cannot be started: {fault}")))
}

fn unreadable(fault: io::Error) -> ToolError {
    ToolError::unavailable(format!("the journal cannot be read: {fault}")).hint("try again")
}
