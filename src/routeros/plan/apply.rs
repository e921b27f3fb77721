//! Writes changes, and confirms or takes them back.

use super::{
    super::{client::RouterClient, device::Device},
    base::{self, Base, Menus, menus},
    change::{Action, Change, Fields, fields, holds},
    export::export,
    mark::{final_comment, has_row, mark, marked},
    one_write::{body, is_done, write_change},
    row::has_no_switch,
    script::{inverse, quoted},
};
use ::base::error::{ErrorCode, ToolError};
use reqwest::Method;
use serde_json::{Map, Value, json};
use std::{
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio::time::{Instant, sleep, timeout_at};

/// What an entry of the scheduler may do, and no more. Its default is nearly everything.
const POLICY: &str = "read,write";
/// Of the timer, the part in which the changes are written and read again. Confirming takes the rest.
const SHARE: f64 = 0.7;
/// How long after the timer a router has to be back.
pub(super) const BACK: Duration = Duration::from_secs(5);
/// Between two attempts to reach a router that does not answer.
pub(super) const AGAIN: Duration = Duration::from_secs(1);

/// Changes of one router, and what they stand on.
pub struct Apply<'a> {
    pub device: &'a Device,
    /// Names the entries of the scheduler: `[a-z0-9-]`, at most 40 characters.
    pub plan: &'a str,
    pub changes: &'a [Change],
    /// [`Base::hash`] of when the plan was made.
    pub base: &'a str,
    /// After how long the router takes the changes back by itself, in whole seconds.
    pub timer: Duration,
    /// Keeps `/export` of before; nothing is written when it cannot.
    pub keep: &'a Keep<'a>,
    /// The rows that this run added. Empty at first.
    pub added: AddedRows,
}

/// Rows by the places of their changes in the plan and the ids that the router gave them.
pub type AddedRows = Mutex<Vec<(usize, String)>>;

/// Keeps an export.
pub type Keep<'a> = dyn Fn(&str) -> Result<(), ToolError> + Send + Sync + 'a;

/// What became of them.
#[derive(Debug)]
pub struct Applied {
    pub outcome: Outcome,
    /// `/export` at the end.
    pub after: String,
}

#[derive(Debug)]
pub enum Outcome {
    Confirmed,
    /// Everything is as it was.
    TakenBack(ToolError),
}

impl Apply<'_> {
    /// Applies the changes.
    ///
    /// # Errors
    /// `conflict` when the router is not as the plan has it, and what [`RouterClient`] says before anything was changed.
    /// `unavailable` with `details.changed` `"unknown"` when the router is not back in time.
    pub async fn run(&self) -> Result<Applied, ToolError> {
        let client = RouterClient::new(self.device.clone())?;
        let base = Base::read(&client, self.changes).await?;
        if base.hash() != self.base {
            let error = ToolError::new(
                ErrorCode::Conflict,
                format!("the router {} is not as it was when the plan was made", self.device.id),
            );
            return Err(error
                .with("device_id", self.device.id.as_str())
                .hint("make the plan again, and look at what it changes now"));
        }
        (self.keep)(&export(&client).await?)?;
        let armed = Instant::now();
        if let Err(error) = self.arm(&client, &base).await {
            // Nothing was changed yet. What is left of the entries changes nothing: their inverse finds it all as it is.
            let _ = self.disarm(&client).await;
            return Err(error);
        }
        let written = timeout_at(armed + self.timer.mul_f64(SHARE), async {
            self.write(&client, &base).await?;
            self.confirm().await
        });
        let written =
            written.await.unwrap_or_else(|_| Err(ToolError::unavailable("the changes could not be confirmed in time")));
        match written {
            Ok(fresh) => {
                self.finish(&fresh, &base).await?;
                Ok(Applied { outcome: Outcome::Confirmed, after: export(&fresh).await? })
            }
            Err(why) => {
                let fresh = self
                    .take_back(&base, armed + self.timer + BACK)
                    .await
                    .map_err(|error| error.with("cause", why.message.as_str()))?;
                Ok(Applied { outcome: Outcome::TakenBack(why), after: export(&fresh).await? })
            }
        }
    }

    pub(super) fn entries(&self) -> [String; 2] {
        ["timer", "start"].map(|kind| format!("raspi-mcp-{}-{kind}", self.plan))
    }

    /// Gives the inverse to the router's scheduler, and reads it back.
    pub(super) async fn arm(&self, client: &RouterClient, base: &Base) -> Result<(), ToolError> {
        let [by_timer, by_start] = self.entries();
        let script = inverse(self.changes, base, self.plan, &[&by_timer, &by_start]);
        let entry = |name: &str, more: (&str, String)| {
            let fields = [("name", name.to_owned()), ("on-event", script.clone()), ("policy", POLICY.to_owned()), more];
            Map::from_iter(fields.map(|(name, value)| (name.to_owned(), Value::String(value))))
        };
        let interval = format!("{}s", self.timer.as_secs());
        for entry in [entry(&by_start, ("start-time", "startup".into())), entry(&by_timer, ("interval", interval))] {
            client.write(Method::PUT, "system/scheduler", &entry).await?;
        }
        let rows = client.get("system/scheduler").await?;
        let is_armed = |name: &str, is_timer: bool| {
            rows.as_array().into_iter().flatten().any(|row| {
                row["name"] == name
                    && row["on-event"] == script
                    && row["policy"] == POLICY
                    && row["disabled"] != "true"
                    && (row["next-run"].is_string() || !is_timer)
            })
        };
        if is_armed(&by_timer, true) && is_armed(&by_start, false) {
            return Ok(());
        }
        Err(ToolError::precondition(format!("the router {} did not take the way back as it was given", self.device.id))
            .with("device_id", self.device.id.as_str())
            .hint("its user needs the policies read and write; nothing was changed"))
    }

    pub(super) async fn write(&self, client: &RouterClient, base: &Base) -> Result<(), ToolError> {
        let mut read: Option<(&str, Value)> = None;
        for (at, change) in self.changes.iter().enumerate() {
            // An id is good until the router is started again, so it is looked up just before it is used.
            let listing = match read.take() {
                Some((menu, listing)) if menu == change.menu => listing,
                _ => client.rows(&change.menu).await?,
            };
            let row = base::of(change, &listing)?;
            if row.as_ref().map(|row| &row.fields) != base.row(at).map(|row| &row.fields) {
                return Err(ToolError::new(
                    ErrorCode::Conflict,
                    format!("a row of {} was changed meanwhile", change.menu),
                ));
            }
            let id = row.as_ref().map_or("", |row| row.id.as_str());
            match write_change(client, change, id, Some(&mark(self.plan, at))).await {
                // Whether it was done is to be seen, never done again.
                Err(error) if error.may_have_changed() => {}
                Err(error) => return Err(error),
                Ok(made) => self.added_rows().extend(made.map(|id| (at, id))),
            }
            let listing = client.rows(&change.menu).await?;
            if !self.is_written(&listing, at, change) {
                return Err(ToolError::precondition(format!(
                    "the router {} did not keep a change of {}",
                    self.device.id, change.menu
                )));
            }
            read = Some((&change.menu, listing));
        }
        Ok(())
    }

    /// Reads everything by a new connection, then takes the entries away.
    async fn confirm(&self) -> Result<RouterClient, ToolError> {
        let fresh = RouterClient::new(self.device.clone())?;
        self.all_written(&fresh).await?;
        self.disarm(&fresh).await?;
        // The timer may have been faster.
        self.all_written(&fresh).await?;
        Ok(fresh)
    }

    /// Whether a menu has what a change made of it, with its mark.
    fn is_written(&self, listing: &Value, at: usize, change: &Change) -> bool {
        if !has_row(change) {
            return is_done(listing, change);
        }
        let mut wanted = match &change.action {
            Action::Remove if has_no_switch(&change.menu) => Fields::new(),
            Action::Remove => fields(&[("disabled", "yes")]),
            Action::Add(..) | Action::Set(_) => change.after(),
        };
        wanted.remove("comment");
        matches!(marked(listing, &mark(self.plan, at))[..], [row] if holds(row, &wanted))
    }

    async fn all_written(&self, client: &RouterClient) -> Result<(), ToolError> {
        let menus = menus(client, self.changes).await?;
        for (at, change) in self.changes.iter().enumerate() {
            if !self.is_written(&menus[change.menu.as_str()], at, change) {
                return Err(ToolError::precondition(format!("a change of {} did not last", change.menu)));
            }
        }
        Ok(())
    }

    /// Whether a row still has a mark of this plan.
    pub(super) fn has_marks(&self, menus: &Menus) -> bool {
        let all = self.changes.iter().enumerate().filter(|(_, change)| has_row(change));
        all.into_iter().any(|(at, change)| !marked(&menus[change.menu.as_str()], &mark(self.plan, at)).is_empty())
    }

    /// Takes the entries of the scheduler away, those that are there; also those of plans whose timer has run, which are off.
    ///
    /// Both of this plan are removed by one script: with the timer alone, a router that is started again with its clock in 1970 would not
    /// take back what is not confirmed; with the other one alone, it would only at its next start.
    pub(super) async fn disarm(&self, client: &RouterClient) -> Result<(), ToolError> {
        let names = self.entries();
        let both = names.iter().map(|name| format!("/system/scheduler/remove [find name={}]\n", quoted(name)));
        // What it left is removed below, and an answer that got lost is no failure.
        let _ = execute(client, &both.collect::<String>()).await;
        let rows = client.get("system/scheduler").await?;
        let ours = rows.as_array().into_iter().flatten().filter(|row| {
            let name = row["name"].as_str().unwrap_or_default();
            names.iter().any(|own| own == name) || name.starts_with("raspi-mcp-plan-") && row["disabled"] == "true"
        });
        for row in ours {
            let id = row[".id"].as_str().unwrap_or_default();
            match client.write(Method::DELETE, &format!("system/scheduler/{id}"), &Map::new()).await {
                Err(error) if error.code == ErrorCode::NotFound => {}
                done => drop(done?),
            }
        }
        Ok(())
    }

    /// Ends a change that was confirmed: rows get their comments, and what was to be removed is removed. Each is found by its mark, so what
    /// was ended before is left alone.
    pub(super) async fn finish(&self, client: &RouterClient, base: &Base) -> Result<(), ToolError> {
        // Whether a row was ended whose answer got lost is seen by the next look, which has one row less before it.
        let mut lost_answers = 0;
        loop {
            match self.finish_remaining(client, base).await {
                Err(error) if error.may_have_changed() && lost_answers <= self.changes.len() => lost_answers += 1,
                ended => return ended.map_err(|error| self.not_finished(&error.message)),
            }
        }
    }

    async fn finish_remaining(&self, client: &RouterClient, base: &Base) -> Result<(), ToolError> {
        let menus = menus(client, self.changes).await?;
        for (at, change) in self.changes.iter().enumerate().filter(|(_, change)| has_row(change)) {
            let Some(row) = marked(&menus[change.menu.as_str()], &mark(self.plan, at)).into_iter().next() else {
                continue;
            };
            let path = format!("{}/{}", change.menu, row[".id"].as_str().unwrap_or_default());
            let ended = if change.action == Action::Remove {
                client.write(Method::DELETE, &path, &Map::new()).await
            } else {
                let comment = final_comment(change, base.row(at).map(|row| &row.fields));
                client.write(Method::PATCH, &path, &body(&fields(&[("comment", &comment)]))).await
            };
            match ended {
                Err(error) if error.code == ErrorCode::NotFound => {}
                ended => drop(ended?),
            }
        }
        Ok(())
    }

    /// Runs the inverse, or waits until the router has.
    pub(super) async fn take_back(&self, base: &Base, until: Instant) -> Result<RouterClient, ToolError> {
        loop {
            let fresh = RouterClient::new(self.device.clone())?;
            match timeout_at(until, self.taken_back(&fresh, base)).await {
                Ok(Ok(())) => return Ok(fresh),
                Ok(Err(_)) if Instant::now() + AGAIN < until => sleep(AGAIN).await,
                Ok(Err(error)) => return Err(self.not_back(&error.message)),
                Err(_) => return Err(self.not_back("it does not answer")),
            }
        }
    }

    async fn taken_back(&self, client: &RouterClient, base: &Base) -> Result<(), ToolError> {
        if !self.is_as_before(client, base).await {
            let script = inverse(self.changes, base, self.plan, &[]);
            execute(client, &script).await?;
            self.remove_additions(client, &menus(client, self.changes).await?).await?;
            if !self.is_as_before(client, base).await {
                return Err(ToolError::unavailable("it is not as it was"));
            }
        }
        self.disarm(client).await
    }

    /// Removes the rows that this run added and that kept no mark.
    async fn remove_additions(&self, client: &RouterClient, menus: &Menus) -> Result<(), ToolError> {
        for path in self.remaining_additions(menus) {
            match client.write(Method::DELETE, &path, &Map::new()).await {
                Err(error) if error.code == ErrorCode::NotFound => {}
                gone => drop(gone?),
            }
        }
        Ok(())
    }

    /// The paths of rows that this run added and that are still there: they have the id that the router gave them, and hold what was sent. An
    /// id alone may be another row's after a start of the router.
    fn remaining_additions(&self, menus: &Menus) -> Vec<String> {
        let added = self.added_rows();
        let paths = added.iter().filter_map(|(at, id)| {
            let change = &self.changes[*at];
            let mut wanted = change.after();
            wanted.remove("comment");
            let mut rows = menus.get(&change.menu)?.as_array()?.iter();
            rows.find(|row| row[".id"] == id.as_str() && holds(row, &wanted)).map(|_| format!("{}/{id}", change.menu))
        });
        paths.collect()
    }

    fn added_rows(&self) -> MutexGuard<'_, Vec<(usize, String)>> {
        self.added.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the rows are as they were, and none of them or of those added has a mark.
    pub(super) async fn is_as_before(&self, client: &RouterClient, base: &Base) -> bool {
        let Ok(menus) = menus(client, self.changes).await else { return false };
        // The row that an added one stands before may have another id by now: nothing is written there any more.
        let changes: Vec<Change> = self.changes.iter().map(Change::without_place).collect();
        !self.has_marks(&menus)
            && self.remaining_additions(&menus).is_empty()
            && Base::in_menus(&menus, &changes).is_ok_and(|now| now.hash() == base.hash())
    }

    fn not_finished(&self, why: &str) -> ToolError {
        ToolError::unavailable(format!("the change of the router {} is confirmed, and not ended: {why}", self.device.id))
            .with("device_id", self.device.id.as_str())
            .with("changed", "unknown")
            .hint("its rows that have a comment beginning with raspi-mcp- are done, and wait for their comment or their removal")
    }

    pub(super) fn not_back(&self, why: &str) -> ToolError {
        ToolError::unavailable(format!(
            "whether the router {} took the changes back is not known: {why}",
            self.device.id
        ))
        .with("device_id", self.device.id.as_str())
        .with("changed", "unknown")
        .hint("look at the router; its entries of system/scheduler that begin with raspi-mcp- hold the way back")
    }
}

/// Runs a script on the router, to its end.
async fn execute(client: &RouterClient, script: &str) -> Result<(), ToolError> {
    let run = [("script".to_owned(), json!(script)), ("as-string".to_owned(), json!(""))];
    client.write(Method::POST, "execute", &Map::from_iter(run)).await.map(drop)
}
