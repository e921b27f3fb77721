//! What every tool declares about itself. Nothing here is inert: each field is enforced, or shapes an answer.

use serde::Serialize;

/// How much a tool can do (docs/contract/README.md).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
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

/// What policy says about one tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// Runs without a question.
    Allow,
    /// Runs once a person has said yes, out of band.
    Ask,
    /// Never runs.
    Deny,
}

/// Where a server stands; a tool may be confined to some of them (docs/contract/README.md).
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

/// What a call does to the world; becomes the MCP annotations and decides the rate bucket and the audit's urgency.
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

/// A tool that will go away, and what to call instead.
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
    /// Intent first: one sentence, then "Use when", "Returns" and, where it helps, "Note". Models read this.
    pub description: &'a str,
    pub listing: Listing,
    pub tier: Tier,
    pub role: Role,
    /// Policy when the configuration is silent.
    pub mode: Mode,
    pub effect: Effect,
    /// What it changes is gone with the power, as the level of a pin is: its record need not be on the card before the
    /// answer, only within a second. For writes.
    pub volatile: bool,
    /// Whether it reaches beyond this machine.
    pub open_world: bool,
    /// Longest run; the configured request timeout caps it unless `long`.
    pub timeout_seconds: u32,
    /// Waits or streams by design: counted apart from the concurrency limit and not capped by the request timeout.
    pub long: bool,
    /// Asks the client something while it runs (sampling, elicitation), so it needs a conversation that rmcp carries.
    pub interactive: bool,
    /// Takes `dry_run`, which validates and reports without changing anything.
    pub dry_run: bool,
    /// Arguments whose text may be cut when a person is asked and it is longer than they are shown: length, SHA-256 and both
    /// ends then stand for it. Anything else that is too long is refused. For the content of files.
    pub bulk: &'static [&'static str],
    /// What a person is told of these arguments beside the arguments themselves, before they allow the call.
    pub explain: Option<fn(&serde_json::Value) -> Option<String>>,
    /// Takes `limit` and `offset`, answers with `pagination`.
    pub paginated: bool,
    /// Answers may be this old: the pipeline keeps them so long. `None`: always fresh.
    pub cache_seconds: Option<u32>,
    /// Typical answer on a Raspberry Pi, in tokens of about four bytes. `tools.search` filters by it.
    pub estimated_tokens: u32,
    pub stability: Stability,
    /// Monotonic; raised by the rules of docs/contract/README.md. `name@N` selects it.
    pub schema_version: u32,
    pub tags: &'static [&'static str],
    /// Where it may run.
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
    /// A change that can take the device away: professional tier, administrators, a person is asked.
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
