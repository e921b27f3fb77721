//! Whether and how a caller can call a tool now.

use super::{run::Run, run_read::RunRead};
use crate::registry::{context::Context, entry::Entry, listing::is_shown, tool::Tool};

pub(super) struct Access {
    pub enabled: bool,
    /// Why not, and what would change that.
    pub reason: Option<String>,
    /// The tool that calls it, where `tools/list` does not have it.
    pub call_with: Option<&'static str>,
}

impl Access {
    pub fn of(cx: &Context, entry: &Entry) -> Self {
        let (policy, meta) = (cx.services.policy.held(), &entry.meta());
        let lacks = || entry.lacks(&cx.services, &policy, &cx.caller);
        if let Some(refusal) = policy.admit(meta, &cx.caller).err().or_else(lacks) {
            return Self { enabled: false, reason: Some(refusal.advice()), call_with: None };
        }
        let carrier = if meta.effect.is_write() { &Run::META } else { &RunRead::META };
        let is_needed =
            !is_shown(&cx.services.settings, &policy, meta, &cx.caller) && policy.off_for(carrier, None).is_none();
        Self { enabled: true, reason: None, call_with: is_needed.then_some(carrier.name) }
    }
}
