//! Reports the device's status: when it changes, when it was connected, and from time to time.

use super::FleetDevice;
use agent::operations::fleet::{SignStatus, StatusParts};
use base::error::ToolError;
use ring::rand::{SecureRandom, SystemRandom};
use serde_json::Value;
use std::{future::pending, time::Duration};
use tokio::time::{Instant, sleep, sleep_until};

/// Between two reports of changes: an update reports its progress many times a second.
const LEAST: Duration = Duration::from_secs(1);
/// After how long an agent that did not answer is asked again.
const AGAIN: Duration = Duration::from_secs(60);

/// Reports as long as it is polled.
pub(super) async fn run(device: &FleetDevice) {
    let (mut state, mut halt) = (device.broker.state(), device.services.halt.changes());
    let updates = &device.services.updates;
    let mut marks = updates.marks();
    let mut last = Value::Null;
    let mut connections = 0;
    loop {
        let link = *state.borrow_and_update();
        if !link.connected {
            // Its sender lives as long as the broker.
            if state.changed().await.is_err() {
                return pending().await;
            }
            continue;
        }
        // The broker may have lost what was sent before.
        let force = connections != link.connections;
        let next = match report(device, if force { &Value::Null } else { &last }).await {
            Ok((document, wait)) => {
                (last, connections) = (document, link.connections);
                wait
            }
            Err(error) => {
                tracing::warn!(target: "fleet", %error, "no status could be reported");
                AGAIN
            }
        };
        let until = Instant::now() + next;
        sleep(LEAST).await;
        tokio::select! {
            () = sleep_until(until) => last = Value::Null,
            () = device.report.notified() => last = Value::Null,
            () = updates.changed(&mut marks) => {}
            _ = halt.changed() => {}
            _ = state.changed() => {}
        }
    }
}

/// Has a status signed, and publishes it unless it says the same as `last`. Returns what it says, and when the next one is
/// due.
async fn report(device: &FleetDevice, last: &Value) -> Result<(Value, Duration), ToolError> {
    let services = &device.services;
    let mut problems = services.settings.restricted.clone();
    problems.extend(services.audit.check().err().map(|error| error.into_message()));
    let signed = services.agent.call::<SignStatus>(StatusParts { problems }).await?;
    let minutes = signed.report_minutes.unwrap_or(device.settings().report_minutes);
    let document = signed.message.split('\n').next().unwrap_or_default();
    let mut document: Value = serde_json::from_str(document).unwrap_or_default();
    for changing in ["sequence", "time_ms"] {
        document[changing] = Value::Null;
    }
    if document != *last {
        device.broker.publish(device.subjects.status(&device.settings().device), signed.message.into()).await?;
    }
    Ok((document, about(minutes)))
}

/// This many minutes, a third more or less at random, so that a fleet does not report all at once.
fn about(minutes: u32) -> Duration {
    let mut random = [0; 2];
    // Without random bytes: the shortest time.
    let _ = SystemRandom::new().fill(&mut random);
    let seconds = 60 * u64::from(minutes);
    Duration::from_secs(seconds * 2 / 3 + seconds * 2 / 3 * u64::from(u16::from_le_bytes(random)) / 65_536)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fifteen_minutes_are_ten_to_twenty() {
        for _ in 0..1_000 {
            assert!((600..=1_200).contains(&about(15).as_secs()));
        }
    }
}
