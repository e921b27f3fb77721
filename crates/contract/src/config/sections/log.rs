//! `[log]`: the server's log, and where it goes.

use crate::config::{
    declare::{choice, section},
    key::InState,
    kind::count,
};

section! {
    /// The server's log.
    [log] pub struct Log {
        /// The least severe level that is logged.
        level: LogLevel = LogLevel::Info, LogLevel::KIND, InState::Free;
        /// Where the log goes. `auto` is the journal under systemd and stderr elsewhere.
        target: LogTarget = LogTarget::Auto, LogTarget::KIND, InState::Never;
        /// Number of lines kept in memory for `logs.get_recent_app_logs`.
        ring_lines: usize = 1000, count(10, 100_000), InState::Lower;
    }
}

choice! {
    /// `log.level`, most severe first.
    pub enum LogLevel {
        Error = "error",
        Warn = "warn",
        Info = "info",
        Debug = "debug",
        Trace = "trace",
    }
}

impl From<LogLevel> for tracing::Level {
    fn from(level: LogLevel) -> Self {
        match level {
            LogLevel::Error => Self::ERROR,
            LogLevel::Warn => Self::WARN,
            LogLevel::Info => Self::INFO,
            LogLevel::Debug => Self::DEBUG,
            LogLevel::Trace => Self::TRACE,
        }
    }
}

choice! {
    /// `log.target`: where log lines go.
    pub enum LogTarget {
        Auto = "auto",
        Journal = "journal",
        Stderr = "stderr",
    }
}
