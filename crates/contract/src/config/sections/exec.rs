//! `[exec]` and `[[exec.commands]]`: the commands that `exec.run` may run, with user, folder and time limit.

use crate::config::{
    declare::section,
    found::{LocatedValue, UncheckedValue, quoted},
    key::InState,
    kind::{Complaint, KIB, KnownTools, SettingKind, bytes, count, seconds},
    settings::Settings,
    table_setting::TableSetting,
    words::{full_path, is_name},
};
use base::os::real_path::resolved;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// The default user of commands; dist/sysusers.d creates the account.
pub const EXEC_USER: &str = "raspi-mcp-exec";

section! {
    /// Commands that `exec.run` can run. Without one, it runs nothing.
    [exec] pub struct Exec {
        /// The account that commands run under: a separate one, never root's or the server's.
        user: String = EXEC_USER.into(), SettingKind::Account, InState::Never;
        /// Folders in which commands may run and write. Commands start in the first one, or in `/` if there is none.
        cwd_roots: Vec<PathBuf> = Vec::new(), SettingKind::Folders, InState::Never;
        /// Whether `shell: true` may pass a whole line to `/bin/sh`. The list of commands then restricts nothing.
        shell: bool = false, SettingKind::Bool, InState::Never;
        /// Maximum number of bytes kept of a command's output, and of its error output: the first half and the last.
        /// The bytes left out between them are counted.
        max_output_bytes: usize = 64 * 1024, bytes(KIB, 256 * KIB), InState::Lower;
        /// Maximum number of commands that run at once.
        max_running: usize = 4, count(1, 16), InState::Lower;
        /// Allowed commands, one `[[exec.commands]]` each. Patterns are regular expressions that match whole arguments:
        /// `args` the first, second, …; `more_args` all further ones; `options` those that begin with `-`.
        commands: Vec<CommandSetting> = Vec::new(), SettingKind::Tables(&COMMANDS), InState::Never;
    }
}

impl Exec {
    /// Whether anything can be run.
    pub fn is_on(&self) -> bool {
        self.shell || !self.commands.is_empty()
    }
}

/// An allowed command, and its allowed arguments.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandSetting {
    /// The name that callers use; unique.
    pub name: String,
    /// The program's full path.
    pub program: PathBuf,
    /// Patterns for the first, second, … argument, each matching the whole argument. These arguments are required.
    #[serde(default)]
    pub args: Vec<String>,
    /// The pattern for every further argument. Without it there are none.
    #[serde(default)]
    pub more_args: Option<String>,
    /// Patterns for arguments that begin with `-`, at any position. Without any, no argument may begin with it.
    #[serde(default)]
    pub options: Vec<String>,
    /// Names of variables that a caller may set.
    #[serde(default)]
    pub env: Vec<String>,
    /// Whether a caller may supply standard input.
    #[serde(default)]
    pub stdin: bool,
    /// Whether it has network access.
    #[serde(default = "yes")]
    pub network: bool,
    /// Maximum run time; a caller may request less.
    #[serde(default = "minute")]
    pub timeout_seconds: u32,
    /// In place of `exec.user`.
    #[serde(default)]
    pub user: Option<String>,
    /// In place of `exec.cwd_roots`.
    #[serde(default)]
    pub cwd_roots: Option<Vec<PathBuf>>,
}

fn yes() -> bool {
    true
}
fn minute() -> u32 {
    60
}

/// Maximum number of commands, more than anybody sets up by hand.
const MOST: usize = 64;
const MOST_PATTERNS: usize = 32;
/// Maximum bytes of a pattern; compiled it may take [`PATTERN_MEMORY`].
const PATTERN_BYTES: usize = 256;
/// Maximum bytes of a compiled pattern. Patterns are compiled for each use; one that needs more is a mistake.
const PATTERN_MEMORY: usize = 256 * 1024;
/// Ten minutes at most (docs/contract/exec.md).
const TIMEOUT: SettingKind = seconds(1, 600);

/// `exec.commands`.
pub const COMMANDS: TableSetting = TableSetting {
    key: "exec.commands",
    noun: "command",
    most: MOST,
    named: true,
    secret: false,
    required: &["name", "program"],
    optional: &["args", "more_args", "options", "env", "stdin", "network", "timeout_seconds", "user", "cwd_roots"],
    check_field,
    example: "\
#[[exec.commands]]
#name = \"disk-usage\"
#program = \"/usr/bin/du\"
#options = [\"-s\", \"-h\", \"--max-depth=[0-9]\"]
#args = [\"[A-Za-z0-9_][A-Za-z0-9_./-]*\"]
#timeout_seconds = 30
",
};

fn check_field(field: &str, found: &LocatedValue, tools: &KnownTools) -> Option<Result<Value, Complaint>> {
    let name = format!("exec.commands.{field}");
    let refuse = |expected: &str| Err((found.at, format!("{name} must be {expected}, not {}", found.shown())));
    Some(match (field, &found.value) {
        ("name", UncheckedValue::Text(text)) if is_name(text, 64) => Ok(text.as_str().into()),
        ("name", _) => refuse("1 to 64 characters from a-z, 0-9, \"_\" and \"-\""),
        ("program", UncheckedValue::Text(text)) if full_path(text) && !is_ours(Path::new(text)) => {
            Ok(text.as_str().into())
        }
        ("program", _) => refuse("the full path of a program without \"..\", and never raspi-mcp itself"),
        ("more_args", UncheckedValue::Text(text)) => pattern(text).map_err(|why| (found.at, format!("{name}: {why}"))),
        ("more_args", _) => refuse("a regular expression"),
        ("args" | "options", _) => list(&name, found, "regular expressions", pattern),
        ("env", _) => list(&name, found, "names of variables", variable),
        ("cwd_roots", _) => SettingKind::Folders.check_field(&name, found, tools),
        ("user", UncheckedValue::Text(text)) if is_name(text, 32) => Ok(text.as_str().into()),
        ("user", _) => refuse("the name of an account"),
        ("stdin" | "network", _) => SettingKind::Bool.check_field(&name, found, tools),
        ("timeout_seconds", _) => TIMEOUT.check_field(&name, found, tools),
        _ => return None,
    })
}

fn list(
    name: &str,
    found: &LocatedValue,
    what: &str,
    check: impl Fn(&str) -> Result<Value, String>,
) -> Result<Value, Complaint> {
    let UncheckedValue::List(items) = &found.value else {
        return Err((found.at, format!("{name} must be a list of {what}, not {}", found.shown())));
    };
    if items.len() > MOST_PATTERNS {
        return Err((found.at, format!("{name} has {} entries; at most {MOST_PATTERNS} are allowed", items.len())));
    }
    let checked = items.iter().map(|item| match &item.value {
        UncheckedValue::Text(text) => check(text).map_err(|why| (item.at, format!("{name}: {why}"))),
        _ => Err((item.at, format!("{name} must be a list of {what}; {} is none", item.shown()))),
    });
    checked.collect()
}

fn variable(text: &str) -> Result<Value, String> {
    // These change which code a program runs before it reads its arguments.
    const NEVER: &[&str] = &["PATH", "IFS", "ENV", "BASH_ENV", "SHELLOPTS", "PYTHONPATH", "PERL5OPT", "NODE_OPTIONS"];
    let good = is_variable(text) && !text.starts_with("LD_") && !NEVER.contains(&text);
    if good {
        return Ok(text.into());
    }
    Err(format!("{} is no variable a caller may set; use names of A-Z, 0-9 and _, not LD_… or PATH", quoted(text)))
}

/// `[A-Z_][A-Z0-9_]*`, at most 64.
pub fn is_variable(text: &str) -> bool {
    (1..=64).contains(&text.len())
        && !text.starts_with(|c: char| c.is_ascii_digit())
        && text.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_')
}

fn pattern(text: &str) -> Result<Value, String> {
    whole(text).map(|_| text.into())
}

/// Compiles `pattern` so that it matches whole arguments.
///
/// # Errors
/// What is wrong with the pattern, for its author.
pub fn whole(pattern: &str) -> Result<regex_lite::Regex, String> {
    if pattern.len() > PATTERN_BYTES {
        return Err(format!("{} is longer than {PATTERN_BYTES} bytes", quoted(pattern)));
    }
    let compile = |text: &str| regex_lite::RegexBuilder::new(text).size_limit(PATTERN_MEMORY).build();
    let bad = |error: regex_lite::Error| format!("{} is no regular expression: {error}", quoted(pattern));
    // Compiled alone first, because "a)|(b" would be valid inside the group but then match parts of an argument.
    compile(pattern).map_err(bad)?;
    compile(&format!(r"\A(?:{pattern})\z")).map_err(bad)
}

/// Whether a path names this program, in any folder.
pub fn is_ours(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name == "raspi-mcp")
}

/// The violated rules between `[exec]` and other settings.
pub fn faults(settings: &Settings) -> Vec<String> {
    let (exec, places) = (&settings.exec, &settings.places);
    let mut faults = Vec::new();
    let guarded = [
        &places.state_dir,
        &places.runtime_dir,
        &places.agent_state_dir,
        &places.agent_socket,
        &settings.socket.path,
        &settings.tls.key,
    ];
    let system = ["/etc/raspi-mcp", "/usr/lib/raspi-mcp", "/run", "/dev", "/proc", "/sys"].map(PathBuf::from);
    let guarded: Vec<PathBuf> = guarded.into_iter().chain(&system).map(|path| resolved(path)).collect();
    let own = exec.commands.iter().filter_map(|command| command.cwd_roots.as_ref()).flatten();
    for root in exec.cwd_roots.iter().chain(own) {
        let path = resolved(root);
        if let Some(other) = guarded.iter().find(|other| path.starts_with(other) || other.starts_with(&path)) {
            faults.push(format!(
                "exec.cwd_roots has {}, which overlaps {}; commands need a folder of their own",
                root.display(),
                other.display()
            ));
        }
    }
    let users = exec.commands.iter().filter_map(|command| command.user.as_ref()).chain([&exec.user]);
    for user in users
        .filter(|user| ["root", crate::config::SERVER_USER, crate::config::APPROVAL_PAGE_USER].contains(&user.as_str()))
    {
        faults.push(format!("exec runs nothing as {user}; use \"{EXEC_USER}\" or another account of its own"));
    }
    faults
}
