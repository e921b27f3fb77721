//! What every tool declares about itself. Each field is enforced or affects an answer.

use serde::Serialize;

/// How much a tool can do (docs/contract/README.md).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Tier {
    /// Reads, and diagnostics that change nothing. On by default.
    Fundamental,
    /// A change to this one device. Off until the tool's namespace is enabled.
    Advanced,
    /// High risk or many steps. Off until its namespace is enabled, and asks a person by default.
    Professional,
}

/// What a caller may do. Ordered: each role includes the ones before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    ReadOnly,
    OpsRw,
    Admin,
}

impl Role {
    pub const fn name(self) -> &'static str {
        match self {
            Self::ReadOnly => "read_only",
            Self::OpsRw => "ops_rw",
            Self::Admin => "admin",
        }
    }
}

/// The mode of a tool or action in a policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// Runs without an approval.
    Allow,
    /// Runs once a person has approved it, out of band.
    Ask,
    /// Never runs.
    Deny,
}

/// The kind of environment that a server runs in. A tool may be limited to some of them (docs/contract/README.md).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Environment {
    Lab,
    Staging,
    Prod,
}

/// Whether the schema may still change without a new version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Stability {
    Alpha,
    Beta,
    Stable,
}

/// What a call changes. It determines the MCP annotations, the rate bucket and how soon the audit record is synced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    Read,
    Write { destructive: bool, idempotent: bool },
}

impl Effect {
    pub const fn is_write(self) -> bool {
        matches!(self, Self::Write { .. })
    }
}

/// Which tools `tools/list` shows with `tools.profile = "default"`. The others are found by `tools.search` and called through
/// `tools.run_read` and `tools.run`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Listing {
    /// Always listed.
    Core,
    /// Listed with `tools.profile = "all"`, or when `raspi-mcp allow` has opened it by name.
    Extra,
}

/// Marks a tool that will be removed, with its replacement.
#[derive(Clone, Copy, Debug)]
pub struct Deprecated {
    pub replacement: &'static str,
}

/// The declaration of a tool that is part of this program. Write `Meta { name: ..., ..Meta::READ }`.
pub type Meta = Declaration<'static>;

/// The declaration of one tool. Tools that are added while the server runs own their texts, which live as long as they do
/// ([`OwnedMeta`]).
#[derive(Clone, Copy, Debug)]
pub struct Declaration<'a> {
    /// `namespace.operation`.
    pub name: &'a str,
    pub title: &'a str,
    /// One sentence about the intent, then "Use when", "Returns" and optionally "Note". Models read this.
    pub description: &'a str,
    pub listing: Listing,
    pub tier: Tier,
    pub role: Role,
    /// The mode when the configuration has no entry.
    pub mode: Mode,
    pub effect: Effect,
    /// The effect is lost with the power, like the level of a pin: the record need not be on the card before the
    /// answer, only within a second. For writes.
    pub volatile: bool,
    /// Whether it reaches beyond this machine.
    pub open_world: bool,
    /// Maximum run time; also limited by the configured request timeout unless `long`.
    pub timeout_seconds: u32,
    /// Waits or streams by design: not counted in the concurrency limit and not limited by the request timeout.
    pub long: bool,
    /// Sends requests to the client while it runs (sampling, elicitation), so it needs a conversation through rmcp.
    pub interactive: bool,
    /// Takes `dry_run`, which validates and reports without changing anything.
    pub dry_run: bool,
    /// Arguments that an ask may truncate to length, SHA-256 and both ends if they are too long to show. Any other
    /// argument that is too long is refused. For the content of files.
    pub bulk: &'static [&'static str],
    /// What an ask says about these arguments in addition to showing them.
    pub explain: Option<fn(&serde_json::Value) -> Option<String>>,
    /// Takes `limit` and `offset`, answers with `pagination`.
    pub paginated: bool,
    /// The pipeline caches answers for this long. `None`: not cached.
    pub cache_seconds: Option<u32>,
    /// Typical size of an answer on a Raspberry Pi, in tokens of about four bytes. `tools.search` filters by it.
    pub estimated_tokens: u32,
    pub stability: Stability,
    /// Monotonic; raised by the rules of docs/contract/README.md. `name@N` selects it.
    pub schema_version: u32,
    pub tags: &'static [&'static str],
    /// The environments it may run in.
    pub environments: &'static [Environment],
    pub deprecated: Option<Deprecated>,
    /// The resource that holds the same data.
    pub resource_uri: Option<&'static str>,
}

impl Declaration<'static> {
    /// A read: fundamental tier, every role, no question, half a minute.
    pub const READ: Meta = Meta {
        name: "",
        title: "",
        description: "",
        listing: Listing::Core,
        tier: Tier::Fundamental,
        role: Role::ReadOnly,
        mode: Mode::Allow,
        effect: Effect::Read,
        volatile: false,
        open_world: false,
        timeout_seconds: 30,
        long: false,
        interactive: false,
        dry_run: false,
        bulk: &[],
        explain: None,
        paginated: false,
        cache_seconds: None,
        estimated_tokens: 200,
        stability: Stability::Beta,
        schema_version: 1,
        tags: &[],
        environments: &[Environment::Lab, Environment::Staging, Environment::Prod],
        deprecated: None,
        resource_uri: None,
    };
    /// A change to this device: advanced tier, operators, allowed once its namespace is enabled.
    pub const WRITE: Meta = Meta {
        tier: Tier::Advanced,
        role: Role::OpsRw,
        effect: Effect::Write { destructive: false, idempotent: true },
        ..Meta::READ
    };
    /// A change that can make the device unavailable: professional tier, administrators, needs an approval.
    pub const RISKY: Meta = Meta {
        tier: Tier::Professional,
        role: Role::Admin,
        mode: Mode::Ask,
        effect: Effect::Write { destructive: true, idempotent: false },
        ..Meta::READ
    };
}

impl<'a> Declaration<'a> {
    /// The part before the dot.
    pub fn namespace(&self) -> &'a str {
        self.name.split_once('.').map_or(self.name, |(namespace, _)| namespace)
    }
}

/// The declaration of a tool that is added while the server runs.
#[derive(Clone, Debug)]
pub struct OwnedMeta {
    name: Box<str>,
    title: Box<str>,
    description: Box<str>,
    /// Everything but the texts.
    others: Meta,
}

impl OwnedMeta {
    /// These texts, and everything else as in `others`: `Meta::READ` with a role and a policy, for example.
    pub fn new(name: &str, title: &str, description: &str, others: Meta) -> Self {
        Self { name: name.into(), title: title.into(), description: description.into(), others }
    }

    pub fn declaration(&self) -> Declaration<'_> {
        Declaration { name: &self.name, title: &self.title, description: &self.description, ..self.others }
    }
}
