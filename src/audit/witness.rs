//! The agent as witness of the chain: it receives the records, signs for those that are trimmed, and names the gaps
//! that an owner accepted.
//!
//! This happens after the call is answered, in one task that exists only while there is work. What could not be sent to
//! the agent is sent later, from the store; nothing waits in memory for it.

use super::{Audit, PreparedRecord, halt::at_the_agent};
use crate::audit::chain::{self, Appended, ChainLimit};
use crate::store::Durability;
use agent::operations::audit::{ExtendAudit, FindPosition, MakeRoom};
use base::{canonical::hex, error::ToolError};
use contract::audit::{AcceptedGap, AuditHead, Beginning, RoomRequest, VerifiedPosition};
use serde_json::json;
use std::{
    collections::BTreeSet,
    mem,
    sync::Arc,
    time::{Duration, Instant},
};

/// Pause between two messages to the agent under load; records of that time are sent together.
const PAUSE: Duration = Duration::from_millis(200);
/// How long a commit waits for room in a full store.
const ROOM: Duration = Duration::from_secs(5);

#[derive(Default)]
pub(super) struct AuditWitness {
    /// The newest head that is on the card and was not sent.
    head: Option<AuditHead>,
    /// The store exceeds its limit.
    over: bool,
    telling: bool,
    /// The agent's last reported position.
    at: Option<(String, VerifiedPosition)>,
    /// Signatures of gaps that were recorded, until the agent has seen the record.
    recorded: BTreeSet<String>,
    /// Why the last message to the agent failed.
    trouble: Option<ToolError>,
}

impl Audit {
    /// Appends `rows`. If the store is full, waits for the agent to sign for room first. `again`: the last commit
    /// failed, so this one waits less for a lock. Returns the new head, the number of the last row, and the rows.
    pub(super) async fn append(
        &self,
        rows: Vec<PreparedRecord>,
        durability: Durability,
        again: bool,
    ) -> Result<(AuditHead, i64, Arc<Vec<PreparedRecord>>), ToolError> {
        let limit = ChainLimit { max_bytes: self.0.max_bytes, witnessed: self.0.agent.is_some() };
        let (rows, began) = (Arc::new(rows), Instant::now());
        loop {
            let these = Arc::clone(&rows);
            let done = self.0.store.run_as(durability, move |connection| {
                if again {
                    connection.busy_timeout(super::IMPATIENCE)?;
                }
                let appended = chain::append(connection, &these, limit);
                if again {
                    connection.busy_timeout(super::PATIENCE)?;
                }
                appended
            });
            if let Appended::Done { head, last, over } = done.await? {
                if over && !mem::replace(&mut self.waiting().witness.over, true) {
                    self.tell();
                }
                return Ok((head, last, rows));
            }
            let room = self.0.room.notified();
            self.waiting().witness.over = true;
            self.tell();
            let waited = tokio::time::timeout(ROOM, room).await;
            if waited.is_err() || began.elapsed() > ROOM || self.waiting().witness.trouble.is_some() {
                break;
            }
        }
        let why = self.waiting().witness.trouble.as_ref().map(|error| error.message.clone());
        let why = why.unwrap_or_else(|| "it has not done so yet".into());
        Err(ToolError::exhausted(format!("the audit is full, and the agent must sign for what may go: {why}"))
            .with("max_bytes", self.0.max_bytes)
            .hint("run `raspi-mcp audit verify`; see that the agent runs: systemctl status raspi-mcp-agent"))
    }

    /// Sends `head`, which is on the card, to the agent.
    pub(super) fn announce(&self, head: AuditHead) {
        self.waiting().witness.head = Some(head);
        self.tell();
    }

    /// Why the agent does not follow the chain, or what it reports missing.
    pub fn doubt(&self) -> Option<String> {
        let waiting = self.waiting();
        let AuditWitness { trouble, at, .. } = &waiting.witness;
        let missing = at.as_ref().and_then(|(_, position)| position.missing.last()).map(|gone| {
            format!("the chain {} is missing, which had {} records: `raspi-mcp audit verify`", gone.chain, gone.seq)
        });
        trouble.as_ref().map(ToolError::advice).or(missing)
    }

    /// Waits until nothing is being sent to the agent.
    pub(super) async fn all_told(&self) {
        loop {
            let told = self.0.told.notified();
            tokio::pin!(told);
            // Registered before the check, so that a notification in between is not missed.
            told.as_mut().enable();
            if !self.waiting().witness.telling {
                return;
            }
            told.await;
        }
    }

    fn tell(&self) {
        if self.0.agent.is_none() || mem::replace(&mut self.waiting().witness.telling, true) {
            return;
        }
        let audit = self.clone();
        base::task::spawn(async move { audit.tell_all().await });
    }

    async fn tell_all(&self) {
        loop {
            let (head, over) = {
                let mut waiting = self.waiting();
                let witness = &mut waiting.witness;
                match (witness.head.take(), mem::take(&mut witness.over)) {
                    (None, false) => {
                        witness.telling = false;
                        self.0.told.notify_waiters();
                        return;
                    }
                    next => next,
                }
            };
            let mut result = match &head {
                Some(head) => self.prove(head).await,
                None => Ok(()),
            };
            if over && result.is_ok() {
                result = self.make_room().await;
            }
            let failed = result.is_err();
            self.heard(result);
            self.0.room.notify_waiters();
            if failed && self.waiting().witness.head.is_none() {
                // The next commit tries again.
                self.waiting().witness.telling = false;
                self.0.told.notify_waiters();
                return;
            }
            self.pause(PAUSE).await;
        }
    }

    fn heard(&self, result: Result<(), ToolError>) {
        let mut waiting = self.waiting();
        let before = mem::replace(&mut waiting.witness.trouble, result.as_ref().err().cloned());
        let Err(error) = result else { return };
        waiting.witness.at = None;
        if before.is_none_or(|before| before.message != error.message) {
            // Not fatal: the chain is stored, and the agent is informed later.
            tracing::warn!(target: "audit", %error, "the agent did not follow the audit");
        }
    }

    /// Sends all records through `head`.
    async fn prove(&self, head: &AuditHead) -> Result<(), ToolError> {
        let Some(agent) = &self.0.agent else { return Ok(()) };
        let known = self.waiting().witness.at.take().filter(|(chain, _)| *chain == head.chain);
        let mut at = match known {
            Some((_, at)) => at,
            None => {
                let (chain, before_seq, hash, _) = self.0.store.look(chain::beginning).await?;
                let store = self.0.store.path().display().to_string();
                agent.call::<FindPosition>(Beginning { chain, store, before_seq, before_hash: hex(&hash) }).await?
            }
        };
        self.agrees(&at).await?;
        while at.seq < head.seq {
            let (from, chain, until) = (at.clone(), head.chain.clone(), head.seq);
            let more = self.0.store.look(move |connection| chain::after(connection, &from, &chain, until)).await?;
            let Some(more) = more else {
                return Err(ToolError::precondition(format!("record {} is not in the store", at.seq + 1))
                    .hint("run `raspi-mcp audit verify`: records were removed"));
            };
            at = agent.call::<ExtendAudit>(more).await?;
        }
        self.agrees(&at).await?;
        let accepted = at.accepted.clone();
        self.waiting().witness.at = Some((head.chain.clone(), at));
        self.note_gaps(accepted).await
    }

    /// Whether the store has the record that the agent saw last.
    async fn agrees(&self, at: &VerifiedPosition) -> Result<(), ToolError> {
        let seq = at.seq;
        let here = self.0.store.look(move |connection| chain::hash_of(connection, seq)).await?;
        if here.is_none_or(|here| hex(&here) == at.hash) {
            return Ok(());
        }
        Err(ToolError::precondition(format!("the agent saw another record {seq} of this chain"))
            .hint("run `raspi-mcp audit verify`: records were rewritten, or an older copy of the store was put back"))
    }

    /// Records the gaps that an owner accepted.
    async fn note_gaps(&self, accepted: Vec<AcceptedGap>) -> Result<(), ToolError> {
        for gap in accepted {
            if !self.waiting().witness.recorded.insert(gap.signature.clone()) {
                continue;
            }
            crate::store::settle(self.0.store.path(), gap.ts_ms);
            let args = json!({
                "chain": gap.last.chain, "seq": gap.last.seq, "hash": gap.last.hash,
                "ts_ms": gap.ts_ms, "signature": gap.signature,
            });
            let record = at_the_agent("audit.accept_gap", &gap.by, args);
            // Not through `commit`, which may be waiting for this task to make room.
            let rows = [record.prepare()];
            let limit = ChainLimit { max_bytes: u64::MAX / 2, witnessed: true };
            let done = self.0.store.run(move |connection| chain::append(connection, &rows, limit)).await;
            match done {
                Ok(Appended::Done { head, .. }) => self.waiting().witness.head = Some(head),
                Ok(Appended::Full) => {}
                Err(error) => {
                    self.waiting().witness.recorded.remove(&gap.signature);
                    return Err(error);
                }
            }
        }
        Ok(())
    }

    /// Deletes the oldest records, as far as the agent signs for it.
    async fn make_room(&self) -> Result<(), ToolError> {
        let Some(agent) = &self.0.agent else { return Ok(()) };
        // The agent signs only for what it has seen, so everything is sent first.
        self.0.store.sync().await?;
        let head = self.0.store.look(chain::head).await?;
        self.prove(&head).await?;
        let (chain, before, _, bytes) = self.0.store.look(chain::beginning).await?;
        let max = self.0.max_bytes;
        if bytes <= max {
            return Ok(());
        }
        let free = bytes - (max - max / 10);
        let checkpoint = agent.call::<MakeRoom>(RoomRequest { chain, first_seq: before + 1, free }).await?;
        match self.0.store.run(move |connection| chain::follow(connection, &checkpoint)).await? {
            Some(head) => {
                self.waiting().witness.head = Some(head);
                Ok(())
            }
            None => Err(ToolError::precondition("the agent signed for records that are not in the store")
                .hint("run `raspi-mcp audit verify`")),
        }
    }
}
