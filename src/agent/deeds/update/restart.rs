//! Restarting into what was installed, and arming it once more.

use super::{planned::into, words::RebootIntoRequest};
use crate::{
    agent::{Agent, Peer, PowerAction, Standing, protocol::Scheduled, updates::System},
    error::ToolError,
    os::blocking,
    update::{
        job::{AUTOMATIC, plan::Plan},
        slots::{self, Pending},
        status::{RestartPlan, UpdateStatus},
    },
};
use serde_json::{Value, json};
use std::sync::Arc;

impl Agent {
    /// Restarts into the armed slot. Who was let install it needs no further word.
    pub(in crate::agent) async fn reboot_into_update(
        &self,
        peer: &Peer,
        request: RebootIntoRequest,
    ) -> Result<Scheduled, ToolError> {
        let tool = request.tool;
        self.allows(peer, tool.name(), &request.authorization)?;
        let system = self.updates.system()?;
        self.updates.seats.must_be_free()?;
        let Some(armed) = system.armed() else {
            return Err(ToolError::precondition("nothing is installed that waits for a restart")
                .hint("manage.get_update_status shows how far an update is"));
        };
        let (version, principal) = (armed.version.clone(), &request.authorization.principal);
        let let_in = armed.manifest.is_some_and(|manifest| self.admissions.holds(manifest, tool, principal));
        if !let_in && peer.standing != Standing::Approver {
            self.admit(peer, tool.name(), &request.authorization, |ask| {
                shows_armed(&ask.request.args, &system, &armed)
            })?;
        }
        // From here on it is a plan, whatever ends this agent or refuses the restart. An order is for now; one that nobody gave keeps
        // to its window.
        let by_itself = principal == AUTOMATIC && armed.restart == RestartPlan::InWindow;
        let plan = if by_itself { RestartPlan::InWindow } else { RestartPlan::Soon };
        let record = system.record.clone();
        blocking::run("update", move |_| {
            record.step(|state| slots::plan_restart(state, plan, ""))?;
            // Told again: what was armed in an earlier boot may have been forgotten since.
            record.step(slots::rearm)
        })
        .await?;
        self.boot.now().offline = false;
        // One that is scheduled already goes the same way.
        if let Some(reboot) = self.power.pending().filter(|next| next.action == PowerAction::Reboot) {
            return Ok(reboot);
        }
        let (argument, reason) = (system.trial_argument(), into(&version));
        let (delay, principal) = (request.delay_seconds, request.authorization.principal);
        self.power
            .schedule_with(PowerAction::Reboot, delay, Some(reason), principal, argument)
            .inspect(|_| self.plan_changed(false))
            .map_err(|error| self.later(error))
    }

    /// Arms again what is armed and was not tried, and where a restart is planned has it come now.
    pub(in crate::agent) async fn resume_update(&self) -> Result<UpdateStatus, ToolError> {
        let system = self.updates.system()?;
        self.updates.seats.must_be_free()?;
        let record = system.record.clone();
        blocking::run("update", move |_| record.step(slots::rearm)).await?;
        self.boot.now().offline = false;
        self.plan_changed(true);
        self.update_status().await
    }

    /// What is known of the slots and of an update.
    pub(in crate::agent) async fn update_status(&self) -> Result<UpdateStatus, ToolError> {
        let system = self.updates.system()?;
        let left = self.boot.seconds_left();
        blocking::run("update", move |_| Ok(Arc::clone(&system).status(left))).await
    }
}

/// The person approved the version that is armed, or the plan of it.
fn shows_armed(args: &Value, system: &System, armed: &Pending) -> bool {
    let named = |name: &str| args.get(name).filter(|value| !value.is_null());
    let ledger = system.record.ledger();
    let running = armed.target.other();
    let from = ledger.state().slots.of(running).version.clone().unwrap_or_default();
    let hash = armed.manifest.map(|manifest| {
        let plan = Plan { manifest: &manifest, to_version: &armed.version, from_version: &from, target: armed.target };
        plan.hash().to_string()
    });
    named("target_version").is_none_or(|named| *named == armed.version)
        && named("plan_hash").is_none_or(|named| hash.is_some_and(|hash| *named == hash))
        && named("dry_run") != Some(&json!(true))
}
