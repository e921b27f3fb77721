//! The agent's own limits on installs and restarts, as data.

use base::error::ToolError;

/// The agent's limits, from its configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UpdateLimits {
    /// Installs begun in any 24 hours.
    pub installs_a_day: u32,
    /// Restarts in any hour.
    pub reboots_an_hour: u32,
}

impl Default for UpdateLimits {
    /// A card survives perhaps a thousand complete writes; an update needs one restart and perhaps two more.
    fn default() -> Self {
        Self { installs_a_day: 6, reboots_an_hour: 6 }
    }
}

const HOUR: i64 = 3_600_000;

pub(super) fn install(limits: UpdateLimits, times: &[i64], now_ms: i64) -> Result<Vec<i64>, ToolError> {
    spend(times, now_ms, 24 * HOUR, limits.installs_a_day, "installs a day")
}

pub(super) fn reboot(limits: UpdateLimits, times: &[i64], now_ms: i64) -> Result<Vec<i64>, ToolError> {
    spend(times, now_ms, HOUR, limits.reboots_an_hour, "restarts an hour")
}

/// `times` with `now` added, and without those that no longer count. A time in the future counts while it is nearer
/// than the window: setting a clock back grants nothing, and a clock that once stood at 2099 blocks nothing.
fn spend(times: &[i64], now_ms: i64, window: i64, most: u32, what: &str) -> Result<Vec<i64>, ToolError> {
    let recent = times.iter().copied().filter(|time| time.abs_diff(now_ms) < window.unsigned_abs());
    let mut recent: Vec<i64> = recent.collect();
    if recent.len() >= most as usize {
        let oldest = recent.iter().copied().min().unwrap_or(now_ms);
        let minutes = oldest.saturating_add(window).saturating_sub(now_ms).max(0).unsigned_abs().div_ceil(60_000);
        return Err(ToolError::exhausted(format!("the agent allows {most} {what}, and there were as many"))
            .with("limit", most)
            .with("retry_after_minutes", minutes)
            .hint(format!("wait {minutes} minutes, or raise the limit in the agent's configuration")));
    }
    recent.push(now_ms);
    Ok(recent)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_is_of_any_window_and_no_clock_gets_around_it() {
        let limits = UpdateLimits { installs_a_day: 2, reboots_an_hour: 1 };
        let one = install(limits, &[], 5 * HOUR).expect("the first");
        let two = install(limits, &one, 6 * HOUR).expect("the second");
        let refused = install(limits, &two, 28 * HOUR).expect_err("the third within a day");
        assert_eq!(refused.details["retry_after_minutes"], 60);
        assert_eq!(install(limits, &two, 29 * HOUR).expect("a day after the first"), [6 * HOUR, 29 * HOUR]);
        // Set back by an hour: no.
        assert!(install(limits, &two, 4 * HOUR).is_err());
        // Recorded when the clock stood in 2099: they do not count.
        assert_eq!(install(limits, &[4_070_908_800_000; 9], 5 * HOUR).expect("now"), [5 * HOUR]);
        assert!(reboot(limits, &reboot(limits, &[], 0).expect("one"), HOUR - 1).is_err());
        assert!(reboot(UpdateLimits { reboots_an_hour: 0, ..limits }, &[], i64::MIN).is_err());
    }
}
