//! Folders: whether they have the right owner, and whether the server can write.

use super::{Finding, Subject};
use contract::config::Settings;
use std::{fs, io, os::unix::fs::MetadataExt, path::Path};

pub(super) fn check(subject: &Subject, settings: &Settings) -> Vec<Finding> {
    let mut findings = vec![folder(subject, "state", &settings.places.state_dir, subject.account.uid)];
    if subject.account.is_service {
        findings.push(folder(subject, "agent's state", &settings.places.agent_state_dir, Some(0)));
    }
    findings
}

/// A folder that only its owner may access.
fn folder(subject: &Subject, about: &'static str, path: &Path, owner: Option<u32>) -> Finding {
    let shown = path.display();
    let here = subject.root.path(&path.to_string_lossy());
    let found = match fs::metadata(&here) {
        Ok(found) => found,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Finding::ok(about, format!("{shown} is not there yet; the first start makes it"));
        }
        Err(error) => {
            return Finding::wrong(about, format!("{shown} cannot be looked at: {error}"), "run doctor as root");
        }
    };
    if !found.is_dir() {
        return Finding::wrong(about, format!("{shown} is no folder"), "move it away");
    }
    let Some(owner) = owner else {
        return Finding::note(about, format!("{shown} is there, its user is not"), "make the user first");
    };
    if found.uid() != owner {
        let says = format!("{shown} belongs to user {}, not {owner}", found.uid());
        return Finding::wrong(about, says, format!("chown -R {owner} {shown}"));
    }
    if found.mode() & 0o022 != 0 {
        let says = format!("others can write {shown} (mode {:o})", found.mode() & 0o7777);
        return Finding::wrong(about, says, format!("chmod 700 {shown}"));
    }
    if found.mode() & 0o300 != 0o300 {
        let says = format!("its owner cannot write {shown} (mode {:o})", found.mode() & 0o7777);
        return Finding::wrong(about, says, format!("chmod 700 {shown}"));
    }
    match rustix::fs::statvfs(&here) {
        Ok(about_fs) if about_fs.f_flag.contains(rustix::fs::StatVfsMountFlags::RDONLY) => Finding::wrong(
            about,
            format!("{shown} is on a read-only file system"),
            "remount it, or set places.state_dir",
        ),
        _ => Finding::ok(about, format!("{shown} is there and its user's alone")),
    }
}
