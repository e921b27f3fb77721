//! Prerequisites of a grant: the folder that it names, and a command for `exec.run`.

use base::error::ToolError;
use contract::config::{Grant, Settings, is_full_path, is_grantable, wrong_grants};
use std::path::Path;

/// Whether the granted things can be used. `site` is the folder of the fragments.
///
/// # Errors
/// `invalid_argument` for a path that is not a folder or is reached through a symbolic link; `failed_precondition` for
/// `exec.run` without a command.
pub(super) fn usable(grant: &Grant, settings: &Settings, site: &Path) -> Result<(), ToolError> {
    if grant.tool == "exec.run" && !settings.exec.is_on() {
        return Err(ToolError::precondition(
            "nothing was written: exec.run runs only the commands of [[exec.commands]], and there is none",
        )
        .hint(
            "a grant cannot say what a command may be given. Write these 3 lines into a file of /etc/raspi-mcp, restart both halves, then \
             run this again:\n\n[[exec.commands]]\nname = \"uptime\"\nprogram = \"/usr/bin/uptime\"\n",
        ));
    }
    grant.paths.iter().try_for_each(|path| folder(path))?;
    // The loader checks all grants together; this checks the new one alone.
    let mut alone = settings.clone();
    alone.tools.allow = vec![grant.clone()];
    match wrong_grants(&alone, &[site.to_owned()]).into_iter().next() {
        Some(why) => Err(ToolError::invalid(format!("nothing was written: {why}"))),
        None => Ok(()),
    }
}

fn folder(shown: &str) -> Result<(), ToolError> {
    let wrong = |why: String| ToolError::invalid(format!("nothing was written: {why}"));
    if !is_full_path(shown) {
        return Err(wrong(format!("{shown} is not the full path of a folder, without \"..\""))
            .hint("name it as `raspi-mcp allow TOOL --path /srv/notes` does"));
    }
    let path = Path::new(shown);
    if !is_grantable(path) {
        return Err(wrong(format!("{shown} overlaps the system's own files in /etc, /run, /dev, /proc or /sys"))
            .hint("name another folder; for one below /etc there is [[files.roots]], which takes a restart"));
    }
    let real = path.canonicalize().map_err(|error| {
        wrong(format!("{shown} cannot be looked at: {error}"))
            .hint("make the folder, or mount what belongs there, first")
    })?;
    if real != path {
        let real = real.display();
        return Err(wrong(format!("{shown} is reached by a symbolic link"))
            .hint(format!("name the folder itself, {real}: whoever can change the link could decide what is opened")));
    }
    if !real.is_dir() {
        return Err(wrong(format!("{shown} is no folder")).hint("name the folder that it is in"));
    }
    Ok(())
}
