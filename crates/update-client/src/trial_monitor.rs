//! The server's part in a trial: checks what works and reports to the agent, until the agent commits or restarts the
//! machine.

use crate::{UpdateClient, channel_probe::ChannelProbe};
use agent::{
    AgentLink, HealthReport, HealthTaken, MAX_PROBLEM, MAX_PROBLEMS,
    operations::update::{GetUpdateStatus, ReportHealth},
};
use base::error::{ErrorCode, ToolError};
use hw::machine::Machine;
use std::{
    collections::BTreeSet,
    sync::{Arc, Weak},
    time::Duration,
};
use tokio::time::sleep;
use update::{
    Slot,
    health::{HealthVerdict, Missing, Observations, judge, operable},
    status::{Phase, SlotState, UpdateStatus},
};

/// Interval between checks in a trial: DHCP and services take some seconds, and the agent's deadline is at least half a
/// minute.
const PACE: Duration = Duration::from_secs(5);
/// Consecutive healthy checks that are required: what crashes after some seconds is not healthy.
const ENOUGH: u32 = 2;
/// Checks at that interval of the old system, before it counts as lacking something: at least as long as the shortest trial (30 s),
/// so that a network or a service that comes up late is seen.
const OLD_SLOT_CHECKS: u32 = 7;
/// Checks at that interval before anything else goes on, of a boot that is no trial: services may still be starting.
const SOON: u32 = 12;
/// First interval between checks while a version waits for what the old system lacks, and after [`SOON`] checks. From
/// there on it doubles: a publisher that does not answer is not asked by a whole fleet each minute.
const LATER: Duration = Duration::from_secs(60);
/// Longest interval while a version waits.
const LONGEST_WAIT: Duration = Duration::from_secs(15 * 60);
/// Longest interval between checks of a boot that stays unhealthy.
const LONGEST_PAUSE: Duration = Duration::from_secs(3600);
/// Interval and number of attempts while waiting for an agent that starts later than the server, before that is an error in the log.
const AGENT: Duration = Duration::from_secs(2);
const AGENT_TRIES: u32 = 60;
/// The interval after those.
const LATE_AGENT: Duration = Duration::from_secs(30);

/// Interval and number of checks of a simulated machine that is about to restart.
const SIMULATED: Duration = Duration::from_millis(500);
const SIMULATED_TIMES: u32 = 120;

/// Handles what the last restart left open, as `status` shows it. Returns when that is done, or after a minute of a boot that is no trial
/// and not healthy: then `false`, and [`run_on`] reports on.
pub(crate) async fn run(client: &UpdateClient, machine: &Weak<Machine>, status: &UpdateStatus) -> bool {
    if in_trial(status).is_some() {
        client.prove(machine, status.clone()).await;
        return true;
    }
    if awaits_verdict(status) {
        client.look_from_the_old_slot(machine, status).await;
    }
    status.simulated || client.tell_well(machine, status, SOON).await
}

/// Waits while a release failed for what this system lacks as well, and lets it be tried again once that works. Meanwhile a newer release
/// may replace it. `first` is the status of the server's start.
pub(crate) async fn try_again(client: &UpdateClient, machine: &Weak<Machine>, first: &UpdateStatus) {
    if awaits_verdict(first) || !first.waits_for.is_empty() {
        client.try_again_when_well(machine).await;
    }
}

/// Handles what is still open after [`run`].
pub(crate) async fn run_on(client: &UpdateClient, machine: &Weak<Machine>, first: &UpdateStatus, mut is_over: bool) {
    if first.simulated {
        run_simulated(client, machine).await;
    }
    let mut pause = LATER;
    while !is_over {
        sleep(pause).await;
        pause = (pause * 2).min(LONGEST_PAUSE);
        is_over = client.tell_well(machine, first, 1).await;
    }
}

/// On a simulated machine this server survives the machine's restarts: handles each of them.
async fn run_simulated(client: &UpdateClient, machine: &Weak<Machine>) {
    let (mut marks, mut starts) = (client.marks(), client.0.agent.starts());
    loop {
        let started = async {
            let told = match &mut starts {
                Some(starts) => starts.changed().await.is_ok(),
                None => false,
            };
            if !told {
                std::future::pending::<()>().await;
            }
        };
        tokio::select! {
            () = client.changed(&mut marks) => {}
            () = started => {}
        }
        // An armed slot will soon be restarted into.
        for _ in 0..SIMULATED_TIMES {
            if machine.strong_count() == 0 {
                return;
            }
            let Ok(status) = client.0.agent.get::<GetUpdateStatus>().await else { break };
            if in_trial(&status).is_some() {
                // Watchers have not lost this server, so they would not look again.
                client.moved();
                client.prove(machine, status).await;
                let after = client.0.agent.get::<GetUpdateStatus>().await;
                if let Ok(after) = after
                    && awaits_verdict(&after)
                {
                    client.look_from_the_old_slot(machine, &after).await;
                    client.try_again_when_well(machine).await;
                }
                marks = client.marks();
                break;
            }
            if !is_armed(&status) {
                break;
            }
            sleep(SIMULATED).await;
        }
    }
}

/// The slot on trial in this boot.
pub fn in_trial(status: &UpdateStatus) -> Option<Slot> {
    status.slots.iter().find(|slot| slot.running && slot.state == SlotState::Trial).map(|slot| slot.slot)
}

/// Whether a trial failed, and its version waits for the verdict about this system.
fn awaits_verdict(status: &UpdateStatus) -> bool {
    // The attempt stays rolled back until the next one begins; its slot changes with the verdict.
    let failed = status.last_attempt.as_ref().is_some_and(|attempt| attempt.phase == Phase::RolledBack);
    let waits = |state| matches!(state, SlotState::Trial | SlotState::Armed);
    failed && status.slots.iter().any(|slot| !slot.running && waits(slot.state))
}

pub(crate) fn is_armed(status: &UpdateStatus) -> bool {
    status.slots.iter().any(|slot| slot.state == SlotState::Armed)
}

/// Truncated to the length that the agent accepts.
fn shortened(mut text: String) -> String {
    text.truncate(text.floor_char_boundary(MAX_PROBLEM));
    text
}

impl UpdateClient {
    /// The agent's status, once it answers, however late: a trial is not committed without it. `None` if there are no slots, or the server
    /// runs without an agent.
    pub(crate) async fn first_status(&self) -> Option<UpdateStatus> {
        let mut tries = 0;
        loop {
            match self.0.agent.get::<GetUpdateStatus>().await {
                Ok(status) => return Some(status),
                Err(error)
                    if error.code == ErrorCode::CapabilityMissing || matches!(self.0.agent, AgentLink::Offline(_)) =>
                {
                    tracing::debug!(target: "update", %error, "no slots to look after");
                    return None;
                }
                Err(error) => {
                    tries += 1;
                    if tries == AGENT_TRIES {
                        tracing::error!(target: "update", %error, "the agent does not answer: a trial would not be committed");
                    }
                    sleep(if tries < AGENT_TRIES { AGENT } else { LATE_AGENT }).await;
                }
            }
        }
    }

    /// Judges what was seen by what worked before, and stores the problems. `status` is of this boot.
    pub(crate) async fn judged(&self, look: &Observations, status: &UpdateStatus) -> HealthVerdict {
        let before = self.baseline(status).await;
        let verdict = judge(before.as_ref(), look, &self.0.settings.update.health_units);
        let problems: Vec<String> = verdict.problems().iter().map(ToString::to_string).collect();
        let news = self.seen().problems.replace(problems.clone()) != Some(problems);
        if news {
            self.moved();
        }
        verdict
    }

    /// No trial: reports the health of this boot until it is healthy, for a boot chain that counts boots; at most so many
    /// times. Only what the machine needs to be operated counts: this system has proved itself, and the one in the other slot would
    /// neither have another network nor mend a service of the owner's. Returns whether the boot was found healthy.
    async fn tell_well(&self, machine: &Weak<Machine>, status: &UpdateStatus, times: u32) -> bool {
        for time in 0..times {
            if time > 0 {
                sleep(PACE).await;
            }
            let Some(here) = machine.upgrade() else { return true };
            let look = self.look_with(&here, std::future::ready(None)).await;
            drop(here);
            // Stored for people.
            self.judged(&look, status).await;
            let verdict = operable(&look);
            let taken = self.tell(&verdict).await;
            if taken.is_some_and(|taken| verdict.is_healthy() && taken.problems.is_empty()) {
                return true;
            }
        }
        false
    }

    /// Reports until the trial is over; `status` is its last known one.
    async fn prove(&self, machine: &Weak<Machine>, mut status: UpdateStatus) {
        let (mut good, mut channel) = (0, ChannelProbe::default());
        loop {
            let Some(here) = machine.upgrade() else { return };
            let look = self.look_with(&here, channel.probe(self)).await;
            drop(here);
            if let Ok(now) = self.0.agent.get::<GetUpdateStatus>().await {
                // On a simulated machine the old system may run already: that one is judged by `look_from_the_old_slot`.
                if in_trial(&now).is_none() {
                    break;
                }
                status = now;
            }
            let verdict = self.judged(&look, &status).await;
            good = if verdict.is_healthy() { good + 1 } else { 0 };
            let is_due = good == 0 || good >= ENOUGH;
            let taken = if is_due { self.tell(&verdict).await } else { None };
            if let Some(taken) = taken.filter(|taken| taken.committed || !taken.trial) {
                if taken.committed && channel.is_verified() {
                    self.channel_reached().await;
                }
                break;
            }
            sleep(PACE).await;
        }
        self.moved();
    }

    /// Reports to the agent. If a failed trial waits for the old system's verdict, this is the verdict, whoever causes the report.
    async fn report(&self, verdict: &HealthVerdict) -> Result<HealthTaken, ToolError> {
        let problems = verdict.problems().iter().take(MAX_PROBLEMS).map(|problem| shortened(problem.to_string()));
        let mut missing = verdict.missing();
        if missing.services.len() > MAX_PROBLEMS {
            // Too many to be named, and so for the old system to lack the same.
            missing = Missing { server: true, services: BTreeSet::new(), ..missing };
        }
        let (healthy, offline) = (verdict.is_healthy(), verdict.is_offline());
        let report = HealthReport { healthy, problems: problems.collect(), offline, missing };
        let taken = self.0.agent.call::<ReportHealth>(report).await?;
        for problem in &taken.problems {
            tracing::warn!(target: "update", problem, "the agent does not find this boot healthy yet");
        }
        Ok(taken)
    }

    /// The same; a failure is logged.
    async fn tell(&self, verdict: &HealthVerdict) -> Option<HealthTaken> {
        let taken = self.report(verdict).await;
        taken
            .inspect_err(|error| tracing::warn!(target: "update", %error, "the agent was not told how this boot does"))
            .ok()
    }

    /// After a failed trial, with the old system running again: if this one lacks what the trial lacked, it was not the new version's
    /// fault, and the agent may try it once more.
    async fn look_from_the_old_slot(&self, machine: &Weak<Machine>, status: &UpdateStatus) {
        let mut looks = 1;
        let verdict = loop {
            let Some(here) = machine.upgrade() else { return };
            let look = self.look(&here).await;
            drop(here);
            let verdict = self.judged(&look, status).await;
            if verdict.is_healthy() || looks == OLD_SLOT_CHECKS {
                break verdict;
            }
            looks += 1;
            sleep(PACE).await;
        };
        self.tell(&verdict).await;
        self.moved();
    }

    /// If an armed version waits for what this system lacks as well: tries it again once that works. The additional trial would be wasted
    /// before.
    async fn try_again_when_well(&self, machine: &Weak<Machine>) {
        let (mut pause, mut before) = (LATER, Missing::default());
        loop {
            let status = self.0.agent.get::<GetUpdateStatus>().await;
            if status.as_ref().is_ok_and(|status| status.waits_for.is_empty()) {
                return;
            }
            let Some(here) = machine.upgrade() else { return };
            if let Ok(status) = status
                && self.is_well(&here, &status, &mut before).await
            {
                return self.resume_armed().await;
            }
            drop(here);
            sleep(pause).await;
            pause = (pause * 2).min(LONGEST_WAIT);
        }
    }

    /// Whether the version that waits can pass its trial now: what is configured works for both halves, and there is a network. What worked
    /// before the update and is gone from this system as well (another network, a service that was missing in two looks, of which `before`
    /// has the first) does not have to work any more.
    async fn is_well(&self, machine: &Machine, status: &UpdateStatus, before: &mut Missing) -> bool {
        let look = self.look(machine).await;
        let verdict = self.judged(&look, status).await;
        let missing = verdict.missing();
        let earlier = std::mem::replace(before, missing.clone());
        let configured = judge(None, &look, &self.0.settings.update.health_units);
        let is_due = configured.is_healthy() && (!missing.network || look.has_network());
        if !is_due || !missing.services.is_subset(&earlier.services) {
            return false;
        }
        let taken = self.tell(&operable(&look)).await;
        if !taken.is_some_and(|taken| taken.awaited.is_empty()) {
            return false;
        }
        if verdict.is_healthy() {
            return true;
        }
        let gone = missing.names().join(", ");
        tracing::warn!(target: "update", gone, "what worked before the update is gone from this system as well: the trial does not need it");
        let recorded = self.record_as_baseline(machine, look).await;
        recorded
            .inspect_err(|error| tracing::error!(target: "update", %error, "what works now cannot be recorded"))
            .is_ok()
    }

    /// Makes as many checks as the automatic commit does, and reports the result to the agent.
    ///
    /// # Errors
    /// `failed_precondition` with the problems, if there are any; the agent's errors.
    pub async fn attest(&self, machine: &Arc<Machine>) -> Result<(), ToolError> {
        let status = self.0.agent.get::<GetUpdateStatus>().await?;
        for time in 1..=ENOUGH {
            let look = self.look(machine).await;
            let verdict = self.judged(&look, &status).await;
            if !verdict.is_healthy() || time == ENOUGH {
                let taken = self.report(&verdict).await?;
                if taken.committed && matches!(look.channel, Some(Ok(()))) {
                    self.channel_reached().await;
                }
            }
            if !verdict.is_healthy() {
                let problems: Vec<String> = verdict.problems().iter().map(ToString::to_string).collect();
                return Err(ToolError::precondition(format!("this system is not healthy: {}", problems.join("; ")))
                    .with("problems", problems)
                    .hint("mend that and try again; a trial that stays like this goes back by itself"));
            }
            if time < ENOUGH {
                sleep(PACE).await;
            }
        }
        Ok(())
    }
}
