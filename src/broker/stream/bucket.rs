//! Keys with revisions: the protocol of NATS' key-value buckets, as far as a fleet needs it.

use super::{ANSWER, NO_MESSAGE, Refusal, accepted, unanswered};
use crate::broker::Broker;
use base::error::ToolError;
use serde_json::json;

/// The longest value that is read, in bytes.
const LONGEST: usize = 1 << 20;

/// A value and the revision that it has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptValue {
    pub value: Vec<u8>,
    /// Rises with every change in the bucket; 0 is that of a key that was never written.
    pub revision: u64,
}

impl Broker {
    /// The value of a key, `None` if it was never written. The broker answers for it: what must be authentic is signed.
    ///
    /// # Errors
    /// `failed_precondition` without such a bucket; `unavailable` without an answer.
    pub async fn kept(&self, bucket: &str, key: &str) -> Result<Option<KeptValue>, ToolError> {
        let last = json!({ "last_by_subj": format!("$KV.{bucket}.{key}") });
        let answer = match self.api(&format!("STREAM.MSG.GET.KV_{bucket}"), &last).await {
            Ok(answer) => answer,
            Err(Refusal { number: NO_MESSAGE, .. }) => return Ok(None),
            Err(refusal) => return Err(refusal.into()),
        };
        let message = &answer["message"];
        let value = base::base64url::decode_standard(message["data"].as_str().unwrap_or_default());
        match (value, message["seq"].as_u64()) {
            (Some(value), Some(revision)) if value.len() <= LONGEST => Ok(Some(KeptValue { value, revision })),
            _ => Err(ToolError::unavailable(format!("the broker's answer about {key} has no value and revision"))),
        }
    }

    /// Writes a key if `expected` is its newest revision (0: it was never written). Returns the new revision.
    ///
    /// # Errors
    /// `conflict` if another revision is the newest; `unavailable` without an answer: it may have been written.
    pub async fn keep(&self, bucket: &str, key: &str, value: Vec<u8>, expected: u64) -> Result<u64, ToolError> {
        let subject = format!("$KV.{bucket}.{key}");
        let headers = [("Nats-Expected-Last-Subject-Sequence", expected.to_string())];
        let answer = self.request_with(subject, &headers, value.into(), ANSWER).await;
        let answer = answer.map_err(|failure| unanswered(failure, "a new value").maybe_changed())?;
        let written = accepted(&answer.payload, "a new value")?;
        written["seq"]
            .as_u64()
            .ok_or_else(|| ToolError::unavailable("the broker's answer has no revision").maybe_changed())
    }
}
