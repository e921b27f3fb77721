//! Finds problems of this machine and how to fix them: `raspi-mcp doctor`.
//!
//! Every check is a function from the collected facts to [`Finding`]s; the caller collects the facts, so tests can pass
//! captured trees and prepared answers.

mod accounts;
mod clock;
mod files;
mod hardware;
mod network;
mod notifications;
mod outside;
mod release;
mod services;
mod settings;
mod state;
pub mod update;

use crate::{authentication::outside::OutsideReport, notifications::WebhookReport};
use agent::AgentStatus;
use base::{error::ToolError, os::Root};
use contract::config::{Faults, InForce, PlaceSettings, Places, Settings};
use hw::{board::Board, devices::Devices};
use serde::Serialize;

/// Severity of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    Ok,
    /// For information; raspi-mcp works without it.
    Note,
    /// Something does not work because of it.
    Wrong,
}

/// The result of one check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// What was checked, in a word or two.
    pub about: &'static str,
    pub state: Severity,
    pub says: String,
    /// How to fix it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mend: Option<String>,
}

impl Finding {
    fn ok(about: &'static str, says: impl Into<String>) -> Self {
        Self { about, state: Severity::Ok, says: says.into(), mend: None }
    }
    fn note(about: &'static str, says: impl Into<String>, mend: impl Into<String>) -> Self {
        Self { about, state: Severity::Note, says: says.into(), mend: Some(mend.into()) }
    }
    fn wrong(about: &'static str, says: impl Into<String>, mend: impl Into<String>) -> Self {
        Self { about, state: Severity::Wrong, says: says.into(), mend: Some(mend.into()) }
    }
}

/// The facts to check.
pub struct Subject {
    /// The root of the machine's files.
    pub root: Root,
    pub places: Places,
    /// The settings with their origins, or their faults.
    pub settings: Result<(Settings, Vec<InForce>), Faults>,
    /// The settings as the agent reads them; `None` if this user cannot read them as the agent does.
    pub agent_settings: Option<Result<Settings, Faults>>,
    /// The account of the server that is checked.
    pub account: ServerAccount,
    /// The answer of the agent's socket.
    pub agent: Result<AgentStatus, ToolError>,
    /// The answer of the server's socket: its version.
    pub server: Result<String, ToolError>,
    /// The server's places; `None` if it does not answer or does not report them.
    pub server_places: Option<PlaceSettings>,
    /// What became of the server's news for the owner; empty without a webhook.
    pub webhooks: Vec<WebhookReport>,
    /// Requests that the server had from beyond this machine, though it listens on loopback.
    pub outside: Option<OutsideReport>,
}

/// The user that a server runs as.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerAccount {
    pub name: String,
    /// `None` if there is no such user.
    pub uid: Option<u32>,
    /// The appliance's own service, with units and an agent; otherwise a user's own server.
    pub is_service: bool,
}

/// The result of all checks.
#[derive(Clone, Debug, Serialize)]
pub struct DoctorReport {
    pub version: &'static str,
    /// The account of the server that was checked.
    pub account: String,
    pub service: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub board: Option<String>,
    pub wrong: usize,
    pub notes: usize,
    pub findings: Vec<Finding>,
    pub devices: Devices,
    pub settings: Vec<SettingOut>,
}

/// A setting in force.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SettingOut {
    pub key: String,
    pub value: serde_json::Value,
    /// `default`, or its source: the file with line and column, the variable or the flag.
    pub from: String,
}

/// Runs all checks.
pub fn examine(subject: &Subject) -> DoctorReport {
    // Invalid settings must not hide other problems: continue with the defaults.
    let fallback = Settings::default_for(&subject.places);
    let (in_force, rows) = match &subject.settings {
        Ok((settings, rows)) => (settings, rows.as_slice()),
        Err(_) => (&fallback, &[][..]),
    };
    let board = Board::detect(in_force.board, &subject.root);
    let simulated = board.as_ref().is_ok_and(Board::is_simulated);
    let devices = Devices::read(&subject.root);
    // Somebody's own server on a PC: what a board would need is not expected there.
    let on_pc = simulated && !subject.account.is_service;
    let mut findings = settings::check(subject);
    findings.extend(hardware::check(subject, &board, &devices));
    match services::not_installed(subject) {
        Some(finding) => findings.push(finding),
        None => {
            findings.extend(accounts::check(subject, in_force));
            findings.extend(state::check(subject, in_force));
            findings.extend(files::check(subject, in_force));
            findings.extend(network::check(subject, in_force));
            findings.extend(outside::check(subject, in_force));
            findings.extend(services::check(subject, in_force, simulated));
            findings.extend(notifications::check(subject));
        }
    }
    findings.extend(clock::check(subject, on_pc));
    let count = |state| findings.iter().filter(|finding| finding.state == state).count();
    DoctorReport {
        version: env!("CARGO_PKG_VERSION"),
        account: subject.account.name.clone(),
        service: subject.account.is_service,
        board: board.ok().map(|board| board.model),
        wrong: count(Severity::Wrong),
        notes: count(Severity::Note),
        devices,
        settings: rows
            .iter()
            .map(|row| SettingOut { key: row.key.clone(), value: row.value.clone(), from: row.origin.to_string() })
            .collect(),
        findings,
    }
}
