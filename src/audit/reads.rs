//! Reads the calls of one row of reads, in which each call contains only its differences from the one before.

use super::query::AuditFilter;
use contract::audit::record::rfc3339;
use serde::Deserialize;
use serde_json::{Map, Value, json, value::RawValue};
use std::borrow::Cow;

/// Fields that a call never shares with the one before it (see [`super::batch`]).
const OWN: &[&str] = &["intent", "ts", "message", "duration_ms", "request_id", "correlation_id", "approval"];
/// Occurs only in complete calls: quotes inside strings are escaped.
const WHOLE: &str = "\"kind\":";

/// The calls of one row, oldest first.
#[derive(Deserialize)]
pub(super) struct Reads<'a> {
    #[serde(borrow)]
    calls: Vec<&'a RawValue>,
}

/// One of them: its position, and that of the last complete call before it.
pub(super) struct Found {
    at: usize,
    base: usize,
}

#[derive(Deserialize)]
struct Own<'a> {
    #[serde(borrow)]
    ts: Cow<'a, str>,
}

/// Those shared fields that a filter needs.
#[derive(Deserialize)]
struct Shared<'a> {
    #[serde(borrow)]
    tool: Cow<'a, str>,
    #[serde(borrow)]
    principal: Cow<'a, str>,
    #[serde(borrow)]
    outcome: Cow<'a, str>,
}

impl<'a> Reads<'a> {
    /// `None` if the body is not such a row.
    pub(super) fn parse(body: &'a str) -> Option<Self> {
        serde_json::from_str(body).ok()
    }

    /// The calls that match, oldest first.
    pub(super) fn find(&self, wanted: &NormalizedFilter<'_>) -> Vec<Found> {
        let (mut found, mut base, mut fits) = (Vec::new(), 0, false);
        for (at, call) in self.calls.iter().map(|call| call.get()).enumerate() {
            if call.contains(WHOLE) {
                base = at;
                fits = wanted.fits_all() || serde_json::from_str(call).is_ok_and(|shared| wanted.fits(&shared));
            }
            if fits && wanted.fits_time(call) {
                found.push(Found { at, base });
            }
        }
        found
    }

    /// For each call, whose it is and how many bytes it has.
    pub(super) fn shares(&self) -> impl Iterator<Item = (Cow<'a, str>, usize)> + '_ {
        let mut whose = Cow::Borrowed("");
        self.calls.iter().map(move |call| {
            let call: &'a str = call.get();
            if call.contains(WHOLE)
                && let Ok(shared) = serde_json::from_str::<Shared<'a>>(call)
            {
                whose = shared.principal;
            }
            (whose.clone(), call.len())
        })
    }

    /// One call with all its fields, as record number `seq`.
    pub(super) fn whole(&self, found: &Found, seq: i64) -> Value {
        let parse = |at: usize| serde_json::from_str::<Map<String, Value>>(self.calls[at].get());
        let (Ok(base), Ok(own)) = (parse(found.base), parse(found.at)) else {
            return Value::String(self.calls[found.at].get().to_owned());
        };
        let mut whole = Map::from_iter([("seq".to_owned(), json!(seq))]);
        whole.extend(base.into_iter().filter(|(key, _)| !OWN.contains(&key.as_str()) || own.contains_key(key)));
        whole.extend(own);
        Value::Object(whole)
    }
}

/// A filter in the form in which reads are compared. Times of one format sort as text.
pub(super) struct NormalizedFilter<'a> {
    filter: &'a AuditFilter,
    since: Option<String>,
    until: Option<String>,
}

impl<'a> NormalizedFilter<'a> {
    pub(super) fn of(filter: &'a AuditFilter) -> Self {
        Self { filter, since: filter.since_ms.map(rfc3339), until: filter.until_ms.map(rfc3339) }
    }

    fn fits_all(&self) -> bool {
        let AuditFilter { tool, principal, outcome, .. } = self.filter;
        [tool, principal, outcome].into_iter().all(Option::is_none)
    }

    fn fits(&self, call: &Shared<'_>) -> bool {
        let same = |wanted: &Option<String>, has: &str| wanted.as_ref().is_none_or(|wanted| wanted == has);
        same(&self.filter.tool, &call.tool)
            && same(&self.filter.principal, &call.principal)
            && same(&self.filter.outcome, &call.outcome)
    }

    fn fits_time(&self, call: &str) -> bool {
        if self.since.is_none() && self.until.is_none() {
            return true;
        }
        let Ok(Own { ts }) = serde_json::from_str(call) else { return false };
        self.since.as_ref().is_none_or(|since| *ts >= **since) && self.until.as_ref().is_none_or(|until| *ts < **until)
    }
}
