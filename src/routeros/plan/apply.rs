//! Writes changes, and confirms or takes them back.

use super::{
    super::{client::RouterClient, device::Device},
    base::{Base, menus},
    change::{Action, Change, Fields, holds},
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
const BACK: Duration = Duration::from_secs(5);
/// Between two attempts to reach a router that does not answer.
const AGAIN: Duration = Duration::from_secs(1);

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
}

/// What became of them.
#[derive(Debug)]
pub struct Applied {
    pub outcome: Outcome,
    /// `/export` before anything was written.
    pub before: String,
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
        let before = export(&client).await?;
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
                Ok(Applied { outcome: Outcome::Confirmed, before, after: export(&fresh).await? })
            }
            Err(why) => {
                let fresh = self
                    .take_back(&base, armed + self.timer + BACK)
                    .await
                    .map_err(|error| error.with("cause", why.message.as_str()))?;
                Ok(Applied { outcome: Outcome::TakenBack(why), before, after: export(&fresh).await? })
            }
        }
    }

    fn entries(&self) -> [String; 2] {
        ["timer", "start"].map(|kind| format!("raspi-mcp-{}-{kind}", self.plan))
    }

    /// Gives the inverse to the router's scheduler, and reads it back.
    async fn arm(&self, client: &RouterClient, base: &Base) -> Result<(), ToolError> {
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

    async fn write(&self, client: &RouterClient, base: &Base) -> Result<(), ToolError> {
        for (at, change) in self.changes.iter().enumerate() {
            let written = self.write_one(client, change, base.row(at).map_or("", |row| row.id.as_str())).await;
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

    async fn write_one(&self, client: &RouterClient, change: &Change, id: &str) -> Result<(), ToolError> {
        let menu = &change.menu;
        let (method, path, mut fields) = match &change.action {
            Action::Add(..) => (Method::PUT, menu.clone(), body(&change.after())),
            Action::Set(fields) if change.select.is_empty() => (Method::POST, format!("{menu}/set"), body(fields)),
            Action::Set(fields) => (Method::PATCH, format!("{menu}/{id}"), body(fields)),
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

    /// Reads everything by a new connection, then takes the entries away.
    async fn confirm(&self) -> Result<RouterClient, ToolError> {
        let fresh = RouterClient::new(self.device.clone())?;
        self.all_done(&fresh).await?;
        self.disarm(&fresh).await?;
        // The timer may have been faster.
        self.all_done(&fresh).await?;
        Ok(fresh)
    }

    async fn all_done(&self, client: &RouterClient) -> Result<(), ToolError> {
        let menus = menus(client, self.changes).await?;
        for change in self.changes {
            if !is_done(&menus[change.menu.as_str()], change) {
                return Err(ToolError::precondition(format!("a change of {} did not last", change.menu)));
            }
        }
        Ok(())
    }

    /// Takes the entries of the scheduler away, those that are there.
    async fn disarm(&self, client: &RouterClient) -> Result<(), ToolError> {
        let rows = client.get("system/scheduler").await?;
        let ours = rows
            .as_array()
            .into_iter()
            .flatten()
            .filter(|row| self.entries().iter().any(|name| row["name"] == name.as_str()));
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
    async fn remove(&self, client: &RouterClient, base: &Base) -> Result<(), ToolError> {
        for (at, change) in self.changes.iter().enumerate() {
            if let (Action::Remove, Some(row)) = (&change.action, base.row(at)) {
                client.write(Method::DELETE, &format!("{}/{}", change.menu, row.id), &Map::new()).await?;
            }
        }
        Ok(())
    }

    /// Runs the inverse, or waits until the router has.
    async fn take_back(&self, base: &Base, until: Instant) -> Result<RouterClient, ToolError> {
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
        let is_as_before = async || Base::read(client, self.changes).await.is_ok_and(|now| now == *base);
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

    fn not_back(&self, why: &str) -> ToolError {
        ToolError::unavailable(format!(
            "whether the router {} took the changes back is not known: {why}",
            self.device.id
        ))
        .with("device_id", self.device.id.as_str())
        .with("changed", "unknown")
        .hint("look at the router; its entries of system/scheduler that begin with raspi-mcp- hold the way back")
    }
}

fn body(fields: &Fields) -> Map<String, Value> {
    fields.iter().map(|(name, value)| (name.clone(), json!(value))).collect()
}

/// Whether a menu has what a change was to make of it.
fn is_done(listing: &Value, change: &Change) -> bool {
    let mut wanted = change.after();
    if change.action == Action::Remove {
        wanted.insert("disabled".into(), "yes".into());
    }
    match listing {
        Value::Array(rows) => rows.iter().filter(|row| holds(row, &wanted)).count() == 1,
        single => holds(single, &wanted),
    }
}

/// The whole configuration, without secrets and without the lines that say when it was made.
async fn export(client: &RouterClient) -> Result<String, ToolError> {
    let script = Map::from_iter([("script".to_owned(), json!("/export")), ("as-string".to_owned(), json!(""))]);
    let answer = client.command("execute", &script).await?;
    let text = answer["ret"].as_str().or(answer[0]["ret"].as_str()).unwrap_or_default();
    Ok(text.lines().filter(|line| !line.starts_with('#')).fold(String::new(), |text, line| text + line + "\n"))
}
