//! Faults in the configuration, with their place: a file and line, a variable, or a flag.

use base::redact;
use std::{
    fmt,
    path::{Path, PathBuf},
    sync::Arc,
};

/// A position in a text. Line and column start at one; columns count characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TextPosition {
    pub line: usize,
    pub column: usize,
}

/// The origin of a setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// A fragment; no position when the whole file is meant.
    File { path: Arc<Path>, at: Option<TextPosition> },
    /// The name of an environment variable.
    Variable(String),
    /// A command-line flag as typed, such as `--http`.
    Flag(String),
    /// The built-in default.
    Default,
}

impl Origin {
    /// A file as a whole.
    pub fn file(path: impl Into<PathBuf>) -> Self {
        Self::File { path: path.into().into(), at: None }
    }

    /// The same source at another position.
    #[must_use]
    pub fn at(&self, at: Option<TextPosition>) -> Self {
        match (self, at) {
            (Self::File { path, .. }, Some(_)) => Self::File { path: path.clone(), at },
            _ => self.clone(),
        }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File { path, at: Some(at) } => write!(f, "{}:{}:{}", path.display(), at.line, at.column),
            Self::File { path, at: None } => write!(f, "{}", path.display()),
            Self::Variable(name) | Self::Flag(name) => f.write_str(name),
            Self::Default => f.write_str("default"),
        }
    }
}

/// One fault: `/etc/raspi-mcp/10-site.toml:3:1: unknown key "limit.x"; did you mean "limits.x"?`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigError {
    pub origin: Origin,
    /// What was found, what was expected and what to do. Never contains a secret.
    pub message: String,
}

impl ConfigError {
    pub fn new(origin: Origin, message: impl Into<String>) -> Self {
        Self { origin, message: redact::without_passwords(&message.into()).into_owned() }
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.origin, self.message)
    }
}

/// All faults, in the order of the sources. Never empty when returned as an error.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Faults(pub Vec<ConfigError>);

/// Maximum number of faults shown; the last line says how many were left out.
const SHOWN: usize = 100;

impl fmt::Display for Faults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, fault) in self.0.iter().take(SHOWN).enumerate() {
            if index > 0 {
                f.write_str("\n")?;
            }
            write!(f, "{fault}")?;
        }
        if self.0.len() > SHOWN {
            write!(f, "\nand {} more", self.0.len() - SHOWN)?;
        }
        Ok(())
    }
}

impl std::error::Error for Faults {}
