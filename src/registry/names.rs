//! One tool, several spellings: `gpio.write_pin`, `gpio_write_pin`, `gpio/write_pin`, each with or without `@1`.

use super::tool::Entry;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;

/// How names are listed. Calls accept every spelling.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Naming {
    /// Underscored, except to clients known to take dots.
    Auto,
    Dotted,
    Underscored,
}

/// Clients that take `[A-Za-z0-9_.-]{1,128}`, by the name they give in `clientInfo`. Others may hand names to a model's API, most of which take
/// `[A-Za-z0-9_-]{1,64}` only (OpenAI, Anthropic), or stand for a client that does (`mcp-remote` gives a name of its own).
pub const DOTTED_CLIENTS: &[&str] = &[
    // The official suite, two lines of it.
    "conformance-client",
    "conformance-session-id-test",
    "conformance-session-lifecycle-test",
    "conformance-test-client",
];

impl From<contract::config::ToolNames> for Naming {
    fn from(names: contract::config::ToolNames) -> Self {
        match names {
            contract::config::ToolNames::Auto => Self::Auto,
            contract::config::ToolNames::Dotted => Self::Dotted,
            contract::config::ToolNames::Underscored => Self::Underscored,
        }
    }
}

impl Naming {
    /// Decides for one client: never [`Naming::Auto`].
    pub fn settle(self, client: Option<&str>) -> Self {
        match self {
            Self::Auto if client.is_some_and(|name| DOTTED_CLIENTS.contains(&name)) => Self::Dotted,
            Self::Auto => Self::Underscored,
            decided => decided,
        }
    }
    pub fn spell(self, name: &str) -> String {
        match self {
            Self::Underscored => name.replacen('.', "_", 1),
            Self::Auto | Self::Dotted => name.to_owned(),
        }
    }
}

/// The dialect a bare method was written in; it decides the error numbers of the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// `tools/call`.
    Mcp,
    /// `gpio.write_pin`
    Dotted,
    /// `gpio/write_pin`
    Slash,
}

/// Every spelling of every tool, to its entry.
pub struct Names {
    dotted: HashMap<&'static str, &'static Entry>,
    underscored: HashMap<String, &'static Entry>,
}

/// Why a name does not lead to a tool.
#[derive(Debug, PartialEq, Eq)]
pub enum Unknown {
    /// No such tool; perhaps this one was meant.
    Name { nearest: Option<&'static str> },
    /// The tool exists, that schema version of it does not.
    Version { tool: &'static str, has: u32 },
}

impl Unknown {
    /// What was written, and what to write instead.
    pub fn explain(&self, written: &str) -> String {
        let written: String = written.chars().take(128).collect();
        match self {
            Self::Name { nearest: Some(nearest) } => format!("{written}; did you mean {nearest}?"),
            Self::Name { nearest: None } => format!("{written}; tools.search finds tools by what they do"),
            Self::Version { tool, has } => format!("{written}; this server has {tool}@{has}"),
        }
    }
}

impl Names {
    pub fn new(entries: &[&'static Entry]) -> Self {
        Self {
            dotted: entries.iter().map(|entry| (entry.name(), *entry)).collect(),
            underscored: entries.iter().map(|entry| (entry.name().replacen('.', "_", 1), *entry)).collect(),
        }
    }

    /// The entry behind any spelling, with the dialect a bare method of that spelling speaks.
    ///
    /// # Errors
    /// [`Unknown`], with the nearest name when there is a likely one.
    pub fn resolve(&self, written: &str) -> Result<(&'static Entry, Dialect), Unknown> {
        let (base, version) = match written.split_once('@') {
            Some((base, version)) => (base, Some(version)),
            None => (written, None),
        };
        let found = if let Some(entry) = self.dotted.get(base) {
            Some((*entry, Dialect::Dotted))
        } else if let Some((namespace, operation)) = base.split_once('/') {
            self.dotted.get(format!("{namespace}.{operation}").as_str()).map(|entry| (*entry, Dialect::Slash))
        } else {
            self.underscored.get(base).map(|entry| (*entry, Dialect::Dotted))
        };
        let Some((entry, dialect)) = found else {
            return Err(Unknown::Name { nearest: self.nearest(base) });
        };
        match version {
            Some(version) if version.parse() != Ok(entry.meta.schema_version) => {
                Err(Unknown::Version { tool: entry.name(), has: entry.meta.schema_version })
            }
            _ => Ok((entry, dialect)),
        }
    }

    /// The name at most a third of its letters away.
    fn nearest(&self, written: &str) -> Option<&'static str> {
        if written.len() > 128 {
            return None;
        }
        let written = written.replacen('/', ".", 1);
        self.dotted
            .keys()
            .map(|name| (distance(&written, name), *name))
            .min()
            .filter(|(distance, name)| distance * 3 <= name.len())
            .map(|(_, name)| name)
    }
}

/// Levenshtein distance in bytes.
pub fn distance(a: &str, b: &str) -> usize {
    let b = b.as_bytes();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.bytes().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, y) in b.iter().enumerate() {
            let substituted = diagonal + usize::from(x != *y);
            diagonal = row[j + 1];
            row[j + 1] = substituted.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}
