//! Changes in words, for a person and for a model.

use super::super::plan::{Action, Base, Change, Fields};
use serde_json::{Map, Value, json};

/// What a row of a menu is called, and the topic it belongs to.
const NOUNS: [(&str, &str, &str); 16] = [
    ("ip/route", "route", "routing"),
    ("ip/firewall/filter", "firewall rule", "firewall"),
    ("ip/firewall/address-list", "entry of an address list", "firewall"),
    ("ip/pool", "pool of addresses", "dhcp"),
    ("ip/dhcp-server/network", "DHCP network", "dhcp"),
    ("ip/dhcp-server", "DHCP server", "dhcp"),
    ("interface/bridge/port", "bridge port", "bridge"),
    ("interface/bridge", "bridge", "bridge"),
    ("interface/wifi/configuration", "wireless configuration", "wireless"),
    ("interface/wifi", "wireless interface", "wireless"),
    ("interface/wireless", "wireless interface", "wireless"),
    ("ip/address", "address", "ip"),
    ("ip/dns", "DNS settings", "dns"),
    ("system/ntp/client", "NTP client", "ntp"),
    ("system/identity", "name of the router", "system"),
    ("interface", "interface", "interface"),
];

fn noun(menu: &str) -> (&'static str, &'static str) {
    NOUNS.iter().find(|(known, ..)| *known == menu).map_or(("row", "system"), |(_, noun, topic)| (*noun, *topic))
}

/// `a=1, b=2`; what is empty is left out.
fn listed(fields: &Fields) -> String {
    let set = fields.iter().filter(|(_, value)| !value.is_empty());
    set.map(|(name, value)| format!("{name} {value}")).collect::<Vec<_>>().join(", ")
}

/// The changes of one router: `{topic, action, old_value?, new_value?, description}`.
pub fn shown(changes: &[Change], base: &Base) -> Vec<Value> {
    changes.iter().enumerate().map(|(at, change)| one(change, base.row(at).map(|row| &row.fields))).collect()
}

fn one(change: &Change, before: Option<&Fields>) -> Value {
    let (noun, topic) = noun(&change.menu);
    let mut shown = Map::from_iter([("topic".to_owned(), json!(topic))]);
    let value = |fields: &Fields| json!(fields);
    let (action, sentence) = match &change.action {
        Action::Add(_, place) => {
            shown.insert("new_value".into(), value(&change.after()));
            let place = place.as_ref().map(placed).unwrap_or_default();
            ("add", format!("Adds a {noun}: {}{place}.", listed(&change.after())))
        }
        Action::Set(fields) => {
            let old: Fields = fields
                .keys()
                .map(|name| (name.clone(), before.and_then(|before| before.get(name)).cloned().unwrap_or_default()))
                .collect();
            let steps: Vec<String> = fields
                .iter()
                .map(|(name, new)| format!("{name} from {} to {}", or_nothing(&old[name]), or_nothing(new)))
                .collect();
            shown.insert("old_value".into(), value(&old));
            shown.insert("new_value".into(), value(fields));
            let which =
                if change.select.is_empty() { String::new() } else { format!(" with {}", listed(&change.select)) };
            ("set", format!("Changes the {noun}{which}: {}.", steps.join(", ")))
        }
        Action::Remove => {
            let old = before.unwrap_or(&change.select);
            shown.insert("old_value".into(), value(old));
            ("remove", format!("Removes the {noun}: {}.", listed(&change.select)))
        }
    };
    shown.insert("action".into(), action.into());
    shown.insert("description".into(), sentence.into());
    Value::Object(shown)
}

/// Before which row one is added. An id says nothing to a person.
fn placed(before: &Fields) -> String {
    let mut known = before.clone();
    known.remove(".id");
    format!("; before the one with {}", listed(&known))
}

fn or_nothing(text: &str) -> &str {
    if text.is_empty() { "nothing" } else { text }
}
