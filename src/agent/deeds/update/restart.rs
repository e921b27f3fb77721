//! Restarting into what was installed, and arming it once more.

use super::words::RebootIntoRequest;
use crate::{
    agent::{Agent, Peer, PowerAction, Standing, protocol::Scheduled},
    error::ToolError,
    os::blocking,
    update::{
        slots::{self, Stage},
        status::UpdateStatus,
    },
};
use std::sync::Arc;

impl Agent {
    /// Restarts into the armed slot. Who was let install it needs no further word.
    pub(in crate::agent) async fn reboot_into_update(
        &self,
        peer: &Peer,
        request: RebootIntoRequest,
    ) -> Result<Scheduled, ToolError> {
        let tool = request.tool;
        self.allows(peer, tool.name(), &request.warrant)?;
        let system = self.updates.system()?;
        self.updates.seats.must_be_free()?;
        let armed = {
            let ledger = system.record.ledger();
            let update = ledger.state().update.as_ref().filter(|update| update.stage == Stage::Armed);
            update.map(|update| (update.manifest, update.version.clone()))
        };
        let Some((manifest, version)) = armed else {
            return Err(ToolError::precondition("nothing is installed that waits for a restart")
                .hint("manage.get_update_status shows how far an update is"));
        };
        self.power.check()?;
        let principal = &request.warrant.principal;
        let let_in = manifest.is_some_and(|manifest| self.admissions.holds(manifest, tool, principal));
        if !let_in && peer.standing != Standing::Approver {
            self.admit(peer, tool.name(), &request.warrant, |ask| {
                ask.request.args.get("target_version").is_none_or(|named| named.is_null() || *named == version)
            })?;
        }
        // Told again: what was armed in an earlier boot may have been forgotten since.
        let record = system.record.clone();
        blocking::run("update", move |_| record.step(slots::rearm)).await?;
        let argument = system.trial_argument();
        let reason = format!("into version {version}");
        self.power.schedule_with(
            PowerAction::Reboot,
            request.delay_seconds,
            Some(reason),
            request.warrant.principal,
            argument,
        )
    }

    /// Arms again what is armed and was not tried.
    pub(in crate::agent) async fn resume_update(&self) -> Result<UpdateStatus, ToolError> {
        let system = self.updates.system()?;
        self.updates.seats.must_be_free()?;
        let record = system.record.clone();
        blocking::run("update", move |_| record.step(slots::rearm)).await?;
        self.update_status().await
    }

    /// What is known of the slots and of an update.
    pub(in crate::agent) async fn update_status(&self) -> Result<UpdateStatus, ToolError> {
        let system = self.updates.system()?;
        let left = self.boot.seconds_left();
        blocking::run("update", move |_| Ok(Arc::clone(&system).status(left))).await
    }
}
