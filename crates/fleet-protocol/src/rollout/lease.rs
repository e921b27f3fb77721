//! Who of several controllers acts: the one whose name the record has. It writes the record every quarter of a minute; each
//! write gives it the next revision. Another one takes over when the revision has not changed for a minute by its own
//! monotonic clock, so no two clocks have to agree. Every write names the revision that it replaces, so of two that take
//! over at once, one fails.

/// Milliseconds without a change after which another controller takes over.
pub const TAKE_OVER_MS: u64 = 60_000;
/// Milliseconds after which the holder writes again.
pub const RENEW_MS: u64 = 15_000;

/// One controller's view.
#[derive(Clone, Debug, Default)]
pub struct LeaseWatch {
    /// The revision, and when it was first seen.
    seen: Option<(u64, u64)>,
}

/// What the controller has to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeaseMove {
    /// It holds the record and may act.
    Act,
    /// The same, and the record has to be written again.
    Renew,
    /// It takes over by writing its name.
    Take,
    /// Another one acts; look again after so many milliseconds.
    Follow { ms: u64 },
}

impl LeaseWatch {
    /// Looks at the record: its revision, and its holder, if it has one. `now_ms` is this controller's monotonic clock.
    pub fn look(&mut self, revision: u64, holder: Option<&str>, me: &str, now_ms: u64) -> LeaseMove {
        let since = match self.seen {
            Some((seen, since)) if seen == revision => since,
            _ => {
                self.seen = Some((revision, now_ms));
                now_ms
            }
        };
        let unchanged = now_ms.saturating_sub(since);
        match holder {
            None => LeaseMove::Take,
            Some(holder) if holder == me && unchanged >= RENEW_MS => LeaseMove::Renew,
            Some(holder) if holder == me => LeaseMove::Act,
            Some(_) if unchanged >= TAKE_OVER_MS => LeaseMove::Take,
            Some(_) => LeaseMove::Follow { ms: TAKE_OVER_MS - unchanged },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_takes_over_after_a_minute_without_a_change_by_its_own_clock() {
        let mut watch = LeaseWatch::default();
        assert_eq!(watch.look(7, Some("a"), "b", 1_000_000), LeaseMove::Follow { ms: 60_000 });
        assert_eq!(watch.look(7, Some("a"), "b", 1_059_999), LeaseMove::Follow { ms: 1 });
        // The holder lives.
        assert_eq!(watch.look(8, Some("a"), "b", 1_060_000), LeaseMove::Follow { ms: 60_000 });
        assert_eq!(watch.look(8, Some("a"), "b", 1_120_000), LeaseMove::Take);
    }

    #[test]
    fn the_holder_writes_every_quarter_of_a_minute() {
        let mut watch = LeaseWatch::default();
        assert_eq!(watch.look(1, Some("a"), "a", 0), LeaseMove::Act);
        assert_eq!(watch.look(1, Some("a"), "a", 14_999), LeaseMove::Act);
        assert_eq!(watch.look(1, Some("a"), "a", 15_000), LeaseMove::Renew);
        assert_eq!(watch.look(2, Some("a"), "a", 15_001), LeaseMove::Act);
    }

    #[test]
    fn a_record_that_nobody_holds_is_taken_at_once() {
        assert_eq!(LeaseWatch::default().look(1, None, "a", 0), LeaseMove::Take);
    }
}
