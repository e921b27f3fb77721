//! The server's part of a trial: looks at what works, tells the agent, until the agent commits or restarts the machine.

use crate::UpdateClient;
use agent::{
    HealthReport, MAX_PROBLEM, MAX_PROBLEMS,
    operations::update::{GetUpdateStatus, ReportHealth},
};
use base::{
    error::{ErrorCode, ToolError},
    os::systemd::wanted,
};
use hw::machine::Machine;
use std::{
    collections::BTreeSet,
    sync::{Arc, Weak},
    time::Duration,
};
use tokio::time::sleep;
use update::{
    Slot,
    health::{Baseline, Verdict, judge},
    status::{Phase, SlotState, UpdateStatus},
};

/// From one look of a trial to the next: DHCP and services take some seconds, and the agent's deadline is at least half a minute.
const PACE: Duration = Duration::from_secs(5);
/// Good looks in a row before it counts: what crashes after some seconds is not healthy.
const ENOUGH: u32 = 2;
/// From one look to the next while the old system is offline, with a version that waits to be tried again.
const OFFLINE: Duration = Duration::from_secs(60);
/// An agent that starts later than the server is waited for, so long.
const AGENT: Duration = Duration::from_secs(2);
const AGENT_TRIES: u32 = 60;

/// How often a simulated machine is looked at that is about to restart, and how long.
const SIMULATED: Duration = Duration::from_millis(500);
const SIMULATED_TIMES: u32 = 120;

/// Sees to what the last restart left open. Returns when nothing of it is left, with whether the machine is a simulated one.
pub(crate) async fn run(client: &UpdateClient, machine: &Weak<Machine>) -> bool {
    let Some(status) = client.first_word().await else { return false };
    if in_trial(&status).is_some() {
        client.prove(machine).await;
    } else if failed_into(&status) {
        client.look_from_the_old_slot(machine).await;
    } else {
        client.tell_well(machine, &status).await;
    }
    status.simulated
}

/// On a simulated machine this server outlives the machine's restarts: sees to each of them.
pub(crate) async fn run_simulated(client: &UpdateClient, machine: &Weak<Machine>) {
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
        // An armed slot is not far from its restart.
        for _ in 0..SIMULATED_TIMES {
            if machine.strong_count() == 0 {
                return;
            }
            let Ok(status) = client.0.agent.get::<GetUpdateStatus>().await else { break };
            if in_trial(&status).is_some() {
                client.prove(machine).await;
                let after = client.0.agent.get::<GetUpdateStatus>().await;
                if after.as_ref().is_ok_and(failed_into) {
                    client.look_from_the_old_slot(machine).await;
                }
                marks = client.marks();
                break;
            }
            if !status.slots.iter().any(|slot| slot.state == SlotState::Armed) {
                break;
            }
            sleep(SIMULATED).await;
        }
    }
}

/// The slot that is being tried in this boot.
pub fn in_trial(status: &UpdateStatus) -> Option<Slot> {
    status.slots.iter().find(|slot| slot.running && slot.state == SlotState::Trial).map(|slot| slot.slot)
}

/// Whether this boot is one after a trial that failed.
fn failed_into(status: &UpdateStatus) -> bool {
    let attempt = status.last_attempt.as_ref().filter(|attempt| attempt.phase == Phase::RolledBack);
    attempt.is_some_and(|attempt| status.slots.iter().any(|slot| slot.running && slot.slot != attempt.target))
}

/// As much of it as the agent takes.
fn shortened(mut text: String) -> String {
    text.truncate(text.floor_char_boundary(MAX_PROBLEM));
    text
}

impl UpdateClient {
    /// The agent's status, once it answers; `None` where there are no slots, or no agent.
    async fn first_word(&self) -> Option<UpdateStatus> {
        for _ in 0..AGENT_TRIES {
            match self.0.agent.get::<GetUpdateStatus>().await {
                Ok(status) => return Some(status),
                Err(error) if error.code == ErrorCode::Unavailable => sleep(AGENT).await,
                Err(error) => {
                    tracing::debug!(target: "update", %error, "no slots to look after");
                    return None;
                }
            }
        }
        tracing::error!(target: "update", "the agent does not answer: a trial would not be committed");
        None
    }

    /// Looks, judges and keeps the words of it.
    async fn examine(&self, machine: &Weak<Machine>) -> Option<Verdict> {
        let before = self.baseline().await;
        let machine = machine.upgrade()?;
        let look = self.look(&machine).await;
        let verdict = judge(before.as_ref(), &look, &self.0.settings.update.health_units);
        let problems: Vec<String> = verdict.problems().iter().map(ToString::to_string).collect();
        let news = self.seen().problems.replace(problems.clone()) != Some(problems);
        if news {
            self.moved();
        }
        Some(verdict)
    }

    /// Neither a trial nor what one left: a healthy boot, told once, so that a boot chain that counts its boots is told as well.
    async fn tell_well(&self, machine: &Weak<Machine>, status: &UpdateStatus) {
        if status.simulated {
            return;
        }
        if let Some(verdict) = self.examine(machine).await
            && let Err(error) = self.report(&verdict, false).await
        {
            tracing::warn!(target: "update", %error, "the agent was not told how this boot does");
        }
    }

    async fn prove(&self, machine: &Weak<Machine>) {
        let mut good = 0;
        loop {
            let Some(verdict) = self.examine(machine).await else { return };
            good = if verdict.is_healthy() { good + 1 } else { 0 };
            if good == 0 || good >= ENOUGH {
                match self.report(&verdict, false).await {
                    Ok(true) => break,
                    Ok(false) => {}
                    Err(error) => {
                        tracing::warn!(target: "update", %error, "the agent was not told how this trial does")
                    }
                }
            }
            sleep(PACE).await;
        }
        self.moved();
    }

    /// Tells the agent; says whether the trial is over.
    async fn report(&self, verdict: &Verdict, offline: bool) -> Result<bool, ToolError> {
        let problems = verdict.problems().iter().take(MAX_PROBLEMS).map(|problem| shortened(problem.to_string()));
        let report = HealthReport { healthy: verdict.is_healthy(), problems: problems.collect(), offline };
        let taken = self.0.agent.call::<ReportHealth>(report).await?;
        for problem in &taken.problems {
            tracing::warn!(target: "update", problem, "the agent does not commit yet");
        }
        Ok(taken.committed || !taken.trial)
    }

    /// A trial has failed, and the old system runs again. Where it finds the network gone as well, the new version was not to blame,
    /// and the agent may try it once more.
    async fn look_from_the_old_slot(&self, machine: &Weak<Machine>) {
        // Given as long as a trial is, at least: a network that comes late is there.
        let mut verdict = self.examine(machine).await;
        for _ in 0..6 {
            if !verdict.as_ref().is_some_and(Verdict::is_offline) {
                break;
            }
            sleep(PACE).await;
            verdict = self.examine(machine).await;
        }
        let Some(verdict) = verdict else { return };
        let offline = verdict.is_offline();
        match self.report(&verdict, offline).await {
            Ok(_) if offline => tracing::warn!(
                target: "update",
                "the old system is offline as well: the version that failed is not blocked for that"
            ),
            Ok(_) => {}
            Err(error) => tracing::warn!(target: "update", %error, "the agent was not told how the old system does"),
        }
        self.moved();
        // Trying it once more where nothing is to be reached would only use it up.
        while offline && self.examine(machine).await.is_some_and(|verdict| verdict.is_offline()) {
            sleep(OFFLINE).await;
        }
    }

    /// Records what works now, for the system that is started next to be held against.
    pub(crate) async fn record_baseline(&self, machine: &Machine, version: &str) -> Result<(), ToolError> {
        let mut look = self.look(machine).await;
        // A service that a message started for a moment would be missed in the next system, which may get no such message.
        let (bus, running) = (&machine.bus, look.units.keys().map(String::as_str));
        let stays = wanted::by_what_is_up(bus, running).await.unwrap_or_else(|error| {
            tracing::warn!(target: "update", %error, "no service but those of the configuration counts for the next system");
            BTreeSet::new()
        });
        look.units.retain(|name, _| stays.contains(name));
        let baseline = Baseline::of(&look, version, self.now_ms());
        let file = self.baseline_file();
        base::os::blocking::run("update", move |_| {
            baseline.save(&file).map_err(|error| {
                ToolError::unavailable(format!("what works now cannot be kept in {}: {error}", file.display()))
                    .hint("the new system could not be held against it; make room, then begin again")
            })
        })
        .await
    }

    /// Looks as often as the automatic commit does, and tells the agent what it found.
    ///
    /// # Errors
    /// `failed_precondition` with what is wrong, when something is; the agent's.
    pub async fn attest(&self, machine: &Arc<Machine>) -> Result<(), ToolError> {
        let weak = Arc::downgrade(machine);
        for look in 1..=ENOUGH {
            let Some(verdict) = self.examine(&weak).await else { return Err(ToolError::cancelled("the look")) };
            if !verdict.is_healthy() || look == ENOUGH {
                self.report(&verdict, false).await?;
            }
            if !verdict.is_healthy() {
                let problems: Vec<String> = verdict.problems().iter().map(ToString::to_string).collect();
                return Err(ToolError::precondition(format!("this system is not healthy: {}", problems.join("; ")))
                    .with("problems", problems)
                    .hint("mend that and try again; a trial that stays like this goes back by itself"));
            }
            if look < ENOUGH {
                sleep(PACE).await;
            }
        }
        Ok(())
    }
}
