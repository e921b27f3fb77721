//! `system/scheduler`. An interval counts from when the entry was made or the router was started, whatever the clock does
//! meanwhile; a start that the clock has not reached waits for it, so after a boot in 1970 such an entry does not run. An
//! entry for `startup` runs at the boot if it has no interval.

use crate::{
    clock::{date_and_time, seconds_of},
    duration,
    fault::Fault,
    state::State,
    table::{Row, RowId},
};
use std::time::Duration;

/// How long a reboot takes.
pub const REBOOT: Duration = Duration::from_secs(20);
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

pub(crate) fn interval(row: &Row) -> Duration {
    duration::parse(row.get("interval")).unwrap_or_default()
}

/// Plans an entry that was made or changed.
pub(crate) fn planned(state: &mut State, id: RowId) {
    let Some(row) = state.stored("system/scheduler").iter().find(|row| row.id == id).cloned() else { return };
    let next = next_run(state, &row, state.now);
    plan(state, id, next);
}

pub(crate) fn plan(state: &mut State, id: RowId, next: Option<Duration>) {
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
fn boot(state: &mut State) {
    state.timers.clear();
    for row in state.stored("system/scheduler").to_vec() {
        let at_startup = row.is_enabled() && row.get("start-time") == "startup" && interval(&row).is_zero();
        let next = if at_startup { Some(state.booted) } else { next_run(state, &row, state.booted) };
        plan(state, row.id, next);
    }
}

/// Starts the router anew: what lived in memory alone is gone, and the scheduler begins.
pub(crate) fn reboot(state: &mut State) {
    state.down_until = state.now + REBOOT;
    state.booted = state.down_until;
    if !state.has_battery {
        state.set_clock_at(state.booted, 0);
    }
    for path in ["log", "ip/dns/cache"] {
        state.stored_mut(path).clear();
    }
    state.stored_mut("ip/firewall/address-list").retain(|row| !row.is("dynamic"));
    if state.faults.contains(&Fault::OtherIds) {
        for rows in state.tables.values_mut() {
            let mut ids: Vec<RowId> = rows.iter().map(|row| row.id).collect();
            let by = usize::from(!ids.is_empty());
            ids.rotate_left(by);
            rows.iter_mut().zip(ids).for_each(|(row, id)| row.id = id);
        }
    }
    boot(state);
}
