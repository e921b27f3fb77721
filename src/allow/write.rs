//! Checks a change as server and agent would read it, and writes it.

use super::{change::GrantChange, kept::GrantFragment, usable::usable};
use base::{
    error::ToolError,
    os::{
        beneath::{Beneath, directory_without_links},
        replace::{Over, ReplacementFile, sync_folder},
    },
};
use contract::{
    access::policy::Policy,
    config::{self, Faults, Settings, Sources, fragment_of},
    meta::{Declaration, Mode},
};
use rustix::{
    fs::{AtFlags, FlockOperation, Mode as FileMode, OFlags, flock, fstat, unlinkat},
    io::Errno,
};
use std::{
    ffi::OsString,
    fs::DirBuilder,
    os::unix::fs::DirBuilderExt,
    path::{Path, PathBuf},
};

/// Whether to open or close.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GrantAction {
    /// `ask`: every call needs an approval.
    Open {
        ask: bool,
    },
    Close,
}

/// The result of a change.
#[derive(Debug)]
pub struct AppliedGrant {
    pub path: PathBuf,
    /// The policy now in force.
    pub policy: Policy,
    /// The tool's mode.
    pub mode: Mode,
    /// Files set aside by server or agent: while there are any, running processes keep their old configuration.
    pub set_aside: Vec<String>,
}

/// Opens or closes one tool. `meta` is the tool's.
///
/// # Errors
/// `permission_denied` if this user may not write the folder, or another setting still closes the tool; `not_found` if
/// there is nothing to close; `invalid_argument` if the result would be invalid; `unavailable` if it cannot be written.
/// Then nothing has changed.
pub fn perform(
    change: &GrantChange,
    way: GrantAction,
    meta: &Declaration<'_>,
    sources: &Sources,
) -> Result<AppliedGrant, ToolError> {
    let site = &sources.places.site_dir;
    let path = fragment_of(site, meta.namespace());
    let folder = locked(site, sources.places.policy_owner)?;
    let mut kept = GrantFragment::read(&path, sources).map_err(|faults| wrong(&faults))?;
    let mut change = change.clone();
    match way {
        GrantAction::Open { ask } => {
            let now = config::load(sources).map_err(|faults| wrong(&faults))?;
            usable(&change.grant, &now, site)?;
            let denied = Policy::of(&now).mode(meta) == Mode::Deny;
            change.policy = match (ask, denied) {
                (true, _) => Some(Mode::Ask),
                (false, true) => Some(Mode::Allow),
                (false, false) => None,
            };
            change.open(&mut kept);
        }
        GrantAction::Close => {
            if !change.close(&mut kept) {
                return Err(ToolError::not_found(format!("{} holds nothing of that of {}", path.display(), meta.name))
                    .hint("`raspi-mcp allow --list` shows what was opened; what another file opens is closed there"));
            }
        }
    }
    let text = kept.text();
    let (settings, set_aside) = checked(&path, text.clone(), sources)?;
    let policy = Policy::of(&settings);
    if let GrantAction::Open { ask } = way {
        is_open(&change, ask, meta, &policy)?;
    }
    let name = path.file_name().map(OsString::from).unwrap_or_default();
    let written = if kept.is_empty() { remove(&folder, &name) } else { put(&folder, &name, &text) };
    written.map_err(|errno| unwritten(&path, errno))?;
    Ok(AppliedGrant { mode: policy.mode(meta), path, policy, set_aside })
}

/// Opens the folder, created if needed, and locks it until the value is dropped.
fn locked(site: &Path, owner: Option<u32>) -> Result<Beneath, ToolError> {
    let failed = |errno: Errno| unwritten(site, errno);
    // Readable by others: server and agent are different users.
    let made = DirBuilder::new().recursive(true).mode(0o755).create(site);
    made.map_err(|error| failed(Errno::from_io_error(&error).unwrap_or(Errno::IO)))?;
    // A user's own folder may be reached through links; the machine's may not.
    let real = if owner.is_some() { site.to_owned() } else { site.canonicalize().unwrap_or_else(|_| site.to_owned()) };
    let folder = directory_without_links(&real).map_err(|errno| match errno {
        Errno::LOOP => ToolError::denied(format!("{} is reached by a symbolic link", site.display()))
            .hint("make it a folder of its own: who can change the link could decide what raspi-mcp believes"),
        errno => failed(errno),
    })?;
    let about = fstat(&folder).map_err(failed)?;
    if owner.is_some_and(|owner| about.st_uid != owner || about.st_mode & 0o022 != 0) {
        return Err(ToolError::denied(format!("{} can be written by somebody else than root", site.display()))
            .hint("chown root and chmod go-w it; until then the privileged half would believe anybody"));
    }
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let opened = rustix::fs::openat(&folder, ".", flags, FileMode::empty()).map_err(failed)?;
    // Another command holds the lock only while it writes one small file.
    flock(&opened, FlockOperation::LockExclusive).map_err(failed)?;
    Ok(Beneath::at(opened))
}

/// The settings as server and agent would load them with this text, and what they would set aside.
fn checked(path: &Path, text: String, sources: &Sources) -> Result<(Settings, Vec<String>), ToolError> {
    let before = config::load(sources).map(|settings| settings.restricted).unwrap_or_default();
    let then = Sources { instead: Some((path.to_owned(), text)), ..sources.clone() };
    let settings = config::load(&then).map_err(|faults| wrong(&faults))?;
    let agent = config::load_agent(&Sources { env: Vec::new(), ..then }).map_err(|faults| wrong(&faults))?;
    match settings.restricted.iter().find(|reason| !before.contains(reason)) {
        None => {
            let set_aside = settings.restricted.iter().chain(&agent.restricted).cloned().collect();
            Ok((settings, set_aside))
        }
        Some(reason) => Err(ToolError::invalid(format!("nothing was written: {reason}"))),
    }
}

/// Whether the change has the intended effect: later files, or tools closed by name, take precedence.
fn is_open(change: &GrantChange, ask: bool, meta: &Declaration<'_>, policy: &Policy) -> Result<(), ToolError> {
    let caller = change.grant.callers.first().map(String::as_str);
    if let Some(refusal) = policy.off_for(meta, caller) {
        return Err(ToolError::denied(format!("nothing was written, since it would not help: {}", refusal.message))
            .hint("change that setting first; `raspi-mcp doctor` shows which file has it"));
    }
    let mode = policy.mode(meta);
    if ask && mode != Mode::Ask {
        return Err(ToolError::denied(format!(
            "nothing was written, since a person would not be asked: a later file sets policy.\"{}\"",
            meta.name
        ))
        .hint("`raspi-mcp doctor` shows which file has it"));
    }
    Ok(())
}

fn put(folder: &Beneath, name: &OsString, text: &str) -> Result<(), Errno> {
    let mut draft = ReplacementFile::new(folder)?;
    draft.fill(text.as_bytes())?;
    // Contains no secrets, and the server's user must read it.
    draft.set_mode(0o644)?;
    draft.place(name, Over::Anything)
}

fn remove(folder: &Beneath, name: &OsString) -> Result<(), Errno> {
    match unlinkat(folder, name, AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT) => sync_folder(folder),
        Err(errno) => Err(errno),
    }
}

fn wrong(faults: &Faults) -> ToolError {
    ToolError::invalid(format!("nothing was written, since the configuration is not understood:\n{faults}"))
        .hint("mend these first")
}

fn unwritten(path: &Path, errno: Errno) -> ToolError {
    let message = format!("{} cannot be written: {errno}", path.display());
    match errno {
        Errno::ACCESS | Errno::PERM => ToolError::denied(message).hint("run it as root, with sudo"),
        Errno::ROFS => {
            ToolError::unavailable(message).hint("this file system is read-only; remount it, or write to the image")
        }
        Errno::NOSPC | Errno::DQUOT => ToolError::unavailable(message).hint("make room there, then run it again"),
        _ => ToolError::unavailable(message)
            .hint("look into the kernel's log, and at what holds now with `raspi-mcp allow --list`"),
    }
}
