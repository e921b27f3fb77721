//! Runs what the scheduler has to run.

use crate::{
    script,
    state::State,
    timers::{interval, plan},
};
use std::time::Duration;

/// Lets the time go on to `until`, and runs what is due on the way.
pub(crate) fn run(state: &mut State, until: Duration) {
    loop {
        let due = state.timers.iter().map(|(id, at)| (*at, *id)).min().filter(|(at, _)| *at <= until);
        let Some((at, id)) = due else { break };
        state.timers.remove(&id);
        state.now = state.now.max(at);
        let Some(at) = state.stored("system/scheduler").iter().position(|row| row.id == id) else { continue };
        let row = &mut state.stored_mut("system/scheduler")[at];
        let runs = row.get("run-count").parse::<u64>().unwrap_or(0) + 1;
        row.set("run-count", runs.to_string());
        let row = row.clone();
        let every = interval(&row);
        plan(state, id, (!every.is_zero()).then(|| state.now + every));
        if let Err(error) = script::run(state, row.get("on-event"), row.get("policy")) {
            state.tell(
                "script,error",
                &format!("executing script from scheduler ({}) failed: {error}", row.get("name")),
            );
        }
    }
    state.now = state.now.max(until);
}
