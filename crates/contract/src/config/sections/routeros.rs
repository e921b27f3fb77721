//! `[[routeros]]`: the MikroTik routers that this machine looks after (docs/routeros.md).

use crate::{
    config::{
        found::{ConfigEntry, LocatedValue, UncheckedValue},
        kind::{Complaint, KnownTools, SettingKind},
        settings::Settings,
        table_setting::TableSetting,
        token::Sha256,
        words::{is_host, is_name},
    },
    meta::{Environment, Tier},
};
use base::dns_label::is_label;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::{collections::BTreeMap, path::PathBuf};

/// The user that talks to the routers on an installed system.
pub const ROUTERS_USER: &str = "raspi-mcp-routeros";
/// The namespace of the tools.
pub const ROUTERS_NAMESPACE: &str = "routeros";
/// Maximum number of routers.
pub const MOST_ROUTERS: usize = 256;
/// Maximum tags of a router, and bytes of a value.
const MOST_TAGS: usize = 16;
const TAG_BYTES: usize = 64;

/// A router.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RouterSetting {
    /// `device_id` of the tools; unique.
    pub name: String,
    /// Host and port of its HTTPS (`www-ssl`).
    pub address: String,
    /// `sha256:` and the fingerprint of the only accepted certificate.
    #[serde(default)]
    pub pin: Option<String>,
    /// PEM file of the accepted authorities, in place of the pin.
    #[serde(default)]
    pub ca: Option<PathBuf>,
    /// The router's user for this machine.
    pub user: String,
    /// File with its password, root's and for nobody else. Its name is that of the credential which systemd passes on.
    pub password_file: PathBuf,
    #[serde(default = "prod")]
    pub environment: Environment,
    #[serde(default)]
    pub tags: BTreeMap<String, String>,
    /// Whether tools of the advanced tier may change it.
    #[serde(default)]
    pub allow_advanced: bool,
    /// Whether plans may be applied to it.
    #[serde(default)]
    pub allow_professional: bool,
}

impl RouterSetting {
    /// Whether a write of this tier is allowed by its configuration.
    pub fn allows(&self, tier: Tier) -> bool {
        match tier {
            Tier::Fundamental => true,
            Tier::Advanced => self.allow_advanced,
            Tier::Professional => self.allow_professional,
        }
    }
}

/// The tier of a tool that writes to routers; `None` for reads and plans, and for tools of other namespaces. By its
/// name, so that the privileged half needs no list: what is applied is professional, single changes are advanced.
pub fn write_tier(tool: &str) -> Option<Tier> {
    let operation = tool.strip_prefix(ROUTERS_NAMESPACE)?.strip_prefix('.')?;
    let begins = |words: &[&str]| words.iter().any(|word| operation.starts_with(word));
    if begins(&["apply_", "config_apply_", "config_rollback_"]) {
        Some(Tier::Professional)
    } else if begins(&["set_", "update_", "add_", "remove_", "flush_", "bandwidth_"]) && operation != "update_device" {
        Some(Tier::Advanced)
    } else {
        None
    }
}

fn prod() -> Environment {
    Environment::Prod
}

/// `routeros`.
pub const ROUTERS: TableSetting = TableSetting {
    key: "routeros",
    noun: "router",
    most: MOST_ROUTERS,
    named: true,
    secret: false,
    required: &["name", "address", "user", "password_file"],
    optional: &["pin", "ca", "environment (prod)", "tags", "allow_advanced (false)", "allow_professional (false)"],
    check_field,
    example: "\
#[[routeros]]
#name = \"edge\"
#address = \"192.168.88.1:443\"
#pin = \"sha256:0f1e2d3c4b5a69788796a5b4c3d2e1f00f1e2d3c4b5a69788796a5b4c3d2e1f0\"
#user = \"raspi-mcp\"
#password_file = \"/etc/raspi-mcp/routeros/edge\"
#environment = \"lab\"
#tags = { site = \"attic\" }
",
};

fn check_field(field: &str, found: &LocatedValue, tools: &KnownTools) -> Option<Result<Value, Complaint>> {
    let name = format!("routeros.{field}");
    let refuse = |expected: &str| Err((found.at, format!("{name} must be {expected}, not {}", found.shown())));
    let by = |kind: SettingKind| kind.check_field(&name, found, tools);
    Some(match (field, &found.value) {
        ("name", UncheckedValue::Text(text)) if is_label(text) => Ok(text.as_str().into()),
        ("name", _) => refuse("1 to 63 of a-z, 0-9 and \"-\", with no \"-\" at either end"),
        ("address", UncheckedValue::Text(text)) if is_address(text) => Ok(text.as_str().into()),
        ("address", _) => refuse("host and port of the router's HTTPS, like \"192.168.88.1:443\""),
        ("pin", UncheckedValue::Text(text)) if is_pin(text) => Ok(text.as_str().into()),
        ("pin", _) => refuse("\"sha256:\" and the 64 hexadecimal digits of a certificate"),
        ("user", UncheckedValue::Text(text)) if is_user(text) => Ok(text.as_str().into()),
        ("user", _) => refuse("1 to 64 printable characters without \":\""),
        ("password_file" | "ca", _) => by(SettingKind::File),
        ("environment", _) => by(SettingKind::Choice(&["prod", "staging", "lab"])),
        ("tags", UncheckedValue::Table(entries)) if entries.len() <= MOST_TAGS => {
            entries.iter().map(tag).collect::<Result<Map<_, _>, _>>().map(Value::Object)
        }
        ("tags", _) => refuse("a table of at most 16 texts, like { site = \"attic\" }"),
        ("allow_advanced" | "allow_professional", _) => by(SettingKind::Bool),
        _ => return None,
    })
}

fn tag(entry: &ConfigEntry) -> Result<(String, Value), Complaint> {
    let value = entry.found.good_text(|text| is_tag_value(text));
    match value.filter(|_| is_name(&entry.key, 32)) {
        Some(value) => Ok((entry.key.clone(), value.into())),
        None => Err((
            entry.key_at,
            format!(
                "a tag of routeros.tags is 1 to 32 of a-z, 0-9, \"_\" and \"-\", with a text of 1 to {TAG_BYTES} bytes on one line"
            ),
        )),
    }
}

/// Whether `text` can be the value of a tag: 1 to 64 bytes without control characters.
pub fn is_tag_value(text: &str) -> bool {
    (1..=TAG_BYTES).contains(&text.len()) && !text.contains(char::is_control)
}

/// Whether `text` is a host with a port.
pub fn is_address(text: &str) -> bool {
    let port = text.rsplit_once(':').map(|(_, port)| port);
    is_host(text) && port.is_some_and(|port| port.parse::<u16>().is_ok_and(|port| port != 0))
}

fn is_pin(text: &str) -> bool {
    let digits = text.strip_prefix("sha256:").map(|digits| digits.replace(':', ""));
    digits.is_some_and(|digits| Sha256::from_hex(&digits).is_some())
}

/// HTTP's Basic scheme ends the name at the first colon (RFC 7617, section 2).
fn is_user(text: &str) -> bool {
    (1..=64).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic() && byte != b':')
}

/// The violated rules of `routeros`.
pub fn faults(settings: &Settings) -> Vec<String> {
    let mut faults = Vec::new();
    let mut files: BTreeMap<_, &str> = BTreeMap::new();
    for router in &settings.routeros {
        let name = router.name.as_str();
        if router.pin.is_some() == router.ca.is_some() {
            faults.push(format!(
                "the router {name} needs one of pin and ca, which says whose certificate is accepted; `raspi-mcp routeros \
                 add` finds the pin"
            ));
        }
        if let Some(other) = files.insert(router.password_file.file_name(), name) {
            faults.push(format!(
                "the routers {other} and {name} have password files of one name; a credential is known by that name"
            ));
        }
    }
    faults
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tier_of_a_write_follows_from_its_name() {
        for (tool, tier) in [
            ("routeros.apply_firewall_plan", Some(Tier::Professional)),
            ("routeros.config_apply_dns_ntp_rollout", Some(Tier::Professional)),
            ("routeros.config_rollback_plan", Some(Tier::Professional)),
            ("routeros.set_system_identity", Some(Tier::Advanced)),
            ("routeros.flush_dns_cache", Some(Tier::Advanced)),
            ("routeros.bandwidth_test", Some(Tier::Advanced)),
            ("routeros.get_system_overview", None),
            ("routeros.plan_add_firewall_rule", None),
            ("routeros.config_plan_dns_ntp_rollout", None),
            ("routerosx.set_system_identity", None),
            ("system.set_hostname", None),
        ] {
            assert_eq!(write_tier(tool), tier, "{tool}");
        }
    }

    #[test]
    fn an_address_has_a_port() {
        for good in ["192.168.88.1:443", "router.lan:8443", "[fe80::1]:443"] {
            assert!(is_address(good), "{good}");
        }
        for bad in ["", "192.168.88.1", "https://192.168.88.1:443", "a:0", "a:99999", ":443", "a b:1", "[::1]"] {
            assert!(!is_address(bad), "{bad}");
        }
    }
}
