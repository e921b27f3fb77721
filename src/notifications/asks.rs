//! Which asks are told: each once, and so many in an hour.

use std::{collections::VecDeque, time::Duration};
use tokio::time::Instant;

/// Maximum number of messages about asks in an hour. A caller that asks without end would else fill the owner's phone.
pub const MOST_AN_HOUR: usize = 30;
const HOUR: Duration = Duration::from_secs(3600);

/// The asks of the last hour, oldest first.
#[derive(Debug, Default)]
pub struct AskWindow(VecDeque<(Instant, String)>);

/// What to do about an ask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AskVerdict {
    Tell,
    /// It was told: a caller repeats its call to look for the answer.
    Known,
    TooMany,
}

impl AskWindow {
    /// Judges the ask with this id, and remembers it if it is to be told.
    pub fn judge(&mut self, id: &str, now: Instant) -> AskVerdict {
        while self.0.front().is_some_and(|(at, _)| now.duration_since(*at) >= HOUR) {
            self.0.pop_front();
        }
        if self.0.iter().any(|(_, known)| known == id) {
            return AskVerdict::Known;
        }
        if self.0.len() >= MOST_AN_HOUR {
            return AskVerdict::TooMany;
        }
        self.0.push_back((now, id.to_owned()));
        AskVerdict::Tell
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ask_is_told_once_and_thirty_in_an_hour() {
        let (mut window, now) = (AskWindow::default(), Instant::now());
        for number in 0..MOST_AN_HOUR {
            assert_eq!(window.judge(&number.to_string(), now), AskVerdict::Tell);
        }
        assert_eq!(window.judge("0", now), AskVerdict::Known);
        assert_eq!(window.judge("one more", now), AskVerdict::TooMany);
        assert_eq!(window.judge("one more", now + HOUR - Duration::from_millis(1)), AskVerdict::TooMany);
        assert_eq!(window.judge("one more", now + HOUR), AskVerdict::Tell);
    }
}
