//! Resolves and checks an allowed command on this machine: its program, its folder, its account.

use super::way::{self, PathError};
use crate::{
    context::Context,
    exec::{Account, CommandPlan, UnitClass},
};
use base::{
    error::{ErrorCode, ToolError},
    os::groups,
};
use contract::{
    access::commands::{AllowedCommand, outside},
    config::{CommandSetting, Exec, sections::exec::is_ours},
};
use std::{
    ffi::OsStr,
    fs, io,
    os::unix::{ffi::OsStrExt, fs::MetadataExt},
    path::{Path, PathBuf},
};

/// Resolves and checks an allowed command on this machine: its program, its folder, its account.
pub(super) fn plan(
    cx: &Context<'_>,
    id: &str,
    allowed: AllowedCommand,
    stdin: Vec<u8>,
) -> Result<CommandPlan, ToolError> {
    let simulated = cx.runner.is_simulated();
    let AllowedCommand { program, args, user, roots, cwd, mut env, network, limit } = allowed;
    let account = if simulated { Account { name: user, uid: 0, gid: 0 } } else { account(cx, user)? };
    let mut plan = CommandPlan {
        id: id.to_owned(),
        program,
        args,
        cwd,
        cwd_can_change: false,
        env: Vec::new(),
        stdin,
        network,
        writable: roots.clone(),
        hidden: cx.settings.hidden_from_commands(),
        limit,
        stdio: None,
        unit: UnitClass::exec(),
        account,
    };
    if !simulated {
        // Run by its own name: a program of several names (busybox) and a virtual environment's interpreter act by it.
        trusted(&plan.program)?;
        (plan.cwd, plan.cwd_can_change) = inside(&plan.cwd, &roots)?;
    }
    let home = plan.cwd.display().to_string();
    let fixed = [
        ("PATH", "/usr/local/bin:/usr/bin:/bin"),
        ("LANG", "C.UTF-8"),
        ("HOME", home.as_str()),
        ("USER", plan.account.name.as_str()),
        ("LOGNAME", plan.account.name.as_str()),
        ("RASPI_MCP_EXEC_ID", id),
    ];
    env.retain(|(name, _)| name != "RASPI_MCP_EXEC_ID" && name != "USER" && name != "LOGNAME");
    for (name, value) in fixed {
        if !env.iter().any(|(given, _)| given == name) {
            env.push((name.to_owned(), value.to_owned()));
        }
    }
    plan.env = env;
    Ok(plan)
}

/// The account that commands run under. It must exist and be neither root's, nor the server's, nor an approver's.
fn account(cx: &Context<'_>, name: String) -> Result<Account, ToolError> {
    let root = &cx.settings.root;
    let Some((uid, gid)) = groups::user_ids(root, &name) else {
        return Err(ToolError::precondition(format!("there is no account {name} to run commands under"))
            .with("user", name)
            .hint("systemd-sysusers makes it from dist/sysusers.d, or name another in exec.user"));
    };
    let refuse = |why: &str| {
        Err(ToolError::denied(format!("nothing is run as {name}: {why}"))
            .with("user", name.clone())
            .hint("set exec.user to an account of its own"))
    };
    let own = rustix::process::geteuid().as_raw();
    if uid == 0 {
        return refuse("it is root");
    } else if cx.settings.server_uid == Some(uid) {
        return refuse("it is the server's account");
    } else if own != 0 && own != uid {
        return refuse("the agent is not root");
    } else if groups::contains(root, &cx.settings.approver_group, uid, gid) {
        return refuse("it may approve calls");
    }
    Ok(Account { name, uid, gid })
}

/// Listed programs that users other than root could replace, each with the reason.
pub(crate) fn open_to_others(exec: &Exec) -> Vec<String> {
    let judge = |command: &CommandSetting| trusted(&command.program).err();
    let refused = exec.commands.iter().filter_map(judge).filter(|error| error.code == ErrorCode::PermissionDenied);
    refused.map(|error| error.advice()).collect()
}

/// Resolves the program's links. It must be an executable file that only root could have put there, and not ours. The
/// same goes for a script's interpreter. Only root can change the links either, so the unresolved path may be run.
pub(crate) fn trusted(program: &Path) -> Result<PathBuf, ToolError> {
    let path = trusted_file(program)?;
    interpreters(&path)?;
    Ok(path)
}

/// The interpreters of a script, each judged like a program.
pub(crate) fn interpreters(program: &Path) -> Result<Vec<PathBuf>, ToolError> {
    let mut found: Vec<PathBuf> = Vec::new();
    // The kernel's limit (binfmt_script, BINPRM_MAX_RECURSION).
    while found.len() < 5
        && let Some(interpreter) = interpreter(found.last().map_or(program, |file| file))
    {
        found.push(trusted_file(&interpreter)?);
    }
    Ok(found)
}

/// The file that a path leads to, if only root may change it and the way there.
pub(crate) fn unchangeable(path: &Path) -> Option<PathBuf> {
    way::followed(path)
        .ok()
        .filter(|path| fs::metadata(path).is_ok_and(|about| about.is_file() && way::is_closed(&about)))
}

/// The interpreter in a script's first line. The kernel resolves a relative path in the command's working directory,
/// which anybody may control, and reports failures unclearly; so it is resolved from the root here.
fn interpreter(script: &Path) -> Option<PathBuf> {
    let mut head = [0; 256];
    let length = fs::File::open(script).and_then(|mut file| io::Read::read(&mut file, &mut head)).ok()?;
    let line = head[..length].strip_prefix(b"#!")?.split(|byte| *byte == b'\n').next()?;
    let mut words = line.split(|byte| matches!(byte, b' ' | b'\t' | 0)).filter(|word| !word.is_empty());
    Some(Path::new("/").join(OsStr::from_bytes(words.next()?)))
}

fn trusted_file(program: &Path) -> Result<PathBuf, ToolError> {
    let shown = program.display().to_string();
    let refuse = |error: ToolError| Err(error.with("resource", shown.clone()));
    let path = match way::followed(program) {
        Ok(path) => path,
        Err(PathError::Open(at)) => {
            let why = format!("{shown} could be replaced by others than root, who may write {}", at.display());
            return refuse(ToolError::denied(why).hint("chown root and chmod go-w that, or name another program"));
        }
        Err(PathError::Io(error)) => {
            return refuse(ToolError::not_found(format!("there is no program {shown}: {error}")));
        }
    };
    let (own, file) = (fs::metadata("/proc/self/exe"), fs::metadata(&path));
    let Ok(file) = file else {
        return refuse(ToolError::not_found(format!("the program {shown} cannot be looked at")));
    };
    if is_ours(&path) || own.is_ok_and(|own| (own.dev(), own.ino()) == (file.dev(), file.ino())) {
        return refuse(ToolError::denied("raspi-mcp is never run as a command"));
    }
    if !file.is_file() || file.mode() & 0o111 == 0 {
        return refuse(ToolError::precondition(format!("{shown} is no program")));
    }
    if !way::is_closed(&file) {
        return refuse(
            ToolError::denied(format!("{shown} could be changed by others than root"))
                .hint("chown root and chmod go-w, or name another program"),
        );
    }
    Ok(path)
}

/// Resolves the working directory's links. The result must still be in a root. Also returns whether it is below one.
fn inside(cwd: &Path, roots: &[PathBuf]) -> Result<(PathBuf, bool), ToolError> {
    let missing = |error: io::Error| {
        ToolError::not_found(format!("the working directory {} cannot be used: {error}", cwd.display()))
            .with("parameter", "cwd")
            .hint("make the folder, for the account commands run under")
    };
    let path = fs::canonicalize(cwd).map_err(missing)?;
    let roots_there: Vec<PathBuf> = roots.iter().filter_map(|root| fs::canonicalize(root).ok()).collect();
    if roots.is_empty() || roots_there.iter().any(|root| path.starts_with(root)) {
        let below = roots_there.iter().any(|root| path != *root && path.starts_with(root));
        return Ok((path, below));
    }
    Err(outside(roots))
}
