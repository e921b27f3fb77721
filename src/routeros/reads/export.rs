//! The configuration as text. REST has no console that `/export` could print to, so it is run by `execute`, which answers with
//! what it printed. Secrets are hidden by RouterOS: `show-sensitive` is never asked for, and what looks like one is left out.

use super::{
    super::{call::RouterCall, client::RouterClient},
    begun,
};
use base::{clock, error::ToolError};
use serde_json::{Map, Value, json};

/// Menus whose lines are programs: anything may be written in them.
const PROGRAMS: [&str; 2] = ["/system script", "/system scheduler"];
/// A router's `/export` leaves these out; an old one, or one that was told so, may not.
const SECRETS: [&str; 7] =
    ["password=", "passphrase=", "secret=", "pre-shared-key=", "private-key=", "auth-key=", "encryption-key="];

/// The whole configuration as the router prints it, without programs and secrets.
///
/// # Errors
/// See [`super::super::failure`].
pub async fn text(client: &RouterClient) -> Result<String, ToolError> {
    let script = Map::from_iter([("script".to_owned(), json!("/export")), ("as-string".to_owned(), json!(""))]);
    let answer = client.command("execute", &script).await?;
    Ok(without_secrets(answer["ret"].as_str().or(answer[0]["ret"].as_str()).unwrap_or_default()))
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

/// What may be shown and kept of an export.
fn without_secrets(text: &str) -> String {
    let (mut kept, mut is_kept) = (String::with_capacity(text.len()), true);
    for line in text.lines() {
        if line.starts_with('/') {
            is_kept = !PROGRAMS.iter().any(|menu| line.trim_end() == *menu);
        }
        // Long lines go on in the next one, so a secret could: the rest of such a command is left out.
        if is_kept {
            let secret = SECRETS.iter().filter_map(|name| line.find(name).map(|at| at + name.len())).min();
            kept.push_str(secret.map_or(line, |at| &line[..at]));
            kept.push_str(if secret.is_some() { "(left out)\n" } else { "\n" });
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_and_secrets_are_left_out() {
        let text = "# 2026 by RouterOS\n/ip pool\nadd name=a\n/system script\nadd source=\":put 1\"\n/user\nadd name=b password=c group=d\n";
        assert_eq!(
            without_secrets(text),
            "# 2026 by RouterOS\n/ip pool\nadd name=a\n/user\nadd name=b password=(left out)\n"
        );
    }
}
