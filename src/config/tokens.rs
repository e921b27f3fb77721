//! Checks the tables of `[[access.tokens]]`. What was written for a hash is never repeated: it may be the token itself.

use super::{
    found::{Entry, Found, Written, quoted},
    keys::ROLES,
    kind::{Complaint, Kind, meant},
    token::Sha256,
    words::is_name,
};
use serde_json::{Map, Value};
use time::{OffsetDateTime, format_description::well_known::Rfc3339};

const FIELDS: &[&str] = &["name", "sha256", "role", "expires"];
/// Each call compares against every token; a hundred is more than an appliance has users.
const MOST: usize = 100;

/// The tokens as the settings read them, or every complaint about them.
pub fn check(found: &Found, wrong: &mut Vec<Complaint>) -> Option<Value> {
    let Written::List(items) = &found.value else {
        let expected = Kind::Tokens.expected();
        wrong.push((found.at, format!("access.tokens must be {expected}, not {}", found.kind())));
        return None;
    };
    if items.len() > MOST {
        wrong.push((found.at, format!("access.tokens has {} entries; at most {MOST} are allowed", items.len())));
        return None;
    }
    let before = wrong.len();
    let tokens = items.iter().filter_map(|item| check_token(item, wrong)).collect();
    (wrong.len() == before).then_some(Value::Array(tokens))
}

fn check_token(item: &Found, wrong: &mut Vec<Complaint>) -> Option<Value> {
    let Written::Table(entries) = &item.value else {
        wrong.push((item.at, format!("access.tokens holds {}; write [[access.tokens]] for each token", item.kind())));
        return None;
    };
    let mut token = Map::new();
    for Entry { key, key_at, found } in entries {
        match check_field(key, found) {
            Ok(value) => {
                token.insert(key.clone(), value);
            }
            Err(message) if FIELDS.contains(&key.as_str()) => wrong.push((found.at, message)),
            Err(message) => wrong.push((*key_at, message)),
        }
    }
    for field in FIELDS.iter().filter(|field| **field != "expires") {
        if !entries.iter().any(|entry| entry.key == *field) {
            wrong.push((
                item.at,
                format!("this token has no {field}; every [[access.tokens]] needs name, sha256 and role"),
            ));
        }
    }
    Some(Value::Object(token))
}

fn check_field(field: &str, found: &Found) -> Result<Value, String> {
    let text = match &found.value {
        Written::Text(text) | Written::Time(text) => text.as_str(),
        _ => "",
    };
    match field {
        "name" if is_name(text, 64) => Ok(text.into()),
        "name" => Err("access.tokens.name must be 1 to 64 characters from a-z, 0-9, \"_\" and \"-\"".into()),
        "sha256" => Sha256::from_hex(text).map(|hash| hash.hex().into()).ok_or_else(|| {
            "access.tokens.sha256 must be the 64 hexadecimal digits of the token's SHA-256, never the token itself; \
             \"raspi-mcp token new\" prints both"
                .into()
        }),
        "role" => {
            let mut wrong = Vec::new();
            let value = ROLES.check("access.tokens.role", found, &[], &mut wrong);
            value.ok_or_else(|| wrong.pop().map(|(_, message)| message).unwrap_or_default())
        }
        "expires" if OffsetDateTime::parse(text, &Rfc3339).is_ok() => Ok(text.into()),
        "expires" => Err("access.tokens.expires must be a moment with its zone, like 2027-01-31T12:00:00Z".into()),
        _ => {
            let near = meant(field, FIELDS.iter().copied());
            Err(format!("unknown key {} in [[access.tokens]]{near}", quoted(field)))
        }
    }
}
