//! A device in the console's table, and what a person should know of it.

use super::{book::AcceptedStatus, clones::CloneSeen, folder::KnownDevice};
pub use crate::fleet_port::DeviceHealth;
use base::clock::Stamp;
use fleet_protocol::status::StatusAttempt;
use serde_json::{Value, json};
use std::time::Duration;

/// A clock that differs from the broker's by more than this, in ms, is worth a sentence: ten minutes.
const CLOCK_MS: i64 = 600_000;

/// When a device counts as silent.
#[derive(Clone, Copy, Debug)]
pub struct Silence {
    /// Now, in ms since 1970 UTC.
    pub now_ms: i64,
    /// How old a status may be, in ms.
    pub after_ms: i64,
}

/// A device and its newest status.
#[derive(Clone, Copy)]
pub struct DeviceRow<'a> {
    pub device: &'a KnownDevice,
    pub status: Option<&'a AcceptedStatus>,
    pub silence: Silence,
}

impl<'a> DeviceRow<'a> {
    /// When the status was made: the older of the device's clock and the broker's. A broker that delivers an old status
    /// again does not make a dead device look alive.
    pub fn made_ms(&self) -> Option<i64> {
        self.status.map(|status| status.heard_ms.min(status.document.time_ms))
    }

    /// Time until it is silent; `None` if it is.
    pub fn left(&self) -> Option<Duration> {
        let left = self.made_ms()?.saturating_add(self.silence.after_ms).saturating_sub(self.silence.now_ms);
        (left >= 0).then(|| Duration::from_millis(left.unsigned_abs() + 1))
    }

    /// Another machine that was heard with its identity, as lately as a device has to be heard.
    pub fn clone_seen(&self) -> Option<&'a CloneSeen> {
        let clone = self.status?.clone_seen.as_ref()?;
        (clone.heard_ms.saturating_add(self.silence.after_ms) >= self.silence.now_ms).then_some(clone)
    }

    pub fn health(&self) -> DeviceHealth {
        match (self.left(), self.status) {
            (Some(_), Some(_)) if self.clone_seen().is_some() => DeviceHealth::Wrong,
            (Some(_), Some(status)) => match status.document.healthy {
                Some(true) => DeviceHealth::Good,
                Some(false) => DeviceHealth::Wrong,
                None => DeviceHealth::Unknown,
            },
            _ => DeviceHealth::Silent,
        }
    }

    pub fn version(&self) -> Option<&'a str> {
        self.status.map(|status| status.document.version.as_str())
    }

    pub fn attempt(&self) -> Option<&'a StatusAttempt> {
        self.status.and_then(|status| status.document.attempt.as_ref())
    }

    /// The owner's tags, and those of the device's own configuration.
    pub fn tags(&self) -> impl Iterator<Item = &'a str> {
        let own = self.status.map_or(&[][..], |status| &status.document.tags);
        let registry = &self.device.tags;
        let more = own.iter().filter(|tag| !registry.contains(tag));
        registry.iter().chain(more).map(String::as_str)
    }

    /// What is wrong, a sentence each: what the device says, and what can be seen from here.
    pub fn problems(&self) -> Vec<String> {
        let Some(AcceptedStatus { document, heard_ms, .. }) = self.status else {
            return vec![match &self.device.refused {
                None => "it has never sent a status".into(),
                Some(why) => format!("no status under its name counts; the last one was refused: {why}"),
            }];
        };
        let mut problems: Vec<String> = self.clone_seen().map(CloneSeen::sentence).into_iter().collect();
        problems.extend(document.problems.iter().cloned());
        if document.halted {
            problems.push("it is halted: it refuses every change".into());
        }
        let behind = heard_ms.saturating_sub(document.time_ms);
        if behind.abs() > CLOCK_MS {
            let (minutes, which) = (behind.abs() / 60_000, if behind > 0 { "behind" } else { "before" });
            problems.push(format!("its clock is {minutes} min {which} the broker's, or the status is old"));
        }
        problems
    }

    /// For programs: the names are those of `fleet status --inventory`, where it has them.
    pub fn json(&self) -> Value {
        let document = self.status.map(|status| &status.document);
        let slot = document.and_then(|document| {
            document
                .slot
                .as_ref()
                .map(|slot| json!({ "slot": slot, "state": document.state, "version": document.version }))
        });
        let attempt = self.attempt().map(|attempt| {
            json!({
                "version": attempt.version,
                "manifest": attempt.manifest,
                "phase": attempt.phase,
                "reason": attempt.reason,
                "finished_at": Stamp(attempt.time_ms).to_string(),
            })
        });
        let health = self.health();
        json!({
            "name": self.device.name,
            "device": self.device.device,
            "answers": health != DeviceHealth::Silent,
            "health": health.word(),
            "healthy": document.and_then(|document| document.healthy),
            "version": self.version(),
            "server": document.map(|document| &document.server),
            "manifest": document.and_then(|document| document.manifest.as_ref()),
            "counter": document.and_then(|document| document.counter),
            "running": slot,
            "last_attempt": attempt,
            "halted": document.map(|document| document.halted),
            "asks": document.map(|document| document.asks),
            "ring": document.and_then(|document| document.ring.as_ref()),
            "tags": self.tags().collect::<Vec<_>>(),
            "problems": self.problems(),
            "simulated": document.map(|document| document.simulated),
            "generation": document.map(|document| document.generation),
            "sequence": document.map(|document| document.sequence),
            "boot": document.map(|document| &document.boot),
            "made_at": document.map(|document| Stamp(document.time_ms).to_string()),
            "heard_at": self.status.map(|status| Stamp(status.heard_ms).to_string()),
        })
    }
}
