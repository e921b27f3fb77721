//! The configuration as text. REST has no console that `/export` could print to, so it is run by `execute`, which answers with
//! what it printed. Secrets are hidden by RouterOS: `show-sensitive` is never asked for.

use super::{
    super::{call::RouterCall, client::RouterClient},
    begun,
};
use base::{clock, error::ToolError};
use serde_json::{Map, Value, json};

/// The whole configuration as the router prints it.
///
/// # Errors
/// See [`super::super::failure`].
pub async fn text(client: &RouterClient) -> Result<String, ToolError> {
    let script = Map::from_iter([("script".to_owned(), json!("/export")), ("as-string".to_owned(), json!(""))]);
    let answer = client.command("execute", &script).await?;
    Ok(answer["ret"].as_str().or(answer[0]["ret"].as_str()).unwrap_or_default().to_owned())
}

/// `get_config_snapshot`: the sections whose path has a word.
///
/// # Errors
/// See [`super::super::failure`].
pub async fn snapshot(client: &RouterClient, call: &RouterCall) -> Result<Map<String, Value>, ToolError> {
    let (whole, topic) = (text(client).await?, call.text("topic"));
    let (mut text, mut is_shown) = (String::new(), true);
    for line in whole.lines() {
        if line.starts_with('/') {
            is_shown = line.split([' ', '/']).any(|word| topic.is_empty() || word == topic);
        }
        if is_shown {
            text += line;
            text += "\n";
        }
    }
    let mut answer = begun(client);
    for (name, value) in [
        ("format", json!("compact")),
        ("size_bytes", json!(text.len())),
        ("config_text", json!(text)),
        ("snapshot_time", json!(clock::now())),
    ] {
        answer.insert(name.into(), value);
    }
    Ok(answer)
}
