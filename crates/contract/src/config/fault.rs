//! What is wrong with the configuration, and where: a file and line, a variable, or a flag.

use std::{
    fmt,
    path::{Path, PathBuf},
    sync::Arc,
};

/// A place in a text, both counted from one; columns count characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    pub line: usize,
    pub column: usize,
}

/// Where a setting came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// A fragment; without a position when the file as a whole is meant.
    File { path: Arc<Path>, at: Option<Position> },
    /// An environment variable, by its name.
    Variable(String),
    /// A command-line flag as the person typed it, `--http`.
    Flag(String),
    /// Nobody set it: the built-in default.
    Default,
}

impl Origin {
    /// A file as a whole.
    pub fn file(path: impl Into<PathBuf>) -> Self {
        Self::File { path: path.into().into(), at: None }
    }

    /// The same source at another place in it.
    #[must_use]
    pub fn at(&self, at: Option<Position>) -> Self {
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

/// One thing that is wrong: `/etc/raspi-mcp/10-site.toml:3:1: unknown key "limit.x"; did you mean "limits.x"?`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    pub origin: Origin,
    /// What was found, what was expected and what to do; never a secret.
    pub message: String,
}

impl Fault {
    pub fn new(origin: Origin, message: impl Into<String>) -> Self {
        Self { origin, message: message.into() }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.origin, self.message)
    }
}

/// Every fault that was found, in the order of the sources. Never empty when returned as an error.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Faults(pub Vec<Fault>);

/// More than this helps nobody; the last line says how many were left out.
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
