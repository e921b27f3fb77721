//! Looks at the channel during a trial, which checks everything else each few seconds: an answer counts for the whole trial, and an index
//! that could not be fetched is asked for less and less often.

use crate::UpdateClient;
use std::time::Duration;
use tokio::time::Instant;
use update::health::Probe;

/// First and longest pause after an index that could not be fetched.
const FIRST: Duration = Duration::from_secs(5);
const LONGEST: Duration = Duration::from_secs(60);

/// The last result, and when the channel may be asked again.
#[derive(Default)]
pub(crate) struct ChannelProbe {
    last: Option<Probe>,
    asked: Option<Instant>,
    pause: Duration,
}

impl ChannelProbe {
    /// Whether the channel answers; `None` without a channel.
    pub(crate) async fn probe(&mut self, client: &UpdateClient) -> Option<Probe> {
        let waits = self.asked.is_some_and(|asked| asked.elapsed() < self.pause);
        if !matches!(self.last, Some(Ok(()))) && !waits {
            self.last = client.channel().await;
            self.asked = Some(Instant::now());
            self.pause = (self.pause * 2).clamp(FIRST, LONGEST);
        }
        self.last.clone()
    }
}
