//! Checks command lines against the configuration. The server checks before it asks a person; the agent checks again,
//! by its own configuration, before it runs a command.

use crate::config::{
    CommandSetting, Exec,
    sections::exec::{is_variable, whole},
};
use base::error::ToolError;
use std::{
    collections::BTreeMap,
    path::{Component, Path, PathBuf},
    time::Duration,
};

/// Maximum number of arguments of one command.
pub const MOST_ARGS: usize = 64;
/// Maximum bytes of one argument, of a shell's line, and of a variable's value.
pub const ARG_BYTES: usize = 1024;
/// Maximum bytes of all arguments and variables together: a person has to read them before approving.
const ALL_BYTES: usize = 4096;
/// Maximum number of variables of one command.
pub const MOST_ENV: usize = 16;
/// Maximum bytes of standard input: in base64 it shares one line of the agent's protocol with the rest of the request.
pub const STDIN_BYTES: usize = 24 * 1024;
/// Range of `timeout_ms`, in milliseconds (docs/contract/exec.md).
pub const TIMEOUT_MS: std::ops::RangeInclusive<u32> = 1_000..=600_000;
pub const DEFAULT_TIMEOUT_MS: u32 = 60_000;

/// A requested command line.
#[derive(Clone, Copy, Debug)]
pub struct RequestedCommand<'a> {
    /// Name of a configured command, or its program's full path; with `shell`, a line for `/bin/sh`.
    pub command: &'a str,
    pub args: &'a [String],
    pub cwd: Option<&'a str>,
    pub env: &'a BTreeMap<String, String>,
    /// Length of the standard input in bytes, if there is any.
    pub stdin: Option<usize>,
    pub shell: bool,
    pub timeout_ms: u32,
}

/// What is run for an allowed request.
#[derive(Clone, Debug, PartialEq)]
pub struct AllowedCommand {
    pub program: PathBuf,
    /// Without the program's name.
    pub args: Vec<String>,
    pub user: String,
    /// Folders it may write to; the working directory is in one of them.
    pub roots: Vec<PathBuf>,
    /// Before symbolic links are resolved.
    pub cwd: PathBuf,
    pub env: Vec<(String, String)>,
    pub network: bool,
    pub limit: Duration,
}

/// Checks `wanted` against `exec`.
///
/// # Errors
/// `invalid_argument` for what can never be passed to a program, `permission_denied` for what the configuration does
/// not allow. Each names the parameter.
pub fn judge(exec: &Exec, wanted: &RequestedCommand<'_>) -> Result<AllowedCommand, ToolError> {
    sane(wanted)?;
    if wanted.shell {
        return shell(exec, wanted);
    }
    let command = exec
        .commands
        .iter()
        .find(|one| one.name == wanted.command || one.program.as_os_str() == wanted.command)
        .ok_or_else(|| unknown(exec, wanted.command))?;
    arguments(command, wanted.args)?;
    if let Some(name) = wanted.env.keys().find(|name| !command.env.contains(name)) {
        return Err(not_listed(command, "env", format!("{} may not get the variable {}", command.name, short(name))));
    }
    if wanted.stdin.is_some() && !command.stdin {
        return Err(not_listed(command, "stdin", format!("{} is given nothing to read", command.name)));
    }
    let roots = command.cwd_roots.as_ref().unwrap_or(&exec.cwd_roots);
    let asked = Duration::from_millis(wanted.timeout_ms.into());
    Ok(AllowedCommand {
        program: command.program.clone(),
        args: wanted.args.to_vec(),
        user: command.user.as_ref().unwrap_or(&exec.user).clone(),
        cwd: working_directory(roots, wanted.cwd)?,
        roots: roots.clone(),
        env: pairs(wanted),
        network: command.network,
        limit: asked.min(Duration::from_secs(command.timeout_seconds.into())),
    })
}

fn shell(exec: &Exec, wanted: &RequestedCommand<'_>) -> Result<AllowedCommand, ToolError> {
    if !exec.shell {
        return Err(ToolError::denied("no command is run through a shell here")
            .with("parameter", "shell")
            .with("required_permission", "exec:run:shell")
            .hint("name one of the configured commands; the owner can set exec.shell = true for both halves"));
    }
    // `sh -c LINE sh ARG...`: the line's $1 is the first argument.
    let args = ["-c", wanted.command, "sh"].into_iter().map(str::to_owned).chain(wanted.args.iter().cloned());
    Ok(AllowedCommand {
        program: "/bin/sh".into(),
        args: args.collect(),
        user: exec.user.clone(),
        cwd: working_directory(&exec.cwd_roots, wanted.cwd)?,
        roots: exec.cwd_roots.clone(),
        env: pairs(wanted),
        network: true,
        limit: Duration::from_millis(wanted.timeout_ms.into()),
    })
}

fn pairs(wanted: &RequestedCommand<'_>) -> Vec<(String, String)> {
    wanted.env.iter().map(|(name, value)| (name.clone(), value.clone())).collect()
}

/// The checks that do not depend on the configuration.
fn sane(wanted: &RequestedCommand<'_>) -> Result<(), ToolError> {
    let bad = |parameter: &str, what: String| Err(ToolError::invalid(what).with("parameter", parameter));
    if wanted.command.is_empty() || wanted.args.len() > MOST_ARGS || wanted.env.len() > MOST_ENV {
        return bad("args", format!("a command has at most {MOST_ARGS} arguments and {MOST_ENV} variables"));
    }
    let args = wanted.args.iter().enumerate().map(|(at, text)| (format!("args.{at}"), text.as_str()));
    let env = wanted.env.iter().map(|(name, value)| (format!("env.{}", short(name).trim_matches('"')), value.as_str()));
    let mut all = 0;
    for (parameter, text) in args.chain(env).chain([("command".to_owned(), wanted.command)]) {
        all += text.len();
        if text.len() > ARG_BYTES {
            return bad(&parameter, format!("{parameter} has {} bytes, at most {ARG_BYTES} are passed", text.len()));
        }
        // Tabs and newlines are text; other control characters could hide something from the person who approves.
        if text.chars().any(|c| c.is_control() && c != '\n' && c != '\t') {
            return bad(&parameter, format!("{parameter} has a control character in it"));
        }
    }
    if all > ALL_BYTES {
        return bad("args", format!("arguments and variables have {all} bytes, at most {ALL_BYTES} are passed"));
    }
    if let Some(name) = wanted.env.keys().find(|name| !is_variable(name)) {
        return bad("env", format!("{} is no name of a variable: A-Z, 0-9 and _, at most 64", short(name)));
    }
    if wanted.stdin.is_some_and(|bytes| bytes > STDIN_BYTES) {
        return bad("stdin", format!("at most {STDIN_BYTES} bytes are given to a command to read"));
    }
    if !TIMEOUT_MS.contains(&wanted.timeout_ms) {
        return bad("timeout_ms", format!("timeout_ms is {} to {}", TIMEOUT_MS.start(), TIMEOUT_MS.end()));
    }
    Ok(())
}

/// Quoted and truncated to 64 characters, because errors must not repeat arbitrary input.
fn short(text: &str) -> String {
    let shown: String = text.chars().take(64).collect();
    format!("{shown:?}")
}

fn unknown(exec: &Exec, name: &str) -> ToolError {
    let names: Vec<&str> = exec.commands.iter().map(|command| command.name.as_str()).take(16).collect();
    let shown = short(name);
    let hint = if names.is_empty() {
        "no command is configured; the owner adds [[exec.commands]] tables for both halves".to_owned()
    } else {
        format!("these are: {}", names.join(", "))
    };
    ToolError::denied(format!("{shown} is none of the commands that may be run"))
        .with("parameter", "command")
        .with("required_permission", format!("exec:run:{}", shown.trim_matches('"')))
        .hint(hint)
}

fn not_listed(command: &CommandSetting, parameter: &str, message: String) -> ToolError {
    ToolError::denied(message)
        .with("parameter", parameter)
        .with("required_permission", format!("exec:run:{}", command.name))
        .hint("the owner says in [[exec.commands]] what a command may get")
}

/// Options may be at any position; other arguments are checked by their position among themselves.
fn arguments(command: &CommandSetting, args: &[String]) -> Result<(), ToolError> {
    let name = &command.name;
    let mut place = 0;
    for (at, arg) in args.iter().enumerate() {
        let refused = |why: String| Err(not_listed(command, &format!("args.{at}"), why));
        if arg.starts_with('-') {
            if !any(&command.options, arg)? {
                return refused(format!(
                    "argument {} of {name} is an option that is not listed: {}",
                    at + 1,
                    short(arg)
                ));
            }
            continue;
        }
        let Some(pattern) = command.args.get(place).or(command.more_args.as_ref()) else {
            return refused(format!("{name} takes {} arguments, and {} is one more", command.args.len(), short(arg)));
        };
        place += 1;
        if !any(std::slice::from_ref(pattern), arg)? {
            return refused(format!(
                "argument {} of {name} must match {pattern} as a whole, not {}",
                at + 1,
                short(arg)
            ));
        }
    }
    if place < command.args.len() {
        let message = format!("{name} needs {} arguments beside its options, and got {place}", command.args.len());
        return Err(ToolError::invalid(message).with("parameter", "args"));
    }
    Ok(())
}

fn any(patterns: &[String], arg: &str) -> Result<bool, ToolError> {
    for pattern in patterns {
        let pattern = whole(pattern).map_err(|why| ToolError::internal(format!("exec.commands: {why}")))?;
        if pattern.is_match(arg) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// `cwd`, or the first root. Relative paths start at the first root. Without roots only `/` is allowed.
fn working_directory(roots: &[PathBuf], cwd: Option<&str>) -> Result<PathBuf, ToolError> {
    let first = roots.first().map_or(Path::new("/"), PathBuf::as_path);
    let Some(cwd) = cwd else { return Ok(first.to_owned()) };
    let plain = !cwd.is_empty() && cwd.len() <= ARG_BYTES && !cwd.contains(char::is_control);
    let path = first.join(cwd);
    let inside = if roots.is_empty() { path == first } else { roots.iter().any(|root| path.starts_with(root)) };
    let climbs = path.components().any(|part| part == Component::ParentDir);
    if plain && inside && !climbs {
        return Ok(path);
    }
    Err(outside(roots))
}

/// The error for a working directory outside `roots`.
pub fn outside(roots: &[PathBuf]) -> ToolError {
    let shown: Vec<String> = roots.iter().map(|root| root.display().to_string()).collect();
    ToolError::denied("cwd is not in a folder that commands may run in")
        .with("parameter", "cwd")
        .with("roots", shown.clone())
        .hint(match shown.as_slice() {
            [] => "leave it out; the owner lists folders in exec.cwd_roots".to_owned(),
            some => format!("use a path in {}", some.join(" or ")),
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn du() -> Exec {
        let command = serde_json::json!({
            "name": "du", "program": "/usr/bin/du", "options": ["-s", "--max-depth=[0-9]"], "args": ["[a-z]+"],
            "more_args": "x|y", "env": ["BLOCKSIZE"], "timeout_seconds": 5
        });
        Exec {
            cwd_roots: vec!["/srv/a".into(), "/srv/b".into()],
            commands: vec![serde_json::from_value(command).unwrap()],
            ..Exec::default()
        }
    }

    fn run(command: &str, args: &[&str], cwd: Option<&str>) -> Result<AllowedCommand, ToolError> {
        let args: Vec<String> = args.iter().map(|arg| (*arg).to_owned()).collect();
        let env = BTreeMap::new();
        judge(
            &du(),
            &RequestedCommand { command, args: &args, cwd, env: &env, stdin: None, shell: false, timeout_ms: 60_000 },
        )
    }

    #[test]
    fn what_is_listed_passes_by_name_and_by_path() {
        for command in ["du", "/usr/bin/du"] {
            let allowed = run(command, &["-s", "home", "x", "--max-depth=3", "y"], None).unwrap();
            assert_eq!((allowed.cwd.as_path(), allowed.limit), (Path::new("/srv/a"), Duration::from_secs(5)));
            assert_eq!(allowed.args.len(), 5);
        }
    }

    #[test]
    fn patterns_match_whole_arguments_and_options_are_listed() {
        let bad: &[&[&str]] = &[
            &[],
            &["home", "xy"],
            &["home", "x", "z"],
            &["home/etc"],
            &["home\n"],
            &["home\nx"],
            &["Home"],
            &[""],
            &["-h", "home"],
            &["--max-depth=33", "home"],
            &["--", "home"],
            &["-sx", "home"],
            &["a\0b"],
            &["\u{1b}[2J"],
        ];
        for args in bad {
            let error = run("du", args, None).unwrap_err();
            assert!(error.details["parameter"].as_str().unwrap().starts_with("args"), "{args:?}: {error:?}");
        }
        let many = vec!["x"; MOST_ARGS + 1];
        run("du", &many, None).unwrap_err();
        run("du", &[&"a".repeat(ARG_BYTES + 1)], None).unwrap_err();
    }

    #[test]
    fn a_pattern_cannot_climb_out_of_its_brackets() {
        let whole = whole("a|b").unwrap();
        assert!(whole.is_match("a") && !whole.is_match("ab") && !whole.is_match("xb") && !whole.is_match("b\n"));
        super::whole("a)|(b").unwrap_err();
    }

    #[test]
    fn only_named_programs_and_no_shell() {
        for command in ["", "ls", "usr/bin/du", "./du", "../bin/du", "/usr/bin/../bin/du", "du\0", "du;id"] {
            run(command, &["home"], None).unwrap_err();
        }
        let (args, env) = (Vec::new(), BTreeMap::new());
        let wanted = RequestedCommand {
            command: "id",
            args: &args,
            cwd: None,
            env: &env,
            stdin: None,
            shell: true,
            timeout_ms: 1000,
        };
        assert_eq!(judge(&du(), &wanted).unwrap_err().details["parameter"], "shell");
        let open = Exec { shell: true, ..du() };
        assert_eq!(judge(&open, &wanted).unwrap().args, ["-c", "id", "sh"]);
    }

    #[test]
    fn a_working_directory_lies_in_a_root() {
        assert_eq!(run("du", &["a"], Some("sub")).unwrap().cwd, Path::new("/srv/a/sub"));
        assert_eq!(run("du", &["a"], Some("/srv/b/c")).unwrap().cwd, Path::new("/srv/b/c"));
        for cwd in ["/", "/srv", "/srv/ab", "../b", "/srv/a/../../etc", "", "a\0b", "/etc"] {
            assert_eq!(run("du", &["a"], Some(cwd)).unwrap_err().details["parameter"], "cwd", "{cwd:?}");
        }
    }
}
