//! Verdicts about this boot: the server half's and the agent's own. A trial is committed only when both find nothing
//! wrong.

use super::{Installer, System};
use base::{error::ToolError, os::blocking};
use serde::{Deserialize, Serialize};
use std::{sync::Arc, time::Duration};
use tokio::time::{Instant, sleep};
use update::{
    health::{
        Missing,
        own::{self, ConfiguredChecks, OwnVerdict},
    },
    slots::{self, BootState, OldSystem},
};

/// Most problems that one health report may name.
pub const MAX_PROBLEMS: usize = 16;
/// Longest problem, in bytes.
pub const MAX_PROBLEM: usize = 300;

/// How long a check that failed in the trial may take to succeed in the old system, and the interval between attempts.
const STARTS: Duration = Duration::from_secs(20);
const PACE: Duration = Duration::from_secs(5);

/// The file that marks this boot as healthy.
const HEALTHY: &str = "healthy";

/// The server half's verdict about this boot.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HealthReport {
    pub healthy: bool,
    /// What worked before and does not work now; at most 16, each at most 300 bytes.
    pub problems: Vec<String>,
    /// Nothing but the network is wrong.
    pub offline: bool,
    /// What is missing, for a comparison of the old system with the trial; no commands, and at most 16 services. Empty from a server of
    /// version 0.2.0.
    #[serde(default, skip_serializing_if = "Missing::is_empty")]
    pub missing: Missing,
}

impl HealthReport {
    /// What the server half found missing.
    pub fn missing(&self) -> Missing {
        if self.missing.is_empty() && self.offline { Missing::network() } else { self.missing.clone() }
    }
}

/// The agent's answer to a report.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HealthTaken {
    /// This boot is a trial that is not committed.
    pub trial: bool,
    /// It was a trial, and this report committed it.
    pub committed: bool,
    /// Problems that the agent itself found.
    pub problems: Vec<String>,
    /// Of the configured checks, those that fail while an armed release waits for what is missing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub awaited: Vec<String>,
    /// Seconds until the trial's deadline.
    pub seconds_left: Option<u64>,
}

impl Installer {
    /// Takes the server half's verdict. Commits the trial when the agent's own verdict is good too.
    pub(crate) async fn report_health(&self, report: HealthReport) -> Result<HealthTaken, ToolError> {
        check(&report)?;
        let system = self.system()?;
        let trial = matches!(&*system.standing(), BootState::Trial(_));
        // Outside a trial only what the machine needs to be operated counts: no other release mends a service of the owner's.
        let failed = system.failed_trial();
        let own = match (trial, &failed) {
            (true, _) => self.own_verdict().await,
            (false, Some(failed)) => self.own_verdict_beside(failed).await,
            (false, None) if report.healthy => self.operable().await,
            (false, None) => OwnVerdict::default(),
        };
        let waits = system.armed().is_some_and(|update| !update.waits_for.is_empty());
        let awaited = if waits { self.own_verdict().await.problems } else { Vec::new() };
        let healthy = report.healthy && own.is_healthy();
        let missing = report.missing().and(&own.missing);
        let problems = own.problems.clone();
        {
            let mut now = self.boot.now();
            now.report = Some(report);
            now.own = own;
        }
        let mut committed = false;
        match (trial, healthy) {
            (true, true) => {
                self.commit(&system).await?;
                committed = true;
            }
            (true, false) => {}
            (false, _) if matches!(&*system.standing(), BootState::RolledBack) => {
                let old = OldSystem::compared(&missing, &failed.unwrap_or_default());
                let agent = Arc::clone(&system);
                let now = (self.clock)();
                blocking::run("update", move |_| judge_old(&agent, old, now)).await?;
                self.boot.over();
                self.plan_changed(false);
            }
            (false, true) => self.tell_chain(&system, false).await?,
            (false, false) => {}
        }
        let seconds_left = self.boot.seconds_left();
        Ok(HealthTaken { trial: trial && !committed, committed, problems, awaited, seconds_left })
    }

    /// What the agent itself finds on this machine.
    pub(crate) async fn own_verdict(&self) -> OwnVerdict {
        own::verdict(self, &self.wants()).await
    }

    /// What the agent finds in the old system after a trial that lacked `failed`. What failed there has [`STARTS`] to succeed here.
    async fn own_verdict_beside(&self, failed: &Missing) -> OwnVerdict {
        let deadline = Instant::now() + STARTS;
        loop {
            let own = self.own_verdict().await;
            if !own.missing.overlaps(failed) || Instant::now() >= deadline {
                return own;
            }
            sleep(PACE).await;
        }
    }

    /// What nothing can operate this machine without.
    async fn operable(&self) -> OwnVerdict {
        own::verdict(self, &ConfiguredChecks::of_server(self.settings.server_socket.clone())).await
    }

    /// What the agent checks itself.
    fn wants(&self) -> ConfiguredChecks {
        let update = &self.settings.update;
        ConfiguredChecks {
            units: update.health_units.clone(),
            commands: update.health_commands.clone(),
            ..ConfiguredChecks::of_server(self.settings.server_socket.clone())
        }
    }

    pub(crate) async fn commit(&self, system: &Arc<System>) -> Result<(), ToolError> {
        let (system, now) = (Arc::clone(system), (self.clock)());
        blocking::run("update", move |_| {
            let mut standing = system.standing();
            let BootState::Trial(trial) = &*standing else {
                return Err(ToolError::precondition("the trial ended meanwhile").hint("ask for the update's status"));
            };
            let now_known = system.reckoned();
            let mut ledger = system.record.ledger();
            if now_known.fresh {
                let step = slots::clock::not_after(ledger.state(), now_known.latest());
                ledger.perform(&step)?;
            }
            let step = slots::commit(ledger.state(), trial, &ledger.evidence())?;
            ledger.perform(&step)?;
            let step = slots::committed(ledger.state(), &ledger.evidence(), now)?;
            ledger.perform(&step)?;
            *standing = BootState::Normal;
            Ok(())
        })
        .await?;
        self.boot.over();
        self.boot.now().told = true;
        self.mark_healthy();
        Ok(())
    }

    /// Once per boot: resets the boot chain's counter, and makes the running slot the default when the chain fell back
    /// to it.
    pub(crate) async fn tell_chain(&self, system: &Arc<System>, by_person: bool) -> Result<(), ToolError> {
        if self.boot.now().told && !by_person {
            return Ok(());
        }
        let (system, now) = (Arc::clone(system), (self.clock)());
        blocking::run("update", move |_| {
            let mut standing = system.standing();
            if matches!(*standing, BootState::Unrecorded | BootState::Elsewhere | BootState::Halves) && !by_person {
                return Ok(());
            }
            let mut ledger = system.record.ledger();
            let step = slots::healthy(ledger.state(), &ledger.evidence(), &standing, by_person, now)?;
            ledger.perform(&step)?;
            if matches!(*standing, BootState::Walked | BootState::Unrecorded) {
                *standing = BootState::Normal;
            }
            Ok(())
        })
        .await?;
        self.boot.now().told = true;
        self.mark_healthy();
        Ok(())
    }

    /// Writes the marker for dist/systemd/raspi-mcp-trial.service, beside the socket, valid until the next boot.
    /// Without it that unit would only restart the system once more than needed.
    fn mark_healthy(&self) {
        let Some(folder) = self.settings.socket.parent() else { return };
        if let Err(error) = std::fs::write(folder.join(HEALTHY), []) {
            tracing::error!(target: "agent", %error, "nobody else can see that this boot is healthy");
        }
    }

    /// After a failed trial, when the server half did not report on the old slot.
    pub(super) fn judge_old_slot(&self, system: &System, old: OldSystem) {
        if let Err(error) = judge_old(system, old, (self.clock)()) {
            tracing::error!(target: "agent", %error, "what becomes of the version that failed its trial");
        }
    }
}

fn judge_old(system: &System, old: OldSystem, now_ms: i64) -> Result<(), ToolError> {
    let mut ledger = system.record.ledger();
    let step = slots::judge_old(ledger.state(), &ledger.evidence(), old, now_ms)?;
    ledger.perform(&step)?;
    let armed = ledger.state().update.is_some();
    drop(ledger);
    *system.standing() = if armed { BootState::Armed } else { BootState::Normal };
    Ok(())
}

/// Checks the bounds of every field again: the server is not trusted.
fn check(report: &HealthReport) -> Result<(), ToolError> {
    if report.problems.len() > MAX_PROBLEMS || report.problems.iter().any(|problem| problem.len() > MAX_PROBLEM) {
        return Err(ToolError::invalid(format!(
            "a report of health names {MAX_PROBLEMS} problems of {MAX_PROBLEM} bytes at most"
        ))
        .with("parameter", "problems"));
    }
    let services = &report.missing.services;
    if services.len() > MAX_PROBLEMS || services.iter().any(|name| name.len() > MAX_PROBLEM) {
        return Err(ToolError::invalid(format!(
            "a report of health names {MAX_PROBLEMS} missing services of {MAX_PROBLEM} bytes at most"
        ))
        .with("parameter", "missing"));
    }
    if !report.missing.commands.is_empty() {
        return Err(ToolError::invalid("commands are checked by the agent alone").with("parameter", "missing"));
    }
    if report.healthy && !(report.problems.is_empty() && report.missing().is_empty()) {
        return Err(ToolError::invalid("who is healthy has no problems").with("parameter", "problems"));
    }
    Ok(())
}
