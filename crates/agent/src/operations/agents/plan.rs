//! How the program of an agent is run.

use crate::{
    context::{Agent, Context},
    exec::{Account, CommandPlan, UnitClass},
    operations::commands::{interpreters, trusted, unchangeable},
    settings::BUS_FOLDER,
};
use base::{error::ToolError, os::groups};
use contract::config::{AgentType, sections::agents::AgentKind};
use std::{
    path::{Path, PathBuf},
    time::Duration,
};

/// The files that are hashed: the program and its interpreters, those among its arguments that only root may change,
/// and what the owner lists.
///
/// # Errors
/// `permission_denied` for a program that others than root may change, `not_found`.
pub(crate) fn files_of(agent: &Agent, declared: &AgentType) -> Result<Vec<PathBuf>, ToolError> {
    if agent.runner.is_simulated() {
        // Nothing of it runs, but what is not there is no program here either.
        let program = &declared.program;
        return match program.metadata() {
            Ok(about) if about.is_file() => Ok(Vec::new()),
            Ok(_) => Err(ToolError::not_found(format!("{} is no program: it is no file", program.display()))),
            Err(error) => Err(ToolError::not_found(format!("{} cannot be looked at: {error}", program.display()))
                .with("resource", program.display().to_string())),
        };
    }
    let program = trusted(&declared.program)?;
    let mut paths = interpreters(&program)?;
    paths.push(program);
    // Data, like a file that others may change, is no part of the program.
    let args = declared.args.iter().map(Path::new).filter(|path| path.is_absolute());
    paths.extend(args.filter_map(unchangeable));
    paths.extend(declared.files.iter().cloned());
    base::sort::sort(&mut paths);
    paths.dedup();
    Ok(paths)
}

/// The unit of an agent, as the account `user`. `tool`: of one call.
///
/// # Errors
/// `failed_precondition` when there is no such account; those of [`files_of`].
pub(super) fn plan(
    cx: &Context<'_>,
    declared: &AgentType,
    id: &str,
    user: String,
    tool: Option<&str>,
    limit: Duration,
) -> Result<CommandPlan, ToolError> {
    let simulated = cx.runner.is_simulated();
    let name = declared.name.as_str();
    let (uid, gid) = match groups::user_ids(&cx.settings.root, &user) {
        _ if simulated => (0, 0),
        Some((0, _)) | None => {
            return Err(ToolError::precondition(format!("there is no account {user} to run {name} under"))
                .with("user", user)
                .with("dbus_mcp_code", -32100)
                .hint("systemd-sysusers makes it from dist/sysusers.d"));
        }
        Some(ids) => ids,
    };
    let fixed = [
        ("PATH", "/usr/local/bin:/usr/bin:/bin"),
        ("LANG", "C.UTF-8"),
        ("HOME", declared.writable.first().and_then(|path| path.to_str()).unwrap_or("/")),
        ("USER", user.as_str()),
        ("LOGNAME", user.as_str()),
        ("RASPI_MCP_EXEC_ID", id),
        ("RASPI_MCP_AGENT", name),
    ];
    let mut hidden = cx.settings.hidden_from_commands();
    if declared.kind == AgentKind::Dbus {
        // dist/dbus-1/system.d lets its account say nothing to anybody there.
        hidden.retain(|path| path != Path::new(BUS_FOLDER));
    }
    let own = declared.env.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    let fixed = fixed.into_iter().filter(|(name, _)| !declared.env.contains_key(*name));
    if !simulated {
        trusted(&declared.program)?;
    }
    let env = fixed.chain(tool.map(|tool| ("RASPI_MCP_TOOL", tool))).chain(own);
    Ok(CommandPlan {
        id: id.to_owned(),
        program: declared.program.clone(),
        args: declared.args.clone(),
        cwd: "/".into(),
        cwd_can_change: false,
        env: env.map(|(name, value)| (name.to_owned(), value.to_owned())).collect(),
        stdin: Vec::new(),
        stdio: None,
        network: declared.network,
        writable: declared.writable.clone(),
        hidden,
        limit,
        unit: UnitClass::of_agent(name, declared.memory_mb << 20, declared.tasks),
        account: Account { name: user, uid, gid },
    })
}
