//! The service's user and the groups that decide who may administer and approve.

use super::{Finding, Subject};
use base::os::groups;
use contract::config::Settings;

const SYSUSERS: &str = "install dist/sysusers.d/raspi-mcp.conf and run systemd-sysusers";

pub(super) fn check(subject: &Subject, settings: &Settings) -> Vec<Finding> {
    let name = &subject.account.name;
    if !subject.account.is_service {
        return vec![Finding::ok(
            "account",
            format!("this is about {name}'s own server; as root, doctor looks at the service instead"),
        )];
    }
    let mut findings = vec![match subject.account.uid {
        Some(0) => Finding::wrong("account", format!("{name} is root"), "give it a number of its own"),
        Some(uid) => Finding::ok("account", format!("{name} ({uid})")),
        None => Finding::wrong("account", format!("there is no user {name}"), SYSUSERS),
    }];
    findings.extend(people(subject, &settings.access.admin_group, "is admin on the server's socket"));
    findings.extend(people(subject, &settings.access.approver_group, "may answer raspi-mcp approve"));
    findings
}

/// A group of people and its members.
fn people(subject: &Subject, group: &str, may: &str) -> Option<Finding> {
    let about = "group";
    Some(match groups::members(&subject.root, group) {
        None => Finding::note(about, format!("there is no group {group}; only root {may}"), SYSUSERS),
        Some(members) if members.is_empty() => {
            Finding::note(about, format!("nobody is in {group}; only root {may}"), format!("usermod -aG {group} NAME"))
        }
        Some(members) if members.contains(&subject.account.name) => Finding::wrong(
            about,
            format!("the server's own account is in {group}"),
            format!("gpasswd -d {} {group}: the server must not decide for people", subject.account.name),
        ),
        Some(members) => Finding::ok(about, format!("{group}: {}", members.join(", "))),
    })
}
