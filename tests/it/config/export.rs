//! The export of settings: everything that was set, and no secret.

use super::Machine;
use contract::config::{Settings, exported};

/// Each is a secret, or a part of one, and in the configuration below.
const SECRETS: [&str; 6] = [
    "8f434346648f6b96df89dda901c5176b10a6d83961dd3c1ac88b59b2dc327aa4",
    "hunter2",
    "a-topic-that-nobody-guesses",
    "topic-of-the-monitoring",
    "--api-key=sesame",
    "open-sesame",
];

const SITE: &str = r#"
tool_names = "dotted"
environment = "lab"

[gpio]
allow = [2, 17]

[policy]
"system.reboot" = "deny"
"gpio.write_pin" = "ask"

[log]
level = "debug"

[exec]
commands = [{ name = "greet", program = "/bin/echo", args = ["it \"works\"", "ä\\n"] }]

[[access.tokens]]
name = "laptop"
sha256 = "8f434346648f6b96df89dda901c5176b10a6d83961dd3c1ac88b59b2dc327aa4"
role = "admin"

[update]
proxy = "http://me:hunter2@proxy.lan:3128"

[[notifications.webhooks]]
name = "phone"
url = "https://ntfy.example.org/a-topic-that-nobody-guesses"
form = "ntfy"

[[notifications.webhooks]]
name = "monitoring"
url = "https://hooks.example.org/topic-of-the-monitoring"

[[agents]]
type = "weather"
kind = "mcp"
program = "/usr/bin/weather"
args = ["--api-key=sesame", "open-sesame"]

[agents.tools.forecast]
tier = "fundamental"
"#;

fn settings(text: &str) -> Settings {
    Machine::new().site(text).starts()
}

#[test]
fn no_secret_of_the_configuration_is_in_an_export() {
    let settings = settings(SITE);
    let all = serde_json::to_string(&settings).unwrap();
    SECRETS
        .iter()
        .for_each(|secret| assert!(all.contains(secret), "{secret} is in no setting: the test shows nothing"));
    let export = exported(&settings, true);
    let text = format!("{export:?}");
    SECRETS.iter().for_each(|secret| assert!(!text.contains(secret), "{secret} in {text}"));
    let mut left_out = export.left_out;
    left_out.sort_unstable();
    assert_eq!(left_out, ["access.tokens", "agents", "notifications.webhooks", "update.proxy"]);
}

#[test]
fn another_machine_with_the_export_has_the_same_settings() {
    let one = settings(SITE);
    let export = exported(&one, true);
    for line in ["tool_names = \"dotted\"", "level = \"debug\"", "allow = [2, 17]", "\"system.reboot\" = \"deny\""] {
        assert!(export.toml.lines().any(|is| is == line), "{line} in {}", export.toml);
    }
    let other = settings(&export.toml);
    assert_eq!(exported(&other, true).toml, export.toml);
    assert_eq!((other.policy, other.gpio, other.exec), (one.policy, one.gpio, one.exec), "{}", export.toml);
}

#[test]
fn the_patterns_of_commands_are_for_some_readers_only() {
    let one = settings(SITE);
    assert!(!one.exec.commands.is_empty(), "the test shows nothing");
    let export = exported(&one, false);
    assert!(!export.toml.contains("commands") && export.left_out.contains(&"exec.commands"), "{export:?}");
}

#[test]
fn without_settings_it_is_empty_but_for_places() {
    let export = exported(&Settings::default_for(&contract::config::Places::system()), true);
    assert_eq!((export.toml.as_str(), export.left_out.len()), ("", 0));
}
