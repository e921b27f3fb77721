//! Whether news reaches the owner.

use super::{Finding, Subject};
use crate::notifications::WebhookReport;
use base::clock;
use time::{Duration, OffsetDateTime};

/// A receiver that takes nothing for longer is a finding; a shorter time is a network that was away.
const LONG: Duration = Duration::hours(1);

pub(super) fn check(subject: &Subject) -> Vec<Finding> {
    let about = "notifications";
    let finding = |webhook: &WebhookReport| {
        let since = webhook.failing_since.as_deref().and_then(|since| clock::parse(since).ok());
        let long = since.is_some_and(|since| OffsetDateTime::now_utc() - since > LONG);
        let (name, why) = (&webhook.name, webhook.last_error.as_deref().unwrap_or("it does not say why"));
        if long {
            let since = webhook.failing_since.as_deref().unwrap_or_default();
            return Finding::wrong(
                about,
                format!("the webhook {name} takes no message since {since}: {why}"),
                format!("mend that, then try: raspi-mcp notifications test --to {name}"),
            );
        }
        if since.is_some() {
            return Finding::note(
                about,
                format!("the webhook {name} did not take the last message: {why}"),
                "it is tried again by itself",
            );
        }
        let counts = format!("{} sent, {} given up, {} lost", webhook.sent, webhook.failed, webhook.dropped);
        Finding::ok(about, format!("the webhook {name}: {counts}"))
    };
    subject.webhooks.iter().map(finding).collect()
}
