//! Spreads what a whole fleet would do at one moment: after a power failure, or when a window opens.

use super::{DeviceId, window::Windows};
use base::os::{
    Root,
    clock::{self, Zone},
    ids,
};
use ring::rand::{SecureRandom, SystemRandom};
use std::time::Duration;

/// Longest delay after a window has opened.
const WINDOW: Duration = Duration::from_secs(300);
/// How long a device whose clock is not set waits before it looks again. Time servers usually answer within minutes of a start.
const UNSET: Duration = Duration::from_secs(600);

/// This device's share of a delay: from its identity, so that it stays the same and differs from device to device, also among those with
/// one image. At random where there is no identity.
#[derive(Clone, Copy, Debug)]
pub struct Spread(Option<DeviceId>);

impl Spread {
    pub fn of(root: &Root) -> Self {
        Self(ids::machine(root).ok().map(|id| DeviceId::of(&id)))
    }

    /// A delay from zero up to `longest`, which differs per `what`.
    pub fn within(&self, what: &str, longest: Duration) -> Duration {
        let place = self.0.as_ref().map_or_else(random, |id| id.place(what));
        longest * u32::from(place) / 10_000
    }

    /// `None` if `window` is open by the clock of the machine below `root`, which says `unix_seconds`; otherwise how long until that should be
    /// looked at again. By a clock that nobody set no window is open: it shows the hour of the last shutdown.
    pub fn shut(&self, window: &Windows, unix_seconds: i64, root: &Root) -> Option<Duration> {
        if let wait @ Some(_) = wait_for_clock(window, unix_seconds, root) {
            return wait;
        }
        self.wait_for(window, unix_seconds, &clock::zone(root).unwrap_or_else(|_| Zone::utc()))
    }

    /// `None` if `window` is open at `unix_seconds`; otherwise how long this device waits for it. Not all of a fleet begin when it opens, but in the
    /// first five minutes or, of a shorter window, in its first half.
    fn wait_for(&self, window: &Windows, unix_seconds: i64, zone: &Zone) -> Option<Duration> {
        let wait = window.wait(unix_seconds, zone)?;
        let opens = unix_seconds.saturating_add_unsigned(wait);
        let is_open =
            |after: &Duration| window.wait(opens.saturating_add_unsigned(2 * after.as_secs()), zone).is_none();
        let longest = std::iter::successors(Some(WINDOW), |longest| Some(*longest / 2)).take(5).find(is_open);
        Some(Duration::from_secs(wait) + self.within("update.window", longest.unwrap_or_default()))
    }
}

/// How long until a machine whose clock nobody set looks again whether `window` is open; `None` if its clock is set, or no hour matters.
pub fn wait_for_clock(window: &Windows, unix_seconds: i64, root: &Root) -> Option<Duration> {
    (!window.is_always() && !clock::is_set(root, unix_seconds)).then_some(UNSET)
}

fn random() -> u16 {
    let mut bytes = [0; 2];
    // Without random bytes: at once.
    let _ = SystemRandom::new().fill(&mut bytes);
    u16::from_le_bytes(bytes) % 10_000
}

#[cfg(test)]
mod tests {
    use super::{super::window::Window, *};
    use std::collections::BTreeSet;

    /// 200 devices with one image, and their delays in seconds after the window has opened at 02:00.
    fn delays(window: &str) -> Vec<u64> {
        let window = Windows(vec![Window::parse(window).expect("a window")]);
        let midnight = 20_000 * 86_400;
        let one = |n: u32| {
            let spread = Spread(Some(DeviceId::of(&format!("{n:032x}"))));
            let wait = spread.wait_for(&window, midnight, &Zone::utc()).expect("it is shut");
            assert_eq!(Some(wait), spread.wait_for(&window, midnight, &Zone::utc()), "it is always the same");
            wait.as_secs() - 7200
        };
        (0..200).map(one).collect()
    }

    #[test]
    fn two_hundred_devices_begin_in_five_minutes_and_never_after_a_short_window() {
        for (window, most) in [("02:00-05:00", 300), ("02:00-02:07", 150), ("02:00-02:01", 18)] {
            let delays = delays(window);
            let longest = *delays.iter().max().expect("200 delays");
            assert!((most / 2..=most).contains(&longest), "{window}: {longest}");
            // Of ten equal parts of that time none has a third of the fleet, and none has nobody.
            let parts: Vec<u64> = delays.iter().map(|delay| (delay * 10 / (most + 1)).min(9)).collect();
            assert_eq!(parts.iter().collect::<BTreeSet<_>>().len(), 10, "{window}");
            assert!((0..10).all(|part| parts.iter().filter(|one| **one == part).count() < 66), "{window}");
        }
        let open = Windows(vec![Window::parse("00:00-23:59").expect("a window")]);
        assert_eq!(Spread(None).wait_for(&open, 0, &Zone::utc()), None);
    }
}
