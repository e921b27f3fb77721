//! What became of changes when this program ended in the middle: read, and confirmed or taken back. Nothing is written twice.

use super::{
    apply::{AGAIN, Applied, Apply, BACK, Outcome},
    base::{Base, menus},
    export::export,
    one_write::is_done,
};
use crate::routeros::client::RouterClient;
use base::error::ToolError;
use serde_json::Value;
use tokio::time::{Instant, sleep};

impl Apply<'_> {
    /// [`Apply::run`]; where that does not say what became of the changes, it is found out. `base` is that of the plan.
    ///
    /// # Errors
    /// Those of both.
    pub async fn run_and_look(&self, base: &Base) -> Result<Applied, ToolError> {
        match self.run().await {
            Err(error) if error.may_have_changed() => self.resume(base).await,
            applied => applied,
        }
    }

    /// Finds out what became of the changes that another run began. What was confirmed is ended. `base` is that of the plan.
    ///
    /// # Errors
    /// `unavailable` with `details.changed` `"unknown"` when the router does not say it within the timer, or has neither what was
    /// before nor what was to be.
    pub async fn resume(&self, base: &Base) -> Result<Applied, ToolError> {
        let until = Instant::now() + self.timer + BACK;
        let (client, rows) = self.reached(until).await?;
        let names = self.entries();
        let is_armed =
            rows.as_array().into_iter().flatten().any(|row| names.iter().any(|name| row["name"] == name.as_str()));
        if !is_armed && !self.is_as_before(&client, base).await {
            // Without its entries of the scheduler it was confirmed, or somebody else was here.
            self.finish(&client, base).await?;
            self.all_done(&client).await.map_err(|error| self.not_back(&error.message))?;
            return Ok(Applied { outcome: Outcome::Confirmed, after: export(&client).await? });
        }
        let fresh = self.take_back(base, until).await?;
        let why = ToolError::cancelled("the change");
        let why = why.with_message("this program ended before the change was confirmed");
        Ok(Applied { outcome: Outcome::TakenBack(why), after: export(&fresh).await? })
    }

    /// Whether the router is as the plan has it, and no mark is left.
    async fn all_done(&self, client: &RouterClient) -> Result<(), ToolError> {
        let menus = menus(client, self.changes).await?;
        let undone = self.changes.iter().find(|change| !is_done(&menus[change.menu.as_str()], change));
        match undone {
            Some(change) => Err(ToolError::precondition(format!("a change of {} did not last", change.menu))),
            None => Ok(()),
        }
    }

    /// A connection to the router, which may be cut off until its timer has run, and its entries of the scheduler.
    async fn reached(&self, until: Instant) -> Result<(RouterClient, Value), ToolError> {
        loop {
            let client = RouterClient::new(self.device.clone())?;
            match client.get("system/scheduler").await {
                Ok(rows) => return Ok((client, rows)),
                Err(error) if Instant::now() + AGAIN > until => return Err(self.not_back(&error.message)),
                Err(_) => sleep(AGAIN).await,
            }
        }
    }
}
