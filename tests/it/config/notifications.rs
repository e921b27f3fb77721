//! `[notifications]`: to whom news may be sent, and that a fault is told with its place and without the secret in an address.

use super::Machine;
use contract::config::{NewsKind, WebhookForm};

const SITE: &str = "/etc/raspi-mcp/10-site.toml";

fn site(more: &str) -> Machine {
    Machine::new().site(&format!("[[notifications.webhooks]]\nname = \"phone\"\n{more}\n"))
}

#[track_caller]
fn refused(more: &str, place: &str, words: &str) {
    let faults = site(more).refuses();
    let found = faults.iter().any(|fault| fault.starts_with(&format!("{SITE}{place}")) && fault.contains(words));
    assert!(found && !faults.concat().contains("hush"), "{more}: {faults:?}");
}

#[test]
fn nothing_is_sent_unless_it_is_set() {
    let settings = Machine::new().starts().notifications;
    assert!(settings.webhooks.is_empty() && settings.page.is_empty());
    assert!(!settings.wants(NewsKind::AskOpened));
}

#[test]
fn a_webhook_is_told_everything_unless_it_says_what() {
    let all = site("url = \"https://ntfy.sh/hush\"").starts().notifications;
    assert!(NewsKind::SAMPLED.into_iter().all(|kind| all.wants(kind)) && all.wants(NewsKind::AskOpened));
    assert_eq!(all.webhooks[0].form, WebhookForm::Json);
    let some =
        site("url = \"https://ntfy.sh/hush\"\nform = \"ntfy\"\nevents = [\"ask_opened\"]").starts().notifications;
    assert!(some.wants(NewsKind::AskOpened) && !some.wants(NewsKind::UpdateFailed));
    assert_eq!(some.webhooks[0].form, WebhookForm::Ntfy);
}

#[test]
fn each_field_names_itself_and_its_place() {
    refused("", ":1:", "this webhook has no url");
    for url in ["ftp://a/hush", "https://u:hush@a/", "https://a/hush\\r\\nX: y", "ntfy.sh/hush", "https://a/#hush"] {
        refused(&format!("url = \"{url}\""), ":3:", "notifications.webhooks.url must look like");
    }
    let url = "url = \"https://a/hush\"\n";
    refused(&format!("{url}form = \"xml\""), ":4:", "notifications.webhooks.form must be");
    refused(&format!("{url}events = [\"ask_opend\"]"), ":4:", "did you mean \"ask_opened\"?");
    refused(&format!("{url}events = []"), ":4:", "is told nothing");
    refused(&format!("{url}token_file = \"token\""), ":4:", "notifications.webhooks.token_file must be");
    refused(&format!("{url}pin = \"sha256:00\""), ":4:", "notifications.webhooks.pin must be");
    refused(&format!("{url}token = \"hush\""), ":4:", "unknown key \"token\" in [[notifications.webhooks]]");
    refused(&format!("{url}pin = \"sha256:{}\"\nca_file = \"/ca.pem\"", "0".repeat(64)), ":1:", "both pin and ca_file");
}

#[test]
fn http_is_for_this_machine_and_private_networks_when_the_owner_says_so() {
    for url in
        ["http://127.0.0.1:8080/hook", "http://192.168.1.2/hook", "http://[fd00::2]/hook", "http://localhost/hook"]
    {
        refused(&format!("url = \"{url}\""), ":1:", "set plain_http = true");
        site(&format!("url = \"{url}\"\nplain_http = true")).starts();
    }
    for url in ["http://ntfy.sh/hush", "http://8.8.8.8/hush", "http://router.lan/hush", "http://127.1/hush"] {
        refused(&format!("url = \"{url}\"\nplain_http = true"), ":1:", "sends over http://");
    }
    let near = "url = \"http://192.168.1.2/hook\"\nplain_http = true\n";
    refused(&format!("{near}token_file = \"/etc/token\""), ":1:", "unencrypted");
    site("url = \"http://127.0.0.1/hook\"\nplain_http = true\ntoken_file = \"/etc/token\"").starts();
    refused(&format!("{near}ca_file = \"/ca.pem\""), ":1:", "http:// has none");
}

#[test]
fn who_wants_what_is_found_in_samples_needs_samples() {
    let wants = |events: &str| {
        format!(
            "[metrics]\ndefault_job = false\n[[notifications.webhooks]]\nname = \"a\"\nurl = \"https://a/\"\nevents = [\"{events}\"]\n"
        )
    };
    let faults = Machine::new().site(&wants("under_voltage")).refuses();
    assert!(faults.len() == 1 && faults[0].contains("metrics.default_job = true"), "{faults:?}");
    Machine::new().site(&wants("update_failed")).starts();
}

#[test]
fn the_server_cannot_add_one_and_neither_can_a_variable() {
    let state = "[[notifications.webhooks]]\nname = \"a\"\nurl = \"https://a/\"\n";
    let restricted = Machine::new().state(state).restricted();
    assert!(restricted.len() == 1 && restricted[0].contains("notifications.webhooks"), "{restricted:?}");
    let faults = Machine::new().variable("RASPI_MCP__NOTIFICATIONS__WEBHOOKS", "https://a/").refuses();
    assert!(faults.len() == 1 && faults[0].contains("can only be set in a file"), "{faults:?}");
    let page = "RASPI_MCP__NOTIFICATIONS__PAGE";
    let faults = Machine::new().variable(page, "javascript:alert(1)").refuses();
    assert!(faults.len() == 1 && faults[0].contains("notifications.page must look like"), "{faults:?}");
}

#[test]
fn there_are_eight_at_most_and_each_has_its_name() {
    let hook = |name: usize| format!("[[notifications.webhooks]]\nname = \"a{name}\"\nurl = \"https://a/\"\n");
    let text: String = (0..8).map(hook).collect();
    assert_eq!(Machine::new().site(&text).starts().notifications.webhooks.len(), 8);
    let faults = Machine::new().site(&(text + &hook(8))).refuses();
    assert!(faults.len() == 1 && faults[0].contains("at most 8"), "{faults:?}");
    assert_eq!(Machine::new().site(&(hook(1) + &hook(1))).refuses().len(), 1);
}
