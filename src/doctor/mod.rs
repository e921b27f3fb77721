//! What is wrong or missing on this machine, and how to mend it: `raspi-mcp doctor`.
//!
//! Every check is a function from what was found to [`Finding`]s; looking is done by the caller, so a test hands in a
//! captured tree and answers of its own.

mod accounts;
mod clock;
mod files;
mod hardware;
mod network;
mod release;
mod services;
mod settings;
mod state;
pub mod update;

use agent::Status;
use base::{error::ToolError, os::Root};
use contract::config::{Faults, InForce, PlaceSettings, Places, Settings};
use hw::{board::Board, devices::Devices};
use serde::Serialize;

/// How a finding is to be taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    Ok,
    /// Worth knowing; raspi-mcp does its work without.
    Note,
    /// Something does not work because of it.
    Wrong,
}

/// One thing that was looked at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// What was looked at, in a word or two.
    pub about: &'static str,
    pub state: State,
    pub says: String,
    /// What to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mend: Option<String>,
}

impl Finding {
    fn ok(about: &'static str, says: impl Into<String>) -> Self {
        Self { about, state: State::Ok, says: says.into(), mend: None }
    }
    fn note(about: &'static str, says: impl Into<String>, mend: impl Into<String>) -> Self {
        Self { about, state: State::Note, says: says.into(), mend: Some(mend.into()) }
    }
    fn wrong(about: &'static str, says: impl Into<String>, mend: impl Into<String>) -> Self {
        Self { about, state: State::Wrong, says: says.into(), mend: Some(mend.into()) }
    }
}

/// What there is to judge.
pub struct Subject {
    /// Where the machine's files are.
    pub root: Root,
    pub places: Places,
    /// The settings with their origins; the faults where there are none.
    pub settings: Result<(Settings, Vec<InForce>), Faults>,
    /// The same files as the agent reads them; `None` where this user could not be the agent.
    pub agent_settings: Option<Result<Settings, Faults>>,
    /// The account whose server this is about.
    pub account: Account,
    /// What the agent's socket said.
    pub agent: Result<Status, ToolError>,
    /// What the server's socket said: its version.
    pub server: Result<String, ToolError>,
    /// And its places; `None` when it does not answer, or says none.
    pub server_places: Option<PlaceSettings>,
}

/// The user a server runs as.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Account {
    pub name: String,
    /// `None` when there is no such user.
    pub uid: Option<u32>,
    /// It is the appliance's own service, with units and an agent; otherwise somebody's own server.
    pub is_service: bool,
}

/// What was found.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    pub version: &'static str,
    /// Whose server this is about.
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
    /// `default`, or the file with line and column, the variable or the flag that set it.
    pub from: String,
}

/// Looks at everything.
pub fn examine(subject: &Subject) -> Report {
    // A configuration that is wrong hides nothing else: the defaults tell where to look.
    let fallback = Settings::default_for(&subject.places);
    let (in_force, rows) = match &subject.settings {
        Ok((settings, rows)) => (settings, rows.as_slice()),
        Err(_) => (&fallback, &[][..]),
    };
    let board = Board::detect(in_force.board, &subject.root);
    let simulated = board.as_ref().is_ok_and(Board::is_simulated);
    let devices = Devices::read(&subject.root);
    let mut findings = settings::check(subject);
    findings.extend(hardware::check(subject, &board, &devices));
    findings.extend(accounts::check(subject, in_force));
    findings.extend(state::check(subject, in_force));
    findings.extend(files::check(subject, in_force));
    findings.extend(network::check(subject, in_force));
    findings.extend(services::check(subject, in_force, simulated));
    findings.extend(clock::check(subject));
    let count = |state| findings.iter().filter(|finding| finding.state == state).count();
    Report {
        version: env!("CARGO_PKG_VERSION"),
        account: subject.account.name.clone(),
        service: subject.account.is_service,
        board: board.ok().map(|board| board.model),
        wrong: count(State::Wrong),
        notes: count(State::Note),
        devices,
        settings: rows
            .iter()
            .map(|row| SettingOut { key: row.key.clone(), value: row.value.clone(), from: row.origin.to_string() })
            .collect(),
        findings,
    }
}
