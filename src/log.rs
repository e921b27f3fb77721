//! The server's own log: to the journal or standard error, and the newest lines kept for `logs.get_recent_app_logs`.

use crate::terminal;
use base::{clock, redact};
use contract::config::{LogTarget, Settings};
use serde_json::{Map, Value};
use std::{
    collections::VecDeque,
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};
use tokio::sync::Notify;
use tracing::{
    Event, Level, Subscriber,
    field::{Field, Visit},
    level_filters::LevelFilter,
};
use tracing_subscriber::{
    Layer,
    filter::Targets,
    fmt as print,
    layer::{Context, SubscriberExt},
    util::SubscriberInitExt,
};

/// Longest message or field kept, in characters.
const LONGEST: usize = 1024;

/// Severities of log messages, mildest first (RFC 5424, as MCP names them).
pub const SEVERITIES: [&str; 8] = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"];

/// The index of a severity in [`SEVERITIES`]; `None` for words unknown to MCP.
pub fn rank(severity: &str) -> Option<usize> {
    SEVERITIES.iter().position(|known| *known == severity)
}

/// One line of the log.
#[derive(Clone, Debug)]
pub struct LogLine {
    pub timestamp: String,
    pub level: Level,
    /// The module that logged it.
    pub target: String,
    pub message: String,
    pub fields: Map<String, Value>,
}

impl LogLine {
    /// The level as named in RFC 5424, which MCP uses.
    pub fn severity(&self) -> &'static str {
        match self.level {
            Level::ERROR => "error",
            Level::WARN => "warning",
            Level::INFO => "info",
            Level::DEBUG | Level::TRACE => "debug",
        }
    }
}

/// The newest lines. Cheap to clone.
#[derive(Clone)]
pub struct Ring(Arc<Shared>);

struct Shared {
    kept: Mutex<Kept>,
    capacity: usize,
    arrived: Notify,
}

#[derive(Default)]
struct Kept {
    lines: VecDeque<LogLine>,
    /// Number of all lines so far, which is the number of the newest.
    seen: u64,
}

/// The lines after a mark.
#[derive(Debug, Default)]
pub struct LinesSince {
    /// Oldest first.
    pub lines: Vec<LogLine>,
    /// Number of missing lines: matching lines over the limit, plus all overwritten lines, whether they matched or not.
    pub left_out: u64,
}

impl Ring {
    /// Keeps up to `lines` lines.
    pub fn new(lines: usize) -> Self {
        Self(Arc::new(Shared { kept: Mutex::default(), capacity: lines, arrived: Notify::new() }))
    }

    /// The kept lines that `wanted` accepts, newest first.
    pub fn newest(&self, wanted: impl Fn(&LogLine) -> bool) -> Vec<LogLine> {
        self.lock().lines.iter().rev().filter(|line| wanted(line)).cloned().collect()
    }

    /// The number of the newest line, to be given to [`Ring::since`].
    pub fn mark(&self) -> u64 {
        self.lock().seen
    }

    /// The lines after `mark` that `wanted` accepts, the newest `most` of them; advances `mark`.
    pub fn since(&self, mark: &mut u64, most: usize, wanted: impl Fn(&LogLine) -> bool) -> LinesSince {
        let kept = self.lock();
        let new = kept.seen.saturating_sub(*mark);
        *mark = kept.seen;
        let here = usize::try_from(new).unwrap_or(usize::MAX).min(kept.lines.len());
        let mut left_out = new - here as u64;
        let wanted: Vec<&LogLine> = kept.lines.range(kept.lines.len() - here..).filter(|line| wanted(line)).collect();
        let skipped = wanted.len().saturating_sub(most);
        left_out += skipped as u64;
        LinesSince { lines: wanted[skipped..].iter().map(|&line| line.clone()).collect(), left_out }
    }

    /// Waits until a line was added since the last return. For one listener.
    pub async fn arrived(&self) {
        self.0.arrived.notified().await;
    }

    /// How many lines can be kept.
    pub fn capacity(&self) -> usize {
        self.0.capacity
    }

    fn keep(&self, line: LogLine) {
        let mut kept = self.lock();
        if kept.lines.len() == self.0.capacity {
            kept.lines.pop_front();
        }
        kept.lines.push_back(line);
        kept.seen += 1;
        drop(kept);
        self.0.arrived.notify_one();
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.0.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<S: Subscriber> Layer<S> for Ring {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let mut collected = Collected::default();
        event.record(&mut collected);
        self.keep(LogLine {
            timestamp: clock::now(),
            level: *event.metadata().level(),
            target: component(event.metadata().target()),
            message: collected.message,
            fields: collected.fields,
        });
    }
}

/// Crates whose modules clients know under this program's name: `raspi_mcp::hw::gpio`.
const CRATES: [&str; 5] = ["agent", "appliance", "hw", "update", "update_client"];
/// Crates whose own name is omitted: `base::os` is `raspi_mcp::os`.
const SHARED: [&str; 2] = ["base", "contract"];

/// The component's name for clients, which does not depend on the division into crates.
fn component(target: &str) -> String {
    match target.split_once("::") {
        Some((first, rest)) if SHARED.contains(&first) => format!("raspi_mcp::{rest}"),
        Some((first, _)) if CRATES.contains(&first) => format!("raspi_mcp::{target}"),
        _ => target.to_owned(),
    }
}

#[derive(Default)]
struct Collected {
    message: String,
    fields: Map<String, Value>,
}

impl Collected {
    fn text(&mut self, field: &Field, text: &str) {
        let text: String = redact::redact_own(text).chars().take(LONGEST).collect();
        match field.name() {
            "message" => self.message = text,
            name if redact::is_secret_name(name) => drop(self.fields.insert(name.to_owned(), redact::MASK.into())),
            name => drop(self.fields.insert(name.to_owned(), text.into())),
        }
    }
}

impl Visit for Collected {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.text(field, &format!("{value:?}"));
    }
    fn record_str(&mut self, field: &Field, value: &str) {
        self.text(field, value);
    }
    fn record_i64(&mut self, field: &Field, value: i64) {
        self.fields.insert(field.name().to_owned(), value.into());
    }
    fn record_u64(&mut self, field: &Field, value: u64) {
        self.fields.insert(field.name().to_owned(), value.into());
    }
    fn record_bool(&mut self, field: &Field, value: bool) {
        self.fields.insert(field.name().to_owned(), value.into());
    }
}

/// Starts logging for this process. A second call changes nothing and reports so.
///
/// # Errors
/// If the journal was requested explicitly and is unavailable.
pub fn start(settings: &Settings, ring: &Ring) -> Result<(), String> {
    let level = Level::from(settings.log.level);
    // The audit has its own store and tools, and would fill the ring. rmcp logs every served message at INFO and every
    // refusal at WARN, so a faulty client could fill the log.
    let quiet = Targets::new().with_default(level).with_target("rmcp", level.min(Level::ERROR));
    let app = quiet.clone().with_target("audit", LevelFilter::OFF);
    let everything = quiet.with_target("audit", Level::INFO);
    let journal = match settings.log.target {
        LogTarget::Stderr => None,
        LogTarget::Journal => Some(tracing_journald::layer().map_err(|error| {
            format!(
                "log.target is \"journal\" and the journal cannot be reached: {error}; set it to \"auto\" or \"stderr\""
            )
        })?),
        // systemd sets JOURNAL_STREAM if standard error goes to the journal: then write to it directly, with fields.
        LogTarget::Auto => std::env::var_os("JOURNAL_STREAM").and_then(|_| tracing_journald::layer().ok()),
    };
    let plain = journal.is_none().then(|| {
        print::layer()
            .with_writer(|| terminal::Stderr)
            .with_ansi(false)
            .with_target(false)
            .compact()
            .with_filter(app.clone())
    });
    let started = tracing_subscriber::registry()
        .with(ring.clone().with_filter(app))
        .with(journal.map(|journal| journal.with_filter(everything)))
        .with(plain)
        .try_init();
    started.map_err(|error| format!("logging was started already: {error}"))
}

#[cfg(test)]
mod tests {
    use super::component;

    #[test]
    fn a_part_has_one_name_however_the_program_is_divided() {
        assert_eq!(component("base::os::journal"), "raspi_mcp::os::journal");
        assert_eq!(component("hw::gpio::lines"), "raspi_mcp::hw::gpio::lines");
        for same in ["audit", "update", "raspi_mcp::rpc", "hyper::proto"] {
            assert_eq!(component(same), same);
        }
    }
}
