//! `logs.get_recent_app_logs`: the newest lines of the server's own log.

use crate::{
    log::LogLine,
    registry::{context::Context, tool::Tool},
    tools::{
        empty,
        page::{Offset, PageLimit, Pagination},
        time::Moment,
    },
};
use base::error::ToolError;
use contract::meta::{Listing, Meta};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {
    /// At least this severe.
    #[serde(default)]
    level: Option<Level>,
    /// Not before this time.
    #[serde(default)]
    since: Option<Moment>,
    #[serde(default)]
    limit: PageLimit,
    #[serde(default)]
    offset: Offset,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Level {
    Error,
    Warn,
    Info,
    Debug,
}

#[derive(Serialize, JsonSchema)]
pub struct Out {
    entries: Vec<Entry>,
    /// Lines that are kept at most; older ones are in the journal.
    kept_lines: usize,
    pagination: Pagination,
    /// Why it is empty.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    note: Option<String>,
}

#[derive(Serialize, JsonSchema)]
struct Entry {
    #[schemars(extend("format" = "date-time"))]
    timestamp: String,
    level: Level,
    /// The module that spoke.
    source: String,
    message: String,
    fields: Map<String, Value>,
}

impl From<LogLine> for Entry {
    fn from(line: LogLine) -> Self {
        let level = level_of(&line);
        Self { timestamp: line.timestamp, level, source: line.target, message: line.message, fields: line.fields }
    }
}

fn level_of(line: &LogLine) -> Level {
    match line.level {
        tracing::Level::ERROR => Level::Error,
        tracing::Level::WARN => Level::Warn,
        tracing::Level::INFO => Level::Info,
        tracing::Level::DEBUG | tracing::Level::TRACE => Level::Debug,
    }
}

pub struct GetRecentAppLogs;

impl Tool for GetRecentAppLogs {
    type Args = Args;
    type Out = Out;
    const META: Meta = Meta {
        name: "logs.get_recent_app_logs",
        title: "Recent server log",
        description: "This server's own log, newest first.\n\nUse when: a call failed and you want the cause.\n\nReturns: lines with time, level, source, message, without secrets.",
        listing: Listing::Extra,
        estimated_tokens: 1500,
        paginated: true,
        tags: &["logs", "diagnosis"],
        resource_uri: Some("raspi://logs/app"),
        ..Meta::READ
    };

    async fn call(cx: &Context, args: Args) -> Result<Out, ToolError> {
        let since = args.since.map(|moment| moment.stamp());
        let lines = cx.services.log.newest(|line| {
            args.level.is_none_or(|least| level_of(line) <= least)
                && since.as_ref().is_none_or(|since| line.timestamp >= *since)
        });
        let (page, pagination) = Pagination::of(lines, args.limit, args.offset);
        let none = || {
            (pagination.total_count == 0)
                .then(|| empty::narrowed("lines", &[("level", args.level.is_some()), ("since", args.since.is_some())]))
        };
        Ok(Out {
            note: empty::beyond(&pagination).or_else(none),
            entries: page.into_iter().map(Entry::from).collect(),
            kept_lines: cx.services.log.capacity(),
            pagination,
        })
    }
}
