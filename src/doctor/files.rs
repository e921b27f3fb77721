//! The folders of `[[files.roots]]` and of grants: whether they exist, and whether the server has the configured
//! access.

use super::{Finding, Subject};
use base::os::{Root, groups};
use contract::config::{FileRoot, Settings};
use std::{fs, os::unix::fs::MetadataExt, path::Path};

const ABOUT: &str = "files root";
/// Where systemd looks for drop-ins of our unit.
const UNITS: [&str; 3] = ["etc/systemd/system", "run/systemd/system", "usr/lib/systemd/system"];
/// Folders hidden by `ProtectHome=yes`.
const HOMES: [&str; 3] = ["/home", "/root", "/run/user"];

pub(super) fn check(subject: &Subject, settings: &Settings) -> Vec<Finding> {
    let granted = settings.tools.allow.iter().flat_map(|grant| {
        let writable = matches!(grant.tool.as_str(), "files.write" | "files.delete");
        grant.paths.iter().map(move |path| FileRoot::granted(path, writable))
    });
    let roots = settings.files.roots.iter().cloned().chain(granted);
    let mut findings: Vec<Finding> = roots.map(|root| root_of(subject, &root)).collect();
    if !findings.is_empty()
        && subject.root.number("proc/sys/fs/protected_hardlinks").is_ok_and(|protected| protected == 0)
    {
        findings.push(Finding::wrong(
            ABOUT,
            "every user may give other people's files a second name (fs.protected_hardlinks is 0), in a root too",
            "sysctl -w fs.protected_hardlinks=1",
        ));
    }
    findings
}

fn root_of(subject: &Subject, root: &FileRoot) -> Finding {
    let (name, shown, account) = (&root.name, root.path.display(), &subject.account.name);
    let here = subject.root.path(&root.path.to_string_lossy());
    let wrong = |says: String, mend: String| Finding::wrong(ABOUT, says, mend);
    let found = match fs::metadata(&here) {
        Ok(found) if found.is_dir() => found,
        Ok(_) => return wrong(format!("{name}: {shown} is no folder"), "name a folder in [[files.roots]]".into()),
        Err(fault) => {
            let mend = format!("install -d -o {account} {shown}, or mount what belongs there");
            return wrong(format!("{name}: {shown} cannot be looked at: {fault}"), mend);
        }
    };
    if subject.account.is_service {
        if HOMES.iter().any(|home| root.path.starts_with(home)) && unit_says(&subject.root, "ProtectHome").is_empty() {
            return wrong(
                format!("{name}: {shown} is hidden from the service (ProtectHome=)"),
                "choose a folder in /srv; or systemctl edit raspi-mcp, [Service] ProtectHome=read-only".into(),
            );
        }
        let writable = || unit_says(&subject.root, "ReadWritePaths");
        if root.writable && !writable().iter().any(|path| root.path.starts_with(path)) {
            return wrong(
                format!("{name}: {shown} is read-only for the service, and writable in the configuration"),
                format!("systemctl edit raspi-mcp, add [Service] and ReadWritePaths={shown}, restart it"),
            );
        }
    }
    let wanted = if root.writable { 0o7 } else { 0o5 };
    let Some(uid) = subject.account.uid else {
        return Finding::note(ABOUT, format!("{name}: {shown} is there, its user is not"), "make the user first");
    };
    let bits = if found.uid() == uid {
        found.mode() >> 6
    } else if groups::of_user(&subject.root, account).contains(&found.gid()) {
        found.mode() >> 3
    } else {
        found.mode()
    };
    if uid != 0 && bits & wanted != wanted {
        let what = if root.writable { "write in" } else { "read" };
        let mode = found.mode() & 0o7777;
        return wrong(
            format!("{name}: {account} may not {what} {shown} (user {}, mode {mode:o})", found.uid()),
            format!("chown {account} {shown}, or a group that both are in"),
        );
    }
    let may = if root.writable { "read and written" } else { "read" };
    Finding::ok(ABOUT, format!("{name}: {shown} can be {may}"))
}

/// The values of `key` in our unit and its drop-ins, without prefixes and quotes.
fn unit_says(root: &Root, key: &str) -> Vec<String> {
    let mut texts = Vec::new();
    for folder in UNITS {
        let drop_ins = format!("{folder}/raspi-mcp.service.d");
        let names = root.list(&drop_ins).unwrap_or_default().into_iter();
        texts.extend(
            names
                .filter(|name| Path::new(name).extension().is_some_and(|end| end == "conf"))
                .filter_map(|name| root.read(&format!("{drop_ins}/{name}")).ok()),
        );
    }
    let lines = texts.iter().flat_map(|text| text.lines());
    let values = lines.filter_map(|line| line.trim().strip_prefix(key)?.trim_start().strip_prefix('='));
    let words = values.flat_map(str::split_whitespace);
    words.map(|word| word.trim_matches(['"', '\'']).trim_start_matches(['-', '+']).to_owned()).collect()
}
