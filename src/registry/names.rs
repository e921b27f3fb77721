//! One tool, several spellings: `gpio.write_pin`, `gpio_write_pin`, `gpio/write_pin`, each with or without `@1` or `.v1`; and
//! the names of other servers ([`compat`]).

use super::{compat, entry::Entry};
use serde::{Deserialize, Serialize};
use std::{collections::HashMap, sync::Arc};

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

/// Every spelling of every tool, to its versions.
#[derive(Default)]
pub struct Names {
    dotted: HashMap<Box<str>, Arc<Versions>>,
    underscored: HashMap<Box<str>, Arc<Versions>>,
    /// Other names of entries ([`Entry::aliases`]): what no spelling is.
    aliases: HashMap<&'static str, Arc<Versions>>,
}

/// Names of RouterOS tools whose meaning a tool of every server has. They are names where there are routers.
const ROUTEROS: [(&str, &str); 3] = [
    ("echo", "system.get_basic_info"),
    ("service_health", "manage.get_server_status"),
    ("audit/get-events", "logs.get_recent_audit_logs"),
];

/// The schema versions of one tool.
struct Versions {
    newest: Arc<Entry>,
    /// The one before, while callers may still use it.
    older: Option<Arc<Entry>>,
}

impl Versions {
    /// By number, lowest first.
    fn numbers(&self) -> Vec<u32> {
        let number = |entry: &Arc<Entry>| entry.meta().schema_version;
        self.older.iter().chain([&self.newest]).map(number).collect()
    }

    fn get(&self, version: u32) -> Option<&Arc<Entry>> {
        [Some(&self.newest), self.older.as_ref()].into_iter().flatten().find(|one| one.meta().schema_version == version)
    }
}

/// Why a name does not lead to a tool.
#[derive(Debug, PartialEq, Eq)]
pub enum ToolNameError {
    /// No such tool; perhaps this one was meant.
    Name { nearest: Option<String> },
    /// The tool exists, that schema version of it does not.
    Version { tool: String, has: Vec<u32> },
}

impl ToolNameError {
    /// What was written, and what to write instead.
    pub fn explain(&self, written: &str) -> String {
        let written: String = written.chars().take(128).collect();
        match self {
            Self::Name { nearest: Some(nearest) } => format!("{written}; did you mean {nearest}?"),
            Self::Name { nearest: None } => format!("{written}; tools.search finds tools by what they do"),
            Self::Version { tool, has } => format!("{written}; this server has {}", versions(tool, has)),
        }
    }
}

/// `files/read.v2` in its parts: another form of `files/read@2`.
fn dotted_version(written: &str) -> Option<(&str, &str)> {
    let (base, version) = written.rsplit_once(".v")?;
    let is_number = !version.is_empty() && version.bytes().all(|byte| byte.is_ascii_digit());
    (is_number && base.contains(['.', '/', '_'])).then_some((base, version))
}

/// `gpio.write_pin@1 and gpio.write_pin@2`
pub fn versions(tool: &str, numbers: &[u32]) -> String {
    numbers.iter().map(|number| format!("{tool}@{number}")).collect::<Vec<_>>().join(" and ")
}

/// First parts of MCP's own methods (`resources/read`). The slash form of a tool with such a name would be one of them.
const METHODS: &[&str] = &[
    "completion",
    "elicitation",
    "initialize",
    "logging",
    "notifications",
    "ping",
    "prompts",
    "resources",
    "roots",
    "rpc",
    "sampling",
    "server",
    "subscriptions",
    "tasks",
];
/// Longest name, in bytes: the APIs of most models take no longer one.
const LONGEST: usize = 64;

/// Whether `name` can be the name of a tool in each spelling: `namespace.operation` of lower-case letters, digits and
/// underscores, each part beginning with a letter, at most 64 bytes, and no method of MCP.
///
/// # Errors
/// A sentence that says which of these it breaks.
pub fn check(name: &str) -> Result<(), String> {
    let is_part = |part: &str| {
        part.starts_with(|first: char| first.is_ascii_lowercase())
            && part.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_')
    };
    let Some((namespace, operation)) = name.split_once('.') else {
        return Err("it has no dot between a namespace and an operation".into());
    };
    if !is_part(namespace) || !is_part(operation) {
        return Err("its two parts are lower-case letters, digits and underscores, and begin with a letter".into());
    }
    if name.len() > LONGEST {
        return Err(format!("it has {} bytes, at most {LONGEST} are allowed", name.len()));
    }
    if METHODS.contains(&namespace) {
        return Err(format!("{namespace}/ begins the methods of MCP"));
    }
    Ok(())
}

impl Names {
    /// The spellings of these tools.
    ///
    /// # Errors
    /// A sentence, if a spelling would lead to two tools: `a.b_c` and `a_b.c` are both `a_b_c`.
    pub fn new(entries: &[Arc<Entry>]) -> Result<Self, String> {
        let mut names = Self::default();
        for entry in entries.iter().filter(|entry| !entry.is_older()) {
            let name = entry.name();
            let older = entries.iter().find(|other| other.is_older() && other.name() == name).cloned();
            let found = Arc::new(Versions { newest: Arc::clone(entry), older });
            names.aliases.extend(entry.aliases().iter().map(|alias| (*alias, Arc::clone(&found))));
            if names.dotted.insert(name.into(), Arc::clone(&found)).is_some() {
                return Err(format!("there is a tool {name} already"));
            }
            let underscored = Naming::Underscored.spell(name);
            if compat::find(&underscored).is_some() {
                return Err(format!(
                    "{name} is spelled {underscored}, which is a name of another server (docs/compat.md)"
                ));
            }
            if let Some(other) = names.underscored.insert(underscored.clone().into(), found) {
                return Err(format!("{name} is spelled {underscored}, which {} is too", other.newest.name()));
            }
        }
        if !names.aliases.is_empty() {
            let known =
                ROUTEROS.iter().filter_map(|(alias, tool)| Some((*alias, Arc::clone(names.dotted.get(*tool)?))));
            names.aliases.extend(known.collect::<Vec<_>>());
        }
        Ok(names)
    }

    /// The entry behind any spelling, with the dialect a bare method of that spelling speaks.
    ///
    /// # Errors
    /// [`ToolNameError`], with the nearest name when there is a likely one.
    pub fn resolve(&self, written: &str) -> Result<(Arc<Entry>, Dialect), ToolNameError> {
        let (base, version) = match written.split_once('@').or_else(|| dotted_version(written)) {
            Some((base, version)) => (base, Some(version)),
            None => (written, None),
        };
        let found = if let Some(found) = self.dotted.get(base) {
            Some((found, Dialect::Dotted))
        } else if let Some((namespace, operation)) = base.split_once('/') {
            self.dotted.get(format!("{namespace}.{operation}").as_str()).map(|found| (found, Dialect::Slash))
        } else {
            let other = || self.dotted.get(compat::find(written)?.tool);
            self.underscored.get(base).or_else(other).map(|found| (found, Dialect::Dotted))
        };
        let dialect = if base.contains('/') { Dialect::Slash } else { Dialect::Dotted };
        let Some((found, dialect)) = found.or_else(|| Some((self.aliases.get(base)?, dialect))) else {
            return Err(ToolNameError::Name { nearest: self.nearest(base) });
        };
        let entry = match version {
            None => Some(&found.newest),
            Some(version) => version.parse().ok().and_then(|version| found.get(version)),
        };
        match entry {
            Some(entry) => Ok((Arc::clone(entry), dialect)),
            None => Err(ToolNameError::Version { tool: found.newest.name().to_owned(), has: found.numbers() }),
        }
    }

    /// The name at most a third of its letters away.
    fn nearest(&self, written: &str) -> Option<String> {
        if written.len() > 128 {
            return None;
        }
        let written = written.replacen('/', ".", 1);
        self.dotted
            .keys()
            .map(|name| (distance(&written, name), &**name))
            .min()
            .filter(|(distance, name)| distance * 3 <= name.len())
            .map(|(_, name)| name.to_owned())
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
