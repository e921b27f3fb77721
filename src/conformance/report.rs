//! Fixtures that say something before they answer.

use super::answer::{Answer, NoArgs, Reply, client, fixture};
use crate::registry::{context::Context, progress::INTERVAL};
use serde_json::json;
use std::time::Duration;

fixture!(Logging, "test_tool_with_logging", "Sends three log messages while it runs.", interactive, logging);
fixture!(
    LoggingOnRequest,
    "test_logging_tool",
    "Sends a log message if the request asks for log messages.",
    interactive,
    logging_on_request
);
fixture!(Progress, "test_tool_with_progress", "Reports progress while it runs.", progress);
fixture!(
    Reconnection,
    "test_reconnection",
    "Answers after a pause, over a resumable stream.",
    interactive,
    reconnection
);

/// Between two log messages, so that they are told apart from the answer.
const PAUSE: Duration = Duration::from_millis(50);
const LOGGER: &str = "conformance";

async fn logging(cx: &Context, _args: NoArgs) -> Reply {
    let client = client(cx)?;
    for message in ["Tool execution started", "Tool processing data", "Tool execution completed"] {
        client.log("info", LOGGER, json!(message)).await;
        tokio::time::sleep(PAUSE).await;
    }
    Ok(Answer::text("Logging test completed"))
}

async fn logging_on_request(cx: &Context, _args: NoArgs) -> Reply {
    // The severest: whatever level the client asks for includes it.
    client(cx)?.log("emergency", LOGGER, json!("logLevel was requested")).await;
    Ok(Answer::text("Logging tool completed"))
}

async fn progress(cx: &Context, _args: NoArgs) -> Reply {
    cx.progress.say(0.0, Some(100.0), "start", "Starting");
    tokio::time::sleep(INTERVAL).await;
    cx.progress.say(50.0, Some(100.0), "work", "Halfway");
    tokio::time::sleep(INTERVAL).await;
    cx.progress.say(100.0, Some(100.0), "done", "Complete");
    Ok(Answer::text("Progress test completed"))
}

async fn reconnection(_cx: &Context, _args: NoArgs) -> Reply {
    tokio::time::sleep(PAUSE * 2).await;
    Ok(Answer::text("Reconnection test completed"))
}
