//! `raspi-mcp.toml` on the first partition: configuration by the owner before the first start (docs/first-boot.md).
//!
//! It is accepted completely or not at all. Every fault is reported with its line; secrets in it are never repeated.

use super::{FirstApprovers, Identity, Wifi, backup::sealed, words};
use base::error::ToolError;
use contract::{
    config::{
        APPROVER_KINDS, ConfigEntry, ConfigError, LocatedValue, Origin, SettingKind, TableSetting, TextPosition,
        TokenSetting, UncheckedValue, document, keys, meant, quoted,
    },
    meta::Role,
};
use serde_json::Value;
use update::trust::RootOfTrust;

/// The file's name on partition 1.
pub const FILE: &str = "raspi-mcp.toml";

/// All keys. Those that are also in the configuration have the same meaning and the same checks.
pub const KEYS: [&str; 13] = [
    "name",
    "wifi.ssid",
    "wifi.passphrase",
    "wifi.psk",
    "wifi.country",
    "wifi.hidden",
    "access.tokens",
    "approver",
    "update.channel",
    "update.url",
    "update.mirrors",
    "update.trust",
    "backup.passphrase",
];
/// Judges an approver, given as an object with name, kind, key and perhaps origin.
pub type CheckApprover = fn(&Value) -> Result<(), ToolError>;

/// `[[approver]]`.
const APPROVERS: TableSetting = TableSetting {
    key: "approver",
    noun: "approver",
    most: 16,
    named: true,
    secret: false,
    required: &["name", "kind", "key"],
    optional: &["origin"],
    check_field: |field, found, tools| {
        let (name, kind) = match field {
            "name" => ("approver.name", SettingKind::Text),
            "kind" => ("approver.kind", SettingKind::Choice(APPROVER_KINDS)),
            "key" => ("approver.key", SettingKind::Text),
            "origin" => ("approver.origin", SettingKind::Text),
            _ => return None,
        };
        Some(kind.check_field(name, found, tools))
    },
    example: "",
};

const SECTIONS: [&str; 4] = ["wifi", "access", "update", "backup"];
/// Values of these keys are never repeated.
const SECRETS: [&str; 3] = ["wifi.passphrase", "wifi.psk", "backup.passphrase"];

/// The checked content of the file. Its debug form contains no secret.
#[derive(Clone, Default, PartialEq)]
pub struct Provisioning {
    says: Identity,
    /// What opens the backup beside it.
    passphrase: Option<String>,
}

impl std::fmt::Debug for Provisioning {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Provisioning").field(&self.says).finish()
    }
}

/// The state of reading a file.
struct Reading<'a> {
    product: &'a str,
    approver: CheckApprover,
    says: Identity,
    wifi: Option<Option<TextPosition>>,
    ssid: Option<String>,
    passphrase: Option<String>,
    psk: Option<String>,
    backup: Option<String>,
    faults: Vec<ConfigError>,
}

impl Provisioning {
    /// Reads the file of a machine whose images are of `product`; `approver` judges each approver in it.
    ///
    /// # Errors
    /// All faults, each with its position.
    pub fn parse(bytes: &[u8], product: &str, approver: CheckApprover) -> Result<Self, Vec<ConfigError>> {
        let one = |at, message: String| vec![ConfigError::new(Origin::file(FILE).at(at), message)];
        // The byte order mark that Windows editors add.
        let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        let text = std::str::from_utf8(bytes).map_err(|error| {
            one(None, format!("is not UTF-8 from byte {} on; save it as UTF-8", error.valid_up_to()))
        })?;
        let entries = document(text)
            .map_err(|wrong| wrong.into_iter().flat_map(|(at, message)| one(at, message)).collect::<Vec<_>>())?;
        let (says, faults) = (Identity::default(), Vec::new());
        let (wifi, ssid, passphrase, psk, backup) = (None, None, None, None, None);
        let mut reading = Reading { product, approver, says, wifi, ssid, passphrase, psk, backup, faults };
        reading.table("", &entries);
        reading.together();
        let Reading { says, backup: passphrase, faults, .. } = reading;
        if faults.is_empty() { Ok(Self { says, passphrase }) } else { Err(faults) }
    }

    /// The passphrase that opens the backup beside the file.
    pub fn passphrase(&self) -> Option<&str> {
        self.passphrase.as_deref()
    }

    /// Whether it brings a root of trust.
    pub fn has_trust(&self) -> bool {
        self.says.update.trust.is_some()
    }

    /// Whether it says who approves.
    pub fn has_approvers(&self) -> bool {
        self.says.approvers.is_some()
    }

    /// The identity with the file's values applied; others are unchanged. A token gives it an owner.
    #[must_use]
    pub fn over(&self, identity: &Identity) -> Identity {
        let Self { says, .. } = self;
        let mut next = identity.clone();
        next.name = says.name.clone().or(next.name);
        next.wifi = says.wifi.clone().or(next.wifi);
        next.update.channel = says.update.channel.clone().or(next.update.channel);
        next.update.trust = says.update.trust.clone().or(next.update.trust);
        // Mirrors belong to an address, so they are replaced with it.
        if says.update.url.is_some() {
            next.update.url.clone_from(&says.update.url);
            next.update.mirrors.clone_from(&says.update.mirrors);
        }
        says.tokens.iter().for_each(|token| next.belongs_to(token.clone()));
        if !says.tokens.is_empty() {
            next.approvers = Some(says.approvers.clone().unwrap_or_else(|| FirstApprovers::of(FILE)));
        }
        next
    }
}

impl Reading<'_> {
    fn fault(&mut self, at: Option<TextPosition>, message: impl Into<String>) {
        self.faults.push(ConfigError::new(Origin::file(FILE).at(at), message));
    }

    fn table(&mut self, section: &str, entries: &[ConfigEntry]) {
        for ConfigEntry { key, key_at, found } in entries {
            let name = if section.is_empty() { key.clone() } else { format!("{section}.{key}") };
            match &found.value {
                UncheckedValue::Table(inner) if SECTIONS.contains(&&*name) => {
                    if name == "wifi" {
                        self.wifi = Some(*key_at);
                    }
                    self.table(&name, inner);
                }
                // A misspelt section: the hint for a key is better than one for the section.
                UncheckedValue::Table(inner) if section.is_empty() && !KEYS.contains(&&*name) && !inner.is_empty() => {
                    self.table(&name, inner);
                }
                _ if SECTIONS.contains(&&*name) => {
                    self.fault(*key_at, format!("{name} is a section; write [{name}] and its keys below it"));
                }
                _ => self.value(&name, *key_at, found),
            }
        }
    }

    fn value(&mut self, name: &str, key_at: Option<TextPosition>, found: &LocatedValue) {
        let at = found.at.or(key_at);
        match name {
            "name" => self.says.name = self.text(name, at, found, words::host, words::HOST),
            "wifi.ssid" => self.ssid = self.text(name, at, found, words::ssid, words::SSID),
            "wifi.passphrase" => self.passphrase = self.text(name, at, found, words::passphrase, words::PASSPHRASE),
            "wifi.psk" => self.psk = self.text(name, at, found, words::psk, words::PSK),
            "wifi.country" => {
                let country = self.text(name, at, found, words::country, words::COUNTRY);
                self.wifi_of().country = country.unwrap_or_default();
            }
            "wifi.hidden" => match found.value {
                UncheckedValue::Boolean(hidden) => self.wifi_of().hidden = hidden,
                _ => self.fault(at, format!("wifi.hidden must be true or false, not {}", found.shown())),
            },
            "access.tokens" => {
                if let Some(Ok(tokens)) = self.configured(name, found).map(serde_json::from_value::<Vec<TokenSetting>>)
                {
                    self.tokens(tokens, at);
                }
            }
            "approver" => self.approvers(at, found),
            "update.channel" => {
                self.says.update.channel =
                    self.configured(name, found).and_then(|value| Some(value.as_str()?.to_owned())).filter(|channel| {
                        let good = contract::config::is_name(channel, 64);
                        if !good {
                            let message = "update.channel must be 1 to 64 characters from a-z, 0-9, \"_\" and \"-\"";
                            self.fault(at, message);
                        }
                        good
                    });
            }
            "update.url" => {
                let expected = "an address like \"https://updates.example.org/pi\"";
                let good = |url: &str| url.len() <= 512 && contract::config::sections::update::is_https(url);
                self.says.update.url = self.text(name, at, found, good, expected);
            }
            "update.mirrors" => {
                let mirrors = self.configured(name, found).map(serde_json::from_value::<Vec<String>>);
                self.says.update.mirrors = mirrors.and_then(Result::ok).unwrap_or_default();
                if self.says.update.mirrors.len() > 8 {
                    self.fault(at, "update.mirrors has more than 8 addresses");
                }
            }
            "update.trust" => self.trust(at, found),
            "backup.passphrase" => {
                self.backup = self.text(name, at, found, sealed::is_passphrase, sealed::PASSPHRASE_IS);
            }
            _ => {
                let near = meant(name, KEYS);
                let all = if near.is_empty() { format!("; there are {}", KEYS.join(", ")) } else { near };
                self.fault(key_at, format!("unknown key {}{all}", quoted(name)));
            }
        }
    }

    fn wifi_of(&mut self) -> &mut Wifi {
        self.says.wifi.get_or_insert_default()
    }

    fn text(
        &mut self,
        name: &str,
        at: Option<TextPosition>,
        found: &LocatedValue,
        good: impl Fn(&str) -> bool,
        expected: &str,
    ) -> Option<String> {
        let text = found.good_text(good);
        if text.is_none() {
            let instead = match SECRETS.contains(&name) {
                true => format!("; this is {} that is not", found.kind()),
                false => format!(", not {}", found.shown()),
            };
            self.fault(at, format!("{name} must be {expected}{instead}"));
        }
        text
    }

    /// A key that is also in the configuration, with the same check.
    fn configured(&mut self, name: &str, found: &LocatedValue) -> Option<Value> {
        let mut wrong = Vec::new();
        let value = keys::find(name)?.kind.check(name, found, &[], &mut wrong);
        wrong.into_iter().for_each(|(at, message)| self.fault(at, message));
        value
    }

    /// One token must have the admin role and no expiry, because otherwise the owner could not administer the machine.
    fn tokens(&mut self, tokens: Vec<TokenSetting>, at: Option<TextPosition>) {
        if tokens.len() > 16 {
            return self.fault(at, "there are more than 16 tokens");
        }
        if let Some(twice) =
            tokens.iter().enumerate().find(|(n, one)| tokens[..*n].iter().any(|other| other.name == one.name))
        {
            return self.fault(at, format!("there are two tokens named {}; names must differ", twice.1.name));
        }
        if !tokens.iter().any(|token| token.role == Role::Admin && token.expires.is_none()) {
            return self.fault(at, "no token has the role admin and no end: nobody would own this machine");
        }
        self.says.tokens = tokens;
    }

    /// Checked field by field, and then by the agent's rules.
    fn approvers(&mut self, at: Option<TextPosition>, found: &LocatedValue) {
        let mut wrong = Vec::new();
        let Some(Value::Array(list)) = APPROVERS.check(found, &[], &mut wrong) else {
            return wrong.into_iter().for_each(|(at, message)| self.fault(at, message));
        };
        for (n, approver) in list.iter().enumerate() {
            let number = n + 1;
            if let Err(error) = (self.approver)(approver) {
                self.fault(at, format!("[[approver]] number {number}: {}", error.message));
            }
            if list[..n].iter().any(|one| one["name"] == approver["name"] || one["key"] == approver["key"]) {
                self.fault(at, format!("[[approver]] number {number} has the name or the key of one before it"));
            }
        }
        self.says.approvers = Some(FirstApprovers { list, ..FirstApprovers::of(FILE) });
    }

    /// The text of a signed root of trust. The signature covers its exact bytes, so Windows line endings are converted,
    /// and the text is also tried without trailing newlines.
    fn trust(&mut self, at: Option<TextPosition>, found: &LocatedValue) {
        let UncheckedValue::Text(text) = &found.value else {
            return self.fault(at, format!("update.trust must be the text of a signed root, not {}", found.kind()));
        };
        let plain = text.replace("\r\n", "\n");
        let tries = [plain.as_str(), plain.trim_end_matches('\n')];
        let mut read = tries.iter().map(|text| (text, RootOfTrust::parse(text.as_bytes())));
        let first = read.next();
        match first.into_iter().chain(read).max_by_key(|(_, roots)| roots.is_ok()) {
            Some((text, Ok(roots))) if roots.product() == self.product => {
                self.says.update.trust = Some((*text).to_owned());
            }
            Some((_, Ok(roots))) => {
                let (is, wanted) = (quoted(roots.product()), quoted(self.product));
                self.fault(
                    at,
                    format!("update.trust is for the product {is}, and this machine's images are of {wanted}"),
                );
            }
            Some((_, Err(error))) => self.fault(at, format!("update.trust is no signed root of trust: {error}")),
            None => {}
        }
    }

    /// Rules between the keys.
    fn together(&mut self) {
        let (at, ssid) = (self.wifi.flatten(), self.ssid.take());
        let secret = self.passphrase.is_some() || self.psk.is_some();
        if self.passphrase.is_some() && self.psk.is_some() {
            self.fault(at, "wifi has a passphrase and a psk; write one of them");
        }
        match ssid {
            Some(ssid) => {
                let secret = self.passphrase.take().or(self.psk.take()).unwrap_or_default();
                let wifi = self.wifi_of();
                (wifi.ssid, wifi.secret) = (ssid, secret);
            }
            // A wrong name was already reported.
            None if (self.wifi.is_some() || secret) && self.faults.is_empty() => {
                self.fault(at, "wifi has no ssid: which network is it?");
            }
            None => {}
        }
        if self.says.approvers.is_some() && self.says.tokens.is_empty() && self.faults.is_empty() {
            let message = "approver needs an admin token in the same file: without [[access.tokens]] nobody owns this \
                           machine, and its approvers would be anybody's";
            self.fault(None, message);
        }
        if !self.says.update.mirrors.is_empty() && self.says.update.url.is_none() && self.faults.is_empty() {
            self.fault(None, "update.mirrors are copies of update.url, which is not there");
        }
    }
}
