//! Looks at the channel during a trial, which checks everything else each few seconds: an answer counts for the whole trial, and an index
//! that could not be fetched is asked for less and less often. A publisher that is overloaded delays the verdict. It does not cause a bad
//! one: that it answers over TLS shows that the new system's network works.

use crate::{UpdateClient, fetch::is_busy};
use base::error::ToolError;
use std::time::Duration;
use tokio::time::Instant;
use update::health::Probe;

/// First and longest pause after an index that could not be fetched.
const FIRST: Duration = Duration::from_secs(5);
const LONGEST: Duration = Duration::from_secs(60);

/// Number of answers that say "overloaded" after which the channel counts as working.
const BUSY_ENOUGH: u32 = 2;

/// The last result, and when the channel may be asked again.
#[derive(Default)]
pub(crate) struct ChannelProbe {
    last: Option<Result<(), ToolError>>,
    asked: Option<Instant>,
    pause: Duration,
    busy: u32,
}

impl ChannelProbe {
    /// Whether the channel answers; `None` without a channel.
    pub(crate) async fn probe(&mut self, client: &UpdateClient) -> Option<Probe> {
        let waits = self.asked.is_some_and(|asked| asked.elapsed() < self.pause);
        if !matches!(self.last, Some(Ok(()))) && !waits {
            let reached = client.reached_now().await;
            self.record(reached);
        }
        self.verdict()
    }

    fn record(&mut self, reached: Option<Result<(), ToolError>>) {
        self.busy += u32::from(matches!(&reached, Some(Err(error)) if is_busy(error)));
        self.last = reached;
        self.asked = Some(Instant::now());
        self.pause = (self.pause * 2).clamp(FIRST, LONGEST);
    }

    fn verdict(&self) -> Option<Probe> {
        Some(match self.last.as_ref()? {
            Err(error) if self.busy < BUSY_ENOUGH || !is_busy(error) => Err(error.message.clone()),
            _ => Ok(()),
        })
    }

    /// Whether the index was fetched and verified.
    pub(crate) fn is_verified(&self) -> bool {
        matches!(self.last, Some(Ok(())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fetch::BUSY;

    fn answered(probe: &mut ChannelProbe, result: Result<(), ToolError>) -> Option<bool> {
        probe.record(Some(result));
        probe.verdict().map(|verdict| verdict.is_ok())
    }

    fn busy() -> Result<(), ToolError> {
        Err(ToolError::unavailable("it answered 503").with(BUSY, 3600))
    }

    #[test]
    fn an_overloaded_publisher_delays_the_verdict_and_does_not_cause_a_bad_one() {
        let mut probe = ChannelProbe::default();
        assert_eq!(answered(&mut probe, busy()), Some(false));
        assert_eq!(answered(&mut probe, busy()), Some(true));
        assert!(!probe.is_verified());
        // What is not an overload is still a fault, and an overload before it does not hide it.
        assert_eq!(answered(&mut probe, Err(ToolError::unavailable("nothing answers"))), Some(false));
        assert_eq!(answered(&mut probe, Ok(())), Some(true));
        assert!(probe.is_verified());
    }

    #[test]
    fn without_a_channel_there_is_no_verdict() {
        assert_eq!(ChannelProbe::default().verdict(), None);
    }
}
