//! `system/scheduler`. An interval counts from when the entry was made or the router was started, whatever the clock does
//! meanwhile; a start that the clock has not reached waits for it, so after a boot in 1970 such an entry does not run. An
//! entry for `startup` runs at the boot if it has no interval.

use crate::{
    derived::date_and_time,
    duration, script,
    state::State,
    table::{Row, RowId},
};
use std::time::Duration;

/// What an entry may do if nothing else is said.
const POLICY: &str = "ftp,reboot,read,write,policy,test,password,sniff,sensitive,romon";

/// Fills in what RouterOS does.
pub(crate) fn complete(state: &State, row: &mut Row) {
    let now = date_and_time(state.clock());
    let (date, time) = now.split_once(' ').unwrap_or_default();
    for (name, value) in [
        ("interval", "0s"),
        ("start-time", time),
        ("policy", POLICY),
        ("run-count", "0"),
        ("on-event", ""),
        ("owner", "raspi"),
    ] {
        row.fields.entry(name).or_insert(value.into());
    }
    if row.get("start-time") != "startup" {
        row.fields.entry("start-date").or_insert(date.into());
    }
}

/// Seconds since 1970 UTC of `2026-11-26` and `08:00:00`.
pub(crate) fn seconds_of(date: &str, time: &str) -> Option<u64> {
    let parts: Vec<u64> = date.split('-').map(|part| part.parse().ok()).collect::<Option<_>>()?;
    let [year, month @ 1..=12, day @ 1..=31] = parts[..] else { return None };
    // Howard Hinnant's days_from_civil.
    let y = year - u64::from(month <= 2);
    let (era, yoe) = (y / 400, y % 400);
    let doy = (153 * (if month > 2 { month - 3 } else { month + 9 }) + 2) / 5 + day - 1;
    let days = (era * 146_097 + yoe * 365 + yoe / 4 - yoe / 100 + doy).checked_sub(719_468)?;
    Some(days * 86_400 + duration::parse(time)?.as_secs())
}

fn interval(row: &Row) -> Duration {
    duration::parse(row.get("interval")).unwrap_or_default()
}

/// Plans an entry that was made or changed.
pub(crate) fn planned(state: &mut State, id: RowId) {
    let Some(row) = state.stored("system/scheduler").iter().find(|row| row.id == id).cloned() else { return };
    let next = next_run(state, &row, state.now);
    plan(state, id, next);
}

fn plan(state: &mut State, id: RowId, next: Option<Duration>) {
    match next {
        Some(next) => state.timers.insert(id, next),
        None => state.timers.remove(&id),
    };
}

fn next_run(state: &State, row: &Row, from: Duration) -> Option<Duration> {
    let every = interval(row);
    let again = (!every.is_zero()).then(|| from + every);
    if !row.is_enabled() {
        return None;
    }
    if row.get("start-time") == "startup" {
        return again;
    }
    let clock = u64::try_from(state.clock_offset + from.as_secs().cast_signed()).unwrap_or(0);
    let start = seconds_of(row.get("start-date"), row.get("start-time")).unwrap_or(clock);
    if start > clock { Some(from + Duration::from_secs(start - clock)) } else { again }
}

/// The router was started: intervals begin anew, and entries for the startup run.
pub(crate) fn boot(state: &mut State) {
    state.timers.clear();
    for row in state.stored("system/scheduler").to_vec() {
        let at_startup = row.is_enabled() && row.get("start-time") == "startup" && interval(&row).is_zero();
        let next = if at_startup { Some(state.booted) } else { next_run(state, &row, state.booted) };
        plan(state, row.id, next);
    }
}

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

/// An entry as it is listed.
pub(crate) fn shown(state: &State, stored: &Row) -> Row {
    let mut row = stored.clone();
    if let Some(next) = state.timers.get(&stored.id) {
        let clock = u64::try_from(state.clock_offset + next.as_secs().cast_signed()).unwrap_or(0);
        row.set("next-run", date_and_time(clock));
    }
    row
}
