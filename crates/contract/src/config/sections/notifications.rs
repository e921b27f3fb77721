//! `[notifications]` and `[[notifications.webhooks]]`: where news of asks and of trouble is sent.

use crate::config::{
    declare::{choice, section},
    found::{LocatedValue, UncheckedValue},
    key::InState,
    kind::{Complaint, KnownTools, SettingKind, count},
    settings::Settings,
    table_setting::TableSetting,
    token::Sha256,
    words::{is_host, is_loopback, is_name},
};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::{net::IpAddr, path::PathBuf};

section! {
    /// News of asks and of trouble, sent to web addresses of the owner (docs/notifications.md). Without a webhook, nothing is sent and
    /// nothing is watched for it.
    [notifications] pub struct NotificationSettings {
        /// The address that messages link to, like "https://pi.local:8444/". Empty: no link.
        page: String = String::new(), SettingKind::Text, InState::Never;
        /// How long a message is sent again while its receiver does not take it. News of an ask ends with the ask.
        retry_hours: u32 = 6, count(1, 48), InState::Lower;
        /// Receivers, one `[[notifications.webhooks]]` each.
        webhooks: Vec<Webhook> = Vec::new(), SettingKind::Tables(&WEBHOOKS), InState::Never;
    }
}

choice! {
    /// `form`: how a message is written.
    pub enum WebhookForm {
        /// A text, with title, priority and tags in headers (ntfy.sh).
        Ntfy = "ntfy",
        Json = "json",
    }
}

choice! {
    /// `events`: what a message is about.
    pub enum NewsKind {
        AskOpened = "ask_opened",
        UpdateFailed = "update_failed",
        UpdateRolledBack = "update_rolled_back",
        CardWorn = "card_worn",
        UnderVoltage = "under_voltage",
        DiskNearlyFull = "disk_nearly_full",
        ThresholdCrossed = "threshold_crossed",
        Halted = "halted",
        /// Of `raspi-mcp fleet serve`; a device tells nothing of other devices.
        DeviceSilent = "device_silent",
        /// Likewise: two machines run with the identity of one device.
        DeviceTwins = "device_twins",
    }
}

impl NewsKind {
    /// Kinds that are found in the samples of a job.
    pub const SAMPLED: [Self; 4] = [Self::CardWorn, Self::UnderVoltage, Self::DiskNearlyFull, Self::ThresholdCrossed];
}

/// A receiver.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Webhook {
    /// The name in reports; unique.
    pub name: String,
    /// Its address may be a secret, such as an ntfy topic; [`Webhook::origin`] is the part that may be shown.
    pub url: String,
    #[serde(default = "json")]
    pub form: WebhookForm,
    /// What it is told. `None`: everything.
    #[serde(default)]
    pub events: Option<Vec<NewsKind>>,
    /// File with a bearer token.
    #[serde(default)]
    pub token_file: Option<PathBuf>,
    /// File with the key of the signature.
    #[serde(default)]
    pub secret_file: Option<PathBuf>,
    /// PEM file of the accepted authorities, in place of the system's.
    #[serde(default)]
    pub ca_file: Option<PathBuf>,
    /// `sha256:` and the fingerprint of the only accepted certificate.
    #[serde(default)]
    pub pin: Option<String>,
    /// Whether `url` may be `http://` to this machine or an address of a private network.
    #[serde(default)]
    pub plain_http: bool,
}

fn json() -> WebhookForm {
    WebhookForm::Json
}

impl Webhook {
    /// Whether it is told of this.
    pub fn wants(&self, kind: NewsKind) -> bool {
        self.events.as_ref().is_none_or(|events| events.contains(&kind))
    }

    /// Scheme, host and port.
    pub fn origin(&self) -> String {
        let (scheme, rest) = self.url.split_once("://").unwrap_or_default();
        format!("{scheme}://{}", host_of(rest))
    }

    fn is_plain(&self) -> bool {
        self.url.starts_with("http://")
    }
}

impl NotificationSettings {
    /// Whether a receiver is told of this.
    pub fn wants(&self, kind: NewsKind) -> bool {
        self.webhooks.iter().any(|webhook| webhook.wants(kind))
    }

    /// In a form that may be shown: addresses without their path, which may be a secret.
    pub fn shown_webhooks(&self) -> Value {
        let shown = self.webhooks.iter().map(|webhook| Webhook { url: webhook.origin(), ..webhook.clone() });
        serde_json::to_value(shown.collect::<Vec<_>>()).unwrap_or_default()
    }
}

/// Maximum number of receivers. Each has a task and a queue.
const MOST: usize = 8;
/// Maximum bytes of an address.
const URL_BYTES: usize = 512;

/// `notifications.webhooks`.
pub const WEBHOOKS: TableSetting = TableSetting {
    key: "notifications.webhooks",
    noun: "webhook",
    most: MOST,
    named: true,
    secret: false,
    required: &["name", "url"],
    optional: &["form (json)", "events", "token_file", "secret_file", "ca_file", "pin", "plain_http (false)"],
    check_field,
    example: "\
#[[notifications.webhooks]]
#name = \"phone\"
#url = \"https://ntfy.example.org/a-topic-that-nobody-guesses\"
#form = \"ntfy\"
#events = [\"ask_opened\", \"update_failed\", \"update_rolled_back\"]
#token_file = \"/etc/raspi-mcp/ntfy-token\"
",
};

fn check_field(field: &str, found: &LocatedValue, tools: &KnownTools) -> Option<Result<Value, Complaint>> {
    let name = format!("notifications.webhooks.{field}");
    let refuse = |expected: &str| Err((found.at, format!("{name} must be {expected}, not {}", found.shown())));
    Some(match (field, &found.value) {
        ("name", UncheckedValue::Text(text)) if is_name(text, 32) => Ok(text.as_str().into()),
        ("name", _) => refuse("1 to 32 characters from a-z, 0-9, \"_\" and \"-\""),
        ("url", UncheckedValue::Text(text)) if is_url(text) => Ok(text.as_str().into()),
        // Not repeated: it may be a secret.
        ("url", _) => Err((
            found.at,
            format!(
                "{name} must look like \"https://ntfy.example.org/topic\", without user name and \"#\", at most {URL_BYTES} bytes"
            ),
        )),
        ("pin", UncheckedValue::Text(text)) if is_pin(text) => Ok(text.as_str().into()),
        ("pin", _) => refuse("\"sha256:\" and the 64 hexadecimal digits of a certificate"),
        ("form", _) => WebhookForm::KIND.check_field(&name, found, tools),
        ("events", _) => events(&name, found, tools),
        ("token_file" | "secret_file" | "ca_file", _) => SettingKind::File.check_field(&name, found, tools),
        ("plain_http", _) => SettingKind::Bool.check_field(&name, found, tools),
        _ => return None,
    })
}

fn events(name: &str, found: &LocatedValue, tools: &KnownTools) -> Result<Value, Complaint> {
    let expected = NewsKind::KIND.expected();
    let UncheckedValue::List(items) = &found.value else {
        return Err((found.at, format!("{name} must be a list of {expected}, not {}", found.shown())));
    };
    if items.is_empty() {
        return Err((found.at, format!("{name} is empty, so this is told nothing; leave it out for everything")));
    }
    items.iter().map(|item| NewsKind::KIND.check_field(name, item, tools)).collect()
}

fn is_pin(text: &str) -> bool {
    let digits = text.strip_prefix("sha256:").map(|digits| digits.replace(':', ""));
    digits.is_some_and(|digits| Sha256::from_hex(&digits).is_some())
}

/// Whether it is `http(s)://host[:port][/path][?query]`: no user name, which would be a secret in this file.
fn is_url(text: &str) -> bool {
    let rest = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
    let plain = |byte: u8| byte.is_ascii_graphic() && !b"\"\\<>@#".contains(&byte);
    text.len() <= URL_BYTES && rest.is_some_and(|rest| is_host(host_of(rest)) && rest.bytes().all(plain))
}

/// Host and port of what follows `://`.
fn host_of(rest: &str) -> &str {
    rest.split(['/', '?']).next().unwrap_or_default()
}

/// The address in `host[:port]`, if it is one and not a name; `localhost` counts as this machine's.
fn address_of(host: &str) -> Option<IpAddr> {
    if let Some((v6, _)) = host.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        return v6.parse().ok();
    }
    let bare = host.split_once(':').map_or(host, |(bare, _)| bare);
    if bare == "localhost" { Some(IpAddr::from([127, 0, 0, 1])) } else { bare.parse().ok() }
}

/// Whether an address belongs to this machine or to a private network (RFC 1918, RFC 4193).
fn is_private(address: IpAddr) -> bool {
    is_loopback(address)
        || match address.to_canonical() {
            IpAddr::V4(v4) => v4.is_private(),
            IpAddr::V6(v6) => v6.is_unique_local(),
        }
}

/// The violated rules between its keys and with other settings, each with its key.
pub fn faults(settings: &Settings) -> Vec<(&'static str, String)> {
    let notifications = &settings.notifications;
    let mut faults = Vec::new();
    if !notifications.page.is_empty() && !is_url(&notifications.page) {
        let message = "notifications.page must look like \"https://pi.local:8444/\", or be \"\"";
        faults.push(("notifications.page", message.to_owned()));
    }
    for webhook in &notifications.webhooks {
        let name = &webhook.name;
        let mut broken = |message: String| faults.push((WEBHOOKS.key, format!("the webhook {name} {message}")));
        let address = address_of(host_of(webhook.url.split_once("://").map_or("", |(_, rest)| rest)));
        if webhook.is_plain() {
            if !webhook.plain_http || !address.is_some_and(is_private) {
                broken(
                    "sends over http://, which can be read and changed on the way: use https://, or set plain_http = true \
                     and write the address of this machine or of a private network in numbers"
                        .into(),
                );
            }
            if webhook.token_file.is_some() && !address.is_some_and(is_loopback) {
                broken("would send its token to another machine unencrypted; use https://".into());
            }
            if webhook.pin.is_some() || webhook.ca_file.is_some() {
                broken("has pin or ca_file, which are about a certificate, and http:// has none".into());
            }
        }
        if webhook.pin.is_some() && webhook.ca_file.is_some() {
            broken("has both pin and ca_file; one says which certificate is accepted".into());
        }
        let sampled = webhook.events.iter().flatten().find(|kind| NewsKind::SAMPLED.contains(kind));
        if let Some(kind) = sampled.filter(|_| !settings.metrics.default_job) {
            let kind = serde_json::to_value(kind).unwrap_or_default();
            broken(format!("wants {kind}, which is found in samples: it needs metrics.default_job = true"));
        }
    }
    faults
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_no_secret_beside_its_path() {
        for good in [
            "https://ntfy.sh/topic",
            "https://ntfy.example.org:8443/a?b=c",
            "http://127.0.0.1:8080/hook",
            "https://[fd00::1]:1/x",
            "https://host",
        ] {
            assert!(is_url(good), "{good}");
        }
        let long = format!("https://host/{}", "x".repeat(URL_BYTES));
        for bad in [
            "",
            "ntfy.sh/topic",
            "ftp://host/",
            "https://",
            "https:///x",
            "https://user:word@host/",
            "https://host/#a",
            "https://host/\r\nX: y",
            "https://host/a b",
            "file:///etc/passwd",
            &long,
        ] {
            assert!(!is_url(bad), "{bad}");
        }
    }

    #[test]
    fn only_addresses_in_numbers_are_known_to_be_near() {
        let near = |host: &str| address_of(host).is_some_and(is_private);
        for host in
            ["localhost:80", "127.0.0.1", "10.1.2.3:9", "192.168.0.7", "[::1]:80", "[fd12::1]", "[::ffff:10.0.0.1]"]
        {
            assert!(near(host), "{host}");
        }
        for host in [
            "ntfy.lan",
            "8.8.8.8",
            "172.32.0.1",
            "[2001:db8::1]:80",
            "127.1",
            "localhost.example.org",
            "169.254.169.254",
        ] {
            assert!(!near(host), "{host}");
        }
    }

    #[test]
    fn what_is_shown_ends_with_the_port() {
        let webhook: Webhook =
            serde_json::from_value(serde_json::json!({"name": "a", "url": "https://host:1/secret?x"})).unwrap();
        assert_eq!(webhook.origin(), "https://host:1");
        let settings = NotificationSettings { webhooks: vec![webhook], ..NotificationSettings::default() };
        assert!(!settings.shown_webhooks().to_string().contains("secret?"));
    }
}
