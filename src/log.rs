//! The server's own log: to the journal or standard error, and the newest lines kept for `logs.get_recent_app_logs`.

use crate::{
    access::redact,
    clock,
    config::{LogTarget, Settings},
};
use serde_json::{Map, Value};
use std::{
    collections::VecDeque,
    fmt,
    sync::{Arc, Mutex, PoisonError},
};
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

/// One line of the log.
#[derive(Clone, Debug)]
pub struct Line {
    pub timestamp: String,
    pub level: Level,
    /// The module that spoke.
    pub target: String,
    pub message: String,
    pub fields: Map<String, Value>,
}

/// The newest lines. Cheap to clone.
#[derive(Clone)]
pub struct Ring(Arc<Mutex<VecDeque<Line>>>, usize);

impl Ring {
    /// Keeps up to `lines` lines.
    pub fn new(lines: usize) -> Self {
        Self(Arc::default(), lines)
    }

    /// The kept lines that `wanted` accepts, newest first.
    pub fn newest(&self, wanted: impl Fn(&Line) -> bool) -> Vec<Line> {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .iter()
            .rev()
            .filter(|line| wanted(line))
            .cloned()
            .collect()
    }

    /// How many lines can be kept.
    pub fn capacity(&self) -> usize {
        self.1
    }

    fn keep(&self, line: Line) {
        let mut lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if lines.len() == self.1 {
            lines.pop_front();
        }
        lines.push_back(line);
    }
}

impl<S: Subscriber> Layer<S> for Ring {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let mut collected = Collected::default();
        event.record(&mut collected);
        self.keep(Line {
            timestamp: clock::now(),
            level: *event.metadata().level(),
            target: event.metadata().target().to_owned(),
            message: collected.message,
            fields: collected.fields,
        });
    }
}

#[derive(Default)]
struct Collected {
    message: String,
    fields: Map<String, Value>,
}

impl Collected {
    fn text(&mut self, field: &Field, text: &str) {
        let text: String = redact::redact_text(text).chars().take(LONGEST).collect();
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

/// Starts logging for this process. A second call in one process changes nothing, and says so.
///
/// # Errors
/// When the journal was asked for by name and is not there.
pub fn start(settings: &Settings, ring: &Ring) -> Result<(), String> {
    let level = Level::from(settings.log.level);
    // The audit has its own store and tools; in the ring it would crowd out everything else.
    // rmcp narrates every message it serves at INFO, and every refusal at WARN: a faulty client could fill the log.
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
        // systemd sets JOURNAL_STREAM when standard error goes to the journal anyway: then write there with fields.
        LogTarget::Auto => std::env::var_os("JOURNAL_STREAM").and_then(|_| tracing_journald::layer().ok()),
    };
    let plain = journal.is_none().then(|| {
        print::layer()
            .with_writer(std::io::stderr)
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
