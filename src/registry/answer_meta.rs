//! `_meta` of an answer: how the call went, beside what it said.

use super::{context::Notes, entry::Entry};
use contract::audit::changed::Changed;
use serde::Serialize;
use std::{borrow::Cow, time::Duration};

/// Typed rather than a JSON value: it is made for every call.
#[derive(Clone, Debug, Serialize)]
pub struct AnswerMeta {
    execution_time_ms: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    correlation_id: Option<String>,
    /// Only where true.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    simulated: bool,
    /// Only of writes: true, false or "unknown".
    #[serde(skip_serializing_if = "Option::is_none")]
    changed: Option<Changed>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cached_age_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    deprecation: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    resource_uri: Option<Cow<'static, str>>,
}

impl AnswerMeta {
    pub(super) fn of(
        entry: &Entry,
        duration: Duration,
        correlation_id: Option<String>,
        notes: &Notes,
        changed: Changed,
    ) -> Self {
        let meta = &entry.meta();
        Self {
            execution_time_ms: (duration.as_secs_f64() * 1e6).round() / 1e3,
            correlation_id,
            simulated: notes.is_simulated(),
            changed: meta.effect.is_write().then_some(changed),
            cached_age_ms: notes.cached_ms(),
            deprecation: meta
                .deprecated
                .map(|deprecated| format!("{} will go away; call {} instead", meta.name, deprecated.replacement)),
            resource_uri: match notes.resource_uri() {
                Some(uri) => Some(Cow::Owned(uri.to_owned())),
                // A form of addresses is none.
                None => meta.resource_uri.filter(|uri| !uri.contains('{')).map(Cow::Borrowed),
            },
        }
    }
}
