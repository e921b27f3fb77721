//! Writes changes, and confirms or takes them back.

use super::{
    super::{client::RouterClient, device::Device},
    base::{Base, menus},
    change::{Action, Change, Fields, holds},
    export::export,
    row::{has_no_switch, is_unset},
    script::inverse,
};
use base::error::{ErrorCode, ToolError};
use reqwest::Method;
use serde_json::{Map, Value, json};
use std::time::Duration;
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
}

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
                self.remove(&fresh, &base).await?;
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
        let script = inverse(self.changes, base, &[&by_timer, &by_start]);
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
        for (at, change) in self.changes.iter().enumerate() {
            let written = write_change(client, change, base.row(at).map_or("", |row| row.id.as_str())).await;
            match written {
                // Whether it was done is to be seen, never done again.
                Err(error) if error.may_have_changed() => {}
                other => other?,
            }
            if !is_done(&client.get(&change.menu).await?, change) {
                return Err(ToolError::precondition(format!(
                    "the router {} did not keep a change of {}",
                    self.device.id, change.menu
                )));
            }
        }
        Ok(())
    }

    /// Reads everything by a new connection, then takes the entries away.
    async fn confirm(&self) -> Result<RouterClient, ToolError> {
        let fresh = RouterClient::new(self.device.clone())?;
        self.all_done(&fresh).await?;
        self.disarm(&fresh).await?;
        // The timer may have been faster.
        self.all_done(&fresh).await?;
        Ok(fresh)
    }

    pub(super) async fn all_done(&self, client: &RouterClient) -> Result<(), ToolError> {
        let menus = menus(client, self.changes).await?;
        for (at, change) in self.changes.iter().enumerate() {
            // What was changed and then removed is judged by the removal.
            let removes = |later: &Change| {
                later.action == Action::Remove && later.menu == change.menu && later.select == change.select
            };
            let is_removed = self.changes[at + 1..].iter().any(removes);
            if !is_removed && !is_done(&menus[change.menu.as_str()], change) {
                return Err(ToolError::precondition(format!("a change of {} did not last", change.menu)));
            }
        }
        Ok(())
    }

    /// Takes the entries of the scheduler away, those that are there; also those of plans whose timer has run, which are off.
    pub(super) async fn disarm(&self, client: &RouterClient) -> Result<(), ToolError> {
        let rows = client.get("system/scheduler").await?;
        let names = self.entries();
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

    /// What was disabled and is confirmed, is removed.
    pub(super) async fn remove(&self, client: &RouterClient, base: &Base) -> Result<(), ToolError> {
        for (at, change) in self.changes.iter().enumerate() {
            if let (Action::Remove, Some(row), false) = (&change.action, base.row(at), has_no_switch(&change.menu)) {
                match client.write(Method::DELETE, &format!("{}/{}", change.menu, row.id), &Map::new()).await {
                    Err(error) if error.code == ErrorCode::NotFound => {}
                    done => drop(done?),
                }
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
        let is_as_before = async || self.is_as(client, base).await;
        if !is_as_before().await {
            let script = inverse(self.changes, base, &[]);
            client
                .write(
                    Method::POST,
                    "execute",
                    &Map::from_iter([("script".to_owned(), json!(script)), ("as-string".to_owned(), json!(""))]),
                )
                .await?;
            if !is_as_before().await {
                return Err(ToolError::unavailable("it is not as it was"));
            }
        }
        self.disarm(client).await
    }

    /// Whether the rows are as they were.
    pub(super) async fn is_as(&self, client: &RouterClient, base: &Base) -> bool {
        Base::read(client, self.changes).await.is_ok_and(|now| now.hash() == base.hash())
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

/// Writes one change. `id`: of the row that is changed.
///
/// # Errors
/// See [`RouterClient::write`]; `conflict` when the row that an added one stands before is gone.
pub async fn write_change(client: &RouterClient, change: &Change, id: &str) -> Result<(), ToolError> {
    let menu = &change.menu;
    let (method, path, mut fields) = match &change.action {
        Action::Add(..) => (Method::PUT, menu.clone(), body(&change.after())),
        Action::Set(fields) if change.select.is_empty() => (Method::POST, format!("{menu}/set"), body(fields)),
        Action::Set(fields) => {
            let (unset, fields): (Fields, Fields) =
                fields.clone().into_iter().partition(|(name, value)| is_unset(menu, name, value));
            for name in unset.into_keys() {
                let which = [(".id".to_owned(), json!(id)), ("value-name".to_owned(), json!(name))];
                client.write(Method::POST, &format!("{menu}/unset"), &Map::from_iter(which)).await?;
            }
            if fields.is_empty() {
                return Ok(());
            }
            (Method::PATCH, format!("{menu}/{id}"), body(&fields))
        }
        Action::Remove if has_no_switch(menu) => (Method::DELETE, format!("{menu}/{id}"), Map::new()),
        Action::Remove => {
            (Method::PATCH, format!("{menu}/{id}"), Map::from_iter([("disabled".to_owned(), json!("yes"))]))
        }
    };
    if let Action::Add(_, Some(before)) = &change.action {
        let rows = client.get(menu).await?;
        let place = rows.as_array().into_iter().flatten().find(|row| holds(row, before));
        let place = place.ok_or_else(|| {
            ToolError::new(ErrorCode::Conflict, format!("the row of {menu} before which one is added is gone"))
        })?;
        fields.insert("place-before".into(), place[".id"].clone());
    }
    client.write(method, &path, &fields).await.map(|_| ())
}

fn body(fields: &Fields) -> Map<String, Value> {
    fields.iter().map(|(name, value)| (name.clone(), json!(value))).collect()
}

/// Whether a menu has what a change was to make of it.
pub fn is_done(listing: &Value, change: &Change) -> bool {
    let mut wanted = change.after();
    if change.action == Action::Remove {
        wanted.insert("disabled".into(), "yes".into());
    }
    match listing {
        // What is removed is off, or gone.
        Value::Array(rows) if change.action == Action::Remove => {
            let left: Vec<&Value> = rows.iter().filter(|row| holds(row, &change.select)).collect();
            left.is_empty() || left.len() == 1 && !has_no_switch(&change.menu) && holds(left[0], &wanted)
        }
        Value::Array(rows) => rows.iter().filter(|row| holds(row, &wanted)).count() == 1,
        single => holds(single, &wanted),
    }
}
