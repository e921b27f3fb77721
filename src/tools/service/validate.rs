//! Validates a service's file: systemd's own errors, what `systemd-analyze verify` says, and whether the things it names
//! exist on this machine.

use super::get_status::{look, unknown};
use crate::{registry::context::Context, services::Services};
use base::{
    error::ToolError,
    os::{
        Root,
        bus::refusal,
        groups,
        systemd::{
            MANAGER, SERVICE, ServiceName, UnitProperties,
            unit_file::UnitFile,
            verify::{Verified, verify},
        },
    },
    redact::redact_text,
};
use schemars::JsonSchema;
use serde::Serialize;
use std::os::unix::fs::PermissionsExt;
use zbus::ObjectPath;

/// Sections allowed for a service (systemd.unit(5), systemd.service(5)).
const SECTIONS: &[&str] = &["Unit", "Service", "Install"];
/// Where systemd looks for a command without a path (systemd-path(1), search-binaries-default).
const SEARCH: &[&str] = &["/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"];
/// Folders that the server's sandbox hides, so that their contents cannot be checked.
const HIDDEN: &[&str] = &["/home/", "/root/", "/run/user/", "/tmp/", "/var/tmp/"];
/// Settings that create a folder when the service starts.
const MAKES_FOLDERS: &[&str] =
    &["RuntimeDirectory", "StateDirectory", "CacheDirectory", "LogsDirectory", "ConfigurationDirectory"];

/// The findings.
#[derive(Debug, Default)]
pub(super) struct ValidationReport {
    pub errors: Vec<String>,
    pub warnings: Vec<String>,
    pub can_enable: bool,
    pub files: Vec<String>,
    pub verify: VerifyStatus,
}

/// Whether `systemd-analyze verify` had its say.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub(super) enum VerifyStatus {
    Clean,
    Findings,
    NotInstalled,
    #[default]
    NotRun,
}

impl ValidationReport {
    /// The first reason against enabling it.
    pub fn first(&self) -> &str {
        self.errors.first().map_or("it has no [Install] section that says when it would start", String::as_str)
    }
}

/// Validates the service called `given`.
///
/// # Errors
/// `not_found` if there is none, otherwise as [`base::os::bus::DBus::call`].
pub(super) async fn report(cx: &Context, given: &str) -> Result<ValidationReport, ToolError> {
    let (services, name) = (&cx.services, &ServiceName::parse(given)?);
    let answer = look(cx, name, given).await?;
    let of = answer.read()?;
    let mut report = ValidationReport::default();
    match of.text("LoadState") {
        Some("not-found") => return Err(unknown(given)),
        Some("masked") => report.errors.push(format!("{name} is masked: it cannot be started")),
        _ => {}
    }
    report.errors.extend(of.load_error());
    let root = &services.machine.root;
    let file = read(root, &of, &mut report);
    if let Some(file) = &file {
        let id = of.text("Id").unwrap_or(name.as_str());
        verified(root, name.as_str(), id, &mut report).await;
        let ran = matches!(report.verify, VerifyStatus::Clean | VerifyStatus::Findings);
        sections(file, &mut report);
        // What it says of lines and commands is what systemd makes of them.
        if !ran {
            report.errors.extend(file.faults.iter().cloned());
            commands(root, file, &mut report);
        }
        accounts(root, file, &mut report);
        folder(root, file, &mut report);
        dependencies(services, file, &mut report).await?;
    }
    let installs = |key: &str| file.as_ref().is_some_and(|file| !file.words("Install", key).is_empty());
    let installs = ["WantedBy", "RequiredBy", "UpheldBy", "Also", "Alias"].into_iter().any(installs);
    report.can_enable = report.errors.is_empty() && installs;
    Ok(report)
}

/// Its file and drop-ins; `None` for a unit that systemd generated internally, and for one that this user may not read.
fn read(root: &Root, of: &UnitProperties<'_>, report: &mut ValidationReport) -> Option<UnitFile> {
    let mut file = UnitFile::default();
    report.files = of.owned("FragmentPath").into_iter().chain(of.list("DropInPaths")).collect();
    for path in &report.files {
        // A masked unit is a link to /dev/null, which needs no further check.
        match root.read(path) {
            Ok(text) => file.add(path, &text),
            Err(error) => {
                report.warnings.push(format!("{path} cannot be read, so nothing in it was checked: {error}"));
                return None;
            }
        }
    }
    if report.files.is_empty() {
        report.warnings.push("it has no file: systemd or a program made it".into());
        return None;
    }
    Some(file)
}

/// Most findings in an answer.
const MOST_FINDINGS: usize = 64;

/// Adds what `systemd-analyze verify` says: its errors and its warnings.
async fn verified(root: &Root, name: &str, id: &str, report: &mut ValidationReport) {
    let known: Vec<&str> = report.files.iter().map(String::as_str).chain([id]).collect();
    let why = match verify(root, name, &known).await {
        Ok(Verified::NotInstalled) => {
            report.verify = VerifyStatus::NotInstalled;
            return;
        }
        Ok(Verified::Said(findings)) => {
            report.verify = if findings.is_empty() { VerifyStatus::Clean } else { VerifyStatus::Findings };
            for mut finding in findings.into_iter().take(MOST_FINDINGS) {
                let is_hidden = HIDDEN.iter().any(|folder| finding.text.contains(folder));
                finding.text.insert_str(0, "verify: ");
                if is_hidden {
                    finding.text.push_str(" (seen by the server, which cannot look in there)");
                }
                let list = if finding.level <= 3 && !is_hidden { &mut report.errors } else { &mut report.warnings };
                list.push(redact_text(&finding.text));
            }
            return;
        }
        Ok(Verified::Failed(said)) => said,
        Err(fault) => fault.to_string(),
    };
    report.warnings.push(format!("systemd-analyze verify could not be asked: {}", redact_text(&why)));
}

fn sections(file: &UnitFile, report: &mut ValidationReport) {
    let known = |section: &&String| SECTIONS.contains(&section.as_str()) || section.starts_with("X-");
    for section in file.sections.iter().filter(|section| !known(section)) {
        report.warnings.push(format!("Section [{section}] is unknown, and ignored"));
    }
    if !file.has("Service") {
        report.errors.push("Missing [Service] section".into());
    }
    if !file.has("Unit") {
        report.warnings.push("Missing [Unit] section".into());
    }
    if !file.has("Install") {
        report.warnings.push("Missing [Install] section: it cannot be enabled".into());
    }
    if file.values("Unit", "Description").is_empty() {
        report.warnings.push("Missing Description=".into());
    }
    let is_oneshot = file.values("Service", "Type").last().is_some_and(|kind| *kind == "oneshot");
    if file.has("Service") && file.values("Service", "Restart").is_empty() && !is_oneshot {
        report.warnings.push("Service does not have Restart= directive".into());
    }
    if file.has("Service") && file.values("Service", "ExecStart").is_empty() && !is_oneshot {
        report.errors.push("Service has no ExecStart=".into());
    }
}

fn commands(root: &Root, file: &UnitFile, report: &mut ValidationReport) {
    for key in ["ExecStartPre", "ExecStart", "ExecStartPost", "ExecReload", "ExecStop", "ExecStopPost"] {
        for line in file.values("Service", key) {
            let command = line.trim_start_matches(['@', '-', ':', '+', '!', '|']);
            let optional = line[..line.len() - command.len()].contains('-');
            let program = command.trim_start().trim_start_matches(['"', '\'']);
            let program = program.split([' ', '\t', '"', '\'']).next().unwrap_or_default();
            let fault = match executable(root, program) {
                Found::Yes => continue,
                Found::Unknown => {
                    report.warnings.push(format!("{key}={program}: cannot be checked from here"));
                    continue;
                }
                Found::No(why) => format!("{key}={program}: {why}"),
            };
            if optional { report.warnings.push(fault) } else { report.errors.push(fault) }
        }
    }
}

enum Found {
    Yes,
    No(&'static str),
    /// It depends on the instance, or is hidden by the sandbox.
    Unknown,
}

fn executable(root: &Root, program: &str) -> Found {
    if program.contains(['%', '$', '\\']) || HIDDEN.iter().any(|folder| program.starts_with(folder)) {
        return Found::Unknown;
    }
    if !program.starts_with('/') {
        let found = SEARCH.iter().any(|folder| matches!(executable(root, &format!("{folder}/{program}")), Found::Yes));
        return if found { Found::Yes } else { Found::No("there is no such program in systemd's search path") };
    }
    match std::fs::metadata(root.path(program)) {
        Ok(facts) if !facts.is_file() => Found::No("it is not a file"),
        Ok(facts) if facts.permissions().mode() & 0o111 == 0 => Found::No("it is not executable"),
        Ok(_) => Found::Yes,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Found::No("there is no such file"),
        Err(_) => Found::Unknown,
    }
}

fn accounts(root: &Root, file: &UnitFile, report: &mut ValidationReport) {
    let last = |key: &str| file.values("Service", key).last().copied();
    if last("DynamicUser").is_some_and(|on| matches!(on, "yes" | "true" | "on" | "1")) {
        return;
    }
    // Accounts may come from other sources than the files, such as a directory service (nsswitch.conf(5)).
    let elsewhere = root.read("etc/nsswitch.conf").unwrap_or_default().lines().any(|line| {
        let accounts = line.strip_prefix("passwd:").or_else(|| line.strip_prefix("group:"));
        accounts.is_some_and(|rest| rest.split_whitespace().any(|word| !matches!(word, "files" | "compat" | "systemd")))
    });
    for (key, database) in [("User", "etc/passwd"), ("Group", "etc/group")] {
        let Some(name) = last(key).filter(|name| !name.contains('%') && name.parse::<u32>().is_err()) else { continue };
        let found = match key {
            "User" => groups::user_id(root, name).is_some(),
            _ => groups::is_group(root, name),
        };
        if !found {
            let fault = format!("{key}={name}: not in /{database}");
            if elsewhere { report.warnings.push(fault) } else { report.errors.push(fault) }
        }
    }
}

fn folder(root: &Root, file: &UnitFile, report: &mut ValidationReport) {
    let Some(path) = file.values("Service", "WorkingDirectory").last().copied() else { return };
    // A leading "-" means that it may be missing; "~" is the user's home.
    if path.starts_with(['-', '~']) {
        return;
    }
    let known = path.starts_with('/') && !path.contains('%');
    if !known || HIDDEN.iter().any(|folder| format!("{path}/").starts_with(folder)) {
        report.warnings.push(format!("WorkingDirectory={path}: cannot be checked from here"));
    } else if !root.path(path).is_dir() {
        let fault = format!("WorkingDirectory={path}: there is no such folder");
        let made = MAKES_FOLDERS.iter().any(|key| !file.values("Service", key).is_empty());
        if made { report.warnings.push(fault) } else { report.errors.push(fault) }
    }
}

type Row<'a> = (&'a str, &'a str, &'a str, &'a str, &'a str, &'a str, ObjectPath<'a>, u32, &'a str, ObjectPath<'a>);

/// Checks that the units it names exist.
async fn dependencies(services: &Services, file: &UnitFile, report: &mut ValidationReport) -> Result<(), ToolError> {
    let needs: Vec<&str> =
        ["Requires", "BindsTo", "Requisite"].iter().flat_map(|key| file.words("Unit", key)).collect();
    let mut names: Vec<&str> = needs.iter().copied().chain(file.words("Unit", "Wants")).collect();
    // Names that depend on the instance cannot be checked. The limit is far above any real file's, and bounds the
    // request.
    names.retain(|name| !name.contains('%') && name.contains('.'));
    names.truncate(256);
    if names.is_empty() {
        return Ok(());
    }
    let method = "ListUnitsByNames";
    let answer = services.machine.bus.call(MANAGER, method, &(names)).await?;
    let body = answer.body();
    let rows: Vec<Row<'_>> = body.deserialize().map_err(|error| refusal(SERVICE, method, &error))?;
    for (name, ..) in rows.into_iter().filter(|row| row.2 == "not-found") {
        if needs.contains(&name) {
            report.errors.push(format!("It needs {name}, which is not there"));
        } else {
            report.warnings.push(format!("It wants {name}, which is not there"));
        }
    }
    Ok(())
}
