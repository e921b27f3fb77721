//! One change: rows are named by what they hold, since ids differ between routers and change with time.

use super::value_forms::is_same;
use base::error::ToolError;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

/// Fields of RouterOS with their texts.
pub type Fields = BTreeMap<String, String>;
/// The fields that a row has to have; empty for a singleton such as `system/identity`.
pub type Selector = Fields;

/// Fields of these names and texts.
pub fn fields(all: &[(&str, &str)]) -> Fields {
    all.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect()
}

/// The menus that a plan may change: those whose changes the scheduler can take back with the policies read and write.
const MENUS: [&str; 21] = [
    "interface",
    "interface/bridge",
    "interface/bridge/port",
    "interface/bridge/vlan",
    "interface/list/member",
    "interface/vlan",
    "interface/wifi",
    "interface/wifi/configuration",
    "interface/wireless",
    "ip/address",
    "ip/dhcp-server",
    "ip/dhcp-server/network",
    "ip/dns",
    "ip/dns/static",
    "ip/firewall/address-list",
    "ip/firewall/filter",
    "ip/firewall/nat",
    "ip/pool",
    "ip/route",
    "system/identity",
    "system/ntp/client",
];
/// Fields that a router keeps and does not show: the inverse of a change to them cannot be made.
const SECRETS: [&str; 7] = [
    "password",
    "passphrase",
    "security.passphrase",
    "wpa2-pre-shared-key",
    "wpa-pre-shared-key",
    "private-key",
    "secret",
];

/// What is done with a row.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// Adds a row with the fields of the selector and these; before the row that the second one selects.
    Add(Fields, Option<Selector>),
    /// Changes these fields.
    Set(Fields),
    /// Takes the row away: it is disabled first, and removed when the change was confirmed. What cannot be disabled is
    /// removed at once, and made again to take that back.
    Remove,
}

/// A change of one row of a menu.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// Such as `ip/firewall/filter`.
    pub menu: String,
    pub select: Selector,
    pub action: Action,
}

impl Change {
    /// Adds a row with the fields of both, at the end.
    pub fn add(menu: &str, select: Selector, more: Fields) -> Self {
        Self { menu: menu.into(), select, action: Action::Add(more, None) }
    }

    pub fn set(menu: &str, select: Selector, to: Fields) -> Self {
        Self { menu: menu.into(), select, action: Action::Set(to) }
    }

    pub fn remove(menu: &str, select: Selector) -> Self {
        Self { menu: menu.into(), select, action: Action::Remove }
    }

    /// Whether it can be taken back, and is written as RouterOS writes names.
    ///
    /// # Errors
    /// `invalid_argument` for a name or value that cannot be written, `failed_precondition` for a change of a secret.
    pub fn check(&self) -> Result<(), ToolError> {
        let given = match &self.action {
            Action::Add(fields, _) | Action::Set(fields) => Some(fields),
            Action::Remove => None,
        };
        let before = if let Action::Add(_, Some(before)) = &self.action { Some(before) } else { None };
        if !MENUS.contains(&self.menu.as_str()) {
            return Err(
                ToolError::invalid(format!("a plan does not change {:?}", self.menu)).with("menus", MENUS.to_vec())
            );
        }
        let all = [Some(&self.select), given, before];
        if let Some(name) = all.into_iter().flatten().flat_map(Fields::keys).find(|name| !is_name(name)) {
            return Err(ToolError::invalid(format!("{name:?} is no name of RouterOS")));
        }
        match (&self.action, given.and_then(|fields| fields.keys().find(|name| SECRETS.contains(&name.as_str())))) {
            (Action::Set(_), Some(secret)) => Err(ToolError::precondition(format!(
                "{} of {} cannot be taken back: a router does not show it",
                secret, self.menu
            ))
            .hint("change it at the router")),
            (Action::Set(fields), None) if fields.is_empty() => Err(ToolError::invalid("a change without a field")),
            (Action::Remove | Action::Add(..), _) if self.select.is_empty() => {
                Err(ToolError::invalid(format!("a row of {} is added or removed by what it holds", self.menu)))
            }
            _ => Ok(()),
        }
    }

    /// The same change; a row that is added has any place.
    pub(super) fn without_place(&self) -> Self {
        let mut change = self.clone();
        if let Action::Add(_, place) = &mut change.action {
            *place = None;
        }
        change
    }

    /// What the row holds afterwards, of what is known.
    pub fn after(&self) -> Fields {
        let mut fields = self.select.clone();
        match &self.action {
            Action::Add(given, _) | Action::Set(given) => fields.extend(given.clone()),
            Action::Remove => {}
        }
        fields
    }
}

fn is_name(text: &str) -> bool {
    !text.is_empty()
        && text.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'-' | b'.'))
}

/// Whether a row of a listing holds what is selected, in whichever form.
pub fn holds(row: &Value, fields: &Fields) -> bool {
    fields.iter().all(|(name, value)| is_same(name, row[name.as_str()].as_str().unwrap_or_default(), value))
}
