//! How the streams of a fleet are set up, and whether they still are.

use super::{NO_STREAM, Refusal};
use crate::broker::Broker;
use base::error::ToolError;
use fleet_protocol::subject::{Subjects, log_stream, rollout_bucket, status_stream};
use serde_json::{Map, Value, json};

/// Bytes of a stream, at most: of statuses (100,000 devices), of logs, of the rollouts.
const STATUS_BYTES: u64 = 256 << 20;
const LOG_BYTES: u64 = 512 << 20;
const BUCKET_BYTES: u64 = 64 << 20;
/// Bytes of a message, at most.
const STATUS_MESSAGE: u64 = 1024;
const LOG_MESSAGE: u64 = 2048;
/// Log messages that are kept of one device, at most: one that sends without end only pushes out its own.
const LOGS_EACH: u64 = 64;
/// Log messages are kept for 180 days, in nanoseconds.
const LOG_AGE: u64 = 180 * 86_400 * 1_000_000_000;
/// Revisions of one key that are kept.
const REVISIONS: u64 = 16;

/// The stream of statuses: the last one of each device.
///
/// No acknowledgements: their subject is chosen by the sender, and the broker itself would write there, for example into
/// another device's status. No purge, no deletion, no roll-up: a header of a message must not remove another's.
pub fn status_shape(fleet: &str) -> Value {
    shape(status_stream(fleet), Subjects::of(fleet).status("*"), (1, STATUS_MESSAGE, STATUS_BYTES, 0), true)
}

/// The stream of results, audit heads and asks.
pub fn log_shape(fleet: &str) -> Value {
    shape(log_stream(fleet), Subjects::of(fleet).log("*"), (LOGS_EACH, LOG_MESSAGE, LOG_BYTES, LOG_AGE), true)
}

/// The bucket of plans and leases. Only consoles may write there, and they need the broker's acknowledgement.
pub fn bucket_shape(fleet: &str) -> Value {
    let bucket = rollout_bucket(fleet);
    let subjects = format!("$KV.{bucket}.>");
    shape(format!("KV_{bucket}"), subjects, (REVISIONS, 1 << 20, BUCKET_BYTES, 0), false)
}

fn shape(name: String, subjects: String, bounds: (u64, u64, u64, u64), no_ack: bool) -> Value {
    let (each, message, bytes, age) = bounds;
    json!({
        "name": name,
        "subjects": [subjects],
        "retention": "limits",
        "storage": "file",
        "discard": "old",
        "num_replicas": 1,
        "max_consumers": -1,
        "max_msgs": -1,
        "max_msgs_per_subject": each,
        "max_msg_size": message,
        "max_bytes": bytes,
        "max_age": age,
        "no_ack": no_ack,
        "deny_delete": true,
        "deny_purge": true,
        "allow_rollup_hdrs": false,
        "allow_direct": false,
    })
}

impl Broker {
    /// Makes a stream that is missing, and corrects one that differs from `wanted`. What `wanted` does not name stays.
    ///
    /// # Errors
    /// `failed_precondition` when the broker refuses, for example because its limits are too small;
    /// `unavailable` without an answer.
    pub async fn ensure_stream(&self, wanted: &Value) -> Result<(), ToolError> {
        let name = name(wanted);
        let (verb, mut config) = match self.stream_config(wanted).await? {
            None => ("CREATE", Map::new()),
            Some(found) if differences(wanted, &found).is_empty() => return Ok(()),
            Some(found) => ("UPDATE", found),
        };
        config.extend(wanted.as_object().cloned().unwrap_or_default());
        let made = self.api(&format!("STREAM.{verb}.{name}"), &Value::Object(config)).await?;
        let other = differences(wanted, made["config"].as_object().unwrap_or(&Map::new()));
        if other.is_empty() {
            return Ok(());
        }
        Err(ToolError::precondition(format!("the broker made the stream {name} otherwise: {}", other.join(", "))))
    }

    /// How a stream differs from `wanted`, a sentence for each setting; `None` if there is no such stream.
    ///
    /// # Errors
    /// `unavailable` without an answer.
    pub async fn compare_stream(&self, wanted: &Value) -> Result<Option<Vec<String>>, ToolError> {
        Ok(self.stream_config(wanted).await?.map(|found| differences(wanted, &found)))
    }

    async fn stream_config(&self, wanted: &Value) -> Result<Option<Map<String, Value>>, ToolError> {
        match self.api(&format!("STREAM.INFO.{}", name(wanted)), &Value::Null).await {
            Ok(mut info) => match info["config"].take() {
                Value::Object(config) => Ok(Some(config)),
                _ => Err(ToolError::unavailable("the broker describes a stream without its configuration")),
            },
            Err(Refusal { number: NO_STREAM, .. }) => Ok(None),
            Err(refusal) => Err(refusal.into()),
        }
    }
}

fn name(shape: &Value) -> &str {
    shape["name"].as_str().unwrap_or_default()
}

/// The broker leaves out what is false or zero.
fn differences(wanted: &Value, found: &Map<String, Value>) -> Vec<String> {
    let absent = |value: &Value| *value == Value::Bool(false) || *value == 0;
    let other = |(key, value): (&String, &Value)| {
        let is = found.get(key);
        let same = is.map_or_else(|| absent(value), |is| is == value);
        (!same).then(|| format!("{key} is {}, not {value}", is.unwrap_or(&Value::Null)))
    };
    wanted.as_object().into_iter().flatten().filter_map(other).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_broker_leaves_out_is_no_difference_and_a_permitted_purge_is_one() {
        let wanted = status_shape("home");
        let mut found = wanted.as_object().cloned().expect("an object");
        found.remove("allow_rollup_hdrs");
        found.remove("max_age");
        found.insert("duplicate_window".into(), json!(120));
        assert!(differences(&wanted, &found).is_empty());
        found.remove("deny_purge");
        assert_eq!(differences(&wanted, &found), ["deny_purge is null, not true"]);
    }
}
