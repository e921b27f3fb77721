//! The device's log at the fleet: results of updates, asks, and heads of the audit, signed by the agent.
//!
//! Nothing wakes up for it but an event, and one timer a day. The streams acknowledge nothing (docs/fleet.md), so a message
//! stays in the queue until the broker has answered something else on the same connection, some time later (decision 327).

use super::{FleetDevice, queue::LogQueue};
use crate::broker::{LinkState, RequestFailure};
use agent::operations::{
    asks::{FollowAsks, FollowRequest},
    fleet::{LogRequest, SignLog},
};
use base::{
    clock::Wall,
    error::{ErrorCode, ToolError},
    os::blocking,
};
use bytes::Bytes;
use fleet_protocol::log::LogKind;
use std::{path::PathBuf, time::Duration};
use tokio::time::{Instant, sleep, sleep_until};
use update::job::JobState;

/// Between two looks at the last update: a running one changes many times a second.
const LEAST: Duration = Duration::from_secs(1);
/// After how long an agent that did not answer is asked again.
const AGAIN: Duration = Duration::from_secs(60);
/// Between sending a message and asking whether the broker is still there: it has stored the message by then.
const SETTLED: Duration = Duration::from_secs(10);
/// How long its answer may take.
const ANSWER: Duration = Duration::from_secs(10);
const HOUR: Duration = Duration::from_secs(3_600);
/// Between two heads of the audit.
const DAY: Duration = Duration::from_secs(86_400);

struct DeviceLog<'a> {
    device: &'a FleetDevice,
    file: PathBuf,
    queue: LogQueue,
    /// Whether the last update, and the asks, may have changed.
    look: (bool, bool),
    /// When the next head of the audit is due.
    audit: Instant,
    /// The connection on which messages were sent, how many of the queue's first ones were, and when the broker is asked.
    connection: u64,
    sent: usize,
    ask: Instant,
    wait: Duration,
}

/// Tells as long as it is polled.
pub(super) async fn run(device: &FleetDevice) {
    let (services, mut state) = (&device.services, device.broker.state());
    let mut marks = services.updates.marks();
    let file = services.settings.places.state_dir.join("fleet-log.json");
    let (queue, now) = (LogQueue::load(&file), Instant::now());
    let age = Duration::from_millis(u64::try_from(now_ms().saturating_sub(queue.audit_ms)).unwrap_or(0));
    let mut log = DeviceLog {
        device,
        file,
        queue,
        look: (true, true),
        audit: now + DAY.saturating_sub(age),
        connection: 0,
        sent: 0,
        ask: now,
        wait: SETTLED,
    };
    loop {
        let gathered = log.gather().await.inspect_err(|error| {
            tracing::warn!(target: "fleet", %error, "the fleet's log misses something; the agent is asked again");
        });
        let link = *state.borrow_and_update();
        log.send(link).await;
        let next = if gathered.is_err() { Instant::now() + AGAIN } else { log.audit };
        let next = if link.connected && log.sent > 0 { next.min(log.ask) } else { next };
        tokio::select! {
            () = services.updates.changed(&mut marks) => {
                log.look.0 = true;
                sleep(LEAST).await;
            }
            () = services.notifications.opened().notified() => log.look.1 = true,
            // Its sender lives as long as the broker.
            Ok(()) = state.changed() => {}
            () = sleep_until(next) => {}
        }
    }
}

impl DeviceLog<'_> {
    /// Queues what there is to tell.
    async fn gather(&mut self) -> Result<(), ToolError> {
        let services = &self.device.services;
        let is_running = || services.updates.jobs().newest().is_some_and(|job| job.state == JobState::Running);
        if self.look.0 && !is_running() {
            if self.tell(LogKind::Update, None).await? {
                self.audit = Instant::now();
            }
            self.look.0 = false;
        }
        if self.look.1 {
            let pending = services.agent.call::<FollowAsks>(FollowRequest { known: None }).await?;
            let pending: Vec<String> = pending.into_iter().map(|ask| ask.id).collect();
            for id in &pending {
                if self.queue.wants(id, &pending, now_ms()) {
                    self.tell(LogKind::Ask, Some(id.clone())).await?;
                }
            }
            self.look.1 = false;
        }
        if Instant::now() >= self.audit {
            // The agent knows no chain yet, at first.
            let told = self.tell(LogKind::Audit, None).await?;
            self.audit = Instant::now() + if told { DAY } else { HOUR };
        }
        Ok(())
    }

    /// Has the agent sign a message, and queues it; `false` when there is nothing to tell.
    async fn tell(&mut self, kind: LogKind, ask: Option<String>) -> Result<bool, ToolError> {
        let request = LogRequest { kind, ask, dropped: self.queue.dropped() };
        let message = match self.device.services.agent.call::<SignLog>(request).await {
            Ok(signed) => signed.message,
            Err(error) if error.code == ErrorCode::NotFound => return Ok(false),
            Err(error) => return Err(error),
        };
        let Some(gone) = self.queue.push(message, now_ms()) else { return Ok(false) };
        if let Some(at) = gone {
            self.sent -= usize::from(at < self.sent);
            tracing::warn!(target: "fleet", "too many log messages wait for the broker; one was dropped");
        }
        self.save().await;
        Ok(true)
    }

    /// Sends what was not sent on this connection, and drops what the broker has.
    async fn send(&mut self, link: LinkState) {
        if !link.connected {
            return;
        }
        if link.connections != self.connection {
            (self.connection, self.sent) = (link.connections, 0);
        }
        let FleetDevice { broker, subjects, .. } = self.device;
        let name = &self.device.settings().device;
        while let Some(message) = self.queue.messages.get(self.sent) {
            if broker.publish(subjects.log(name), message.clone().into()).await.is_err() {
                return;
            }
            self.sent += 1;
            (self.ask, self.wait) = (Instant::now() + SETTLED, SETTLED);
        }
        if self.sent == 0 || Instant::now() < self.ask {
            return;
        }
        // Nobody hears this subject. That the broker says so shows that it has read everything before it.
        let answer = broker.request(subjects.down(name, "log"), Bytes::new(), ANSWER).await;
        let is_same = *broker.state().borrow() == link;
        match answer {
            Ok(_) | Err(RequestFailure::Nobody) if is_same => {
                self.queue.messages.drain(..self.sent);
                self.sent = 0;
                self.save().await;
            }
            _ => {
                self.wait = HOUR.min(self.wait * 2);
                self.ask = Instant::now() + self.wait;
            }
        }
    }

    async fn save(&self) {
        let (file, text) = (self.file.clone(), serde_json::to_vec(&self.queue).unwrap_or_default());
        if let Err(error) = blocking::run("fleet log", move |_| LogQueue::save(&file, &text)).await {
            tracing::warn!(target: "fleet", %error, "the next server may tell the fleet's log something twice, or not at all");
        }
    }
}

fn now_ms() -> i64 {
    Wall::system().now_ms()
}
