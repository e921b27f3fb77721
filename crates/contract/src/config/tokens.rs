//! Checks the tables of `[[access.tokens]]`. A wrong value for a hash is never repeated, because it may be the token
//! itself.

use super::{
    found::{LocatedValue, UncheckedValue},
    kind::ROLES,
    owners::NAME_BYTES,
    table_setting::TableSetting,
    token::Sha256,
    words::is_name,
};
use serde_json::Value;
use time::{OffsetDateTime, format_description::well_known::Rfc3339};

/// Maximum number of tokens, because each call compares with all of them; an appliance has fewer users.
const MOST: usize = 100;

/// `access.tokens`.
pub const TOKENS: TableSetting = TableSetting {
    key: "access.tokens",
    noun: "token",
    most: MOST,
    named: true,
    secret: true,
    required: &["name", "sha256", "role"],
    optional: &["owner", "expires", "devices"],
    check_field: |field, found, _| Some(check_field(field, found)?.map_err(|message| (found.at, message))),
    example: "\
#[[access.tokens]]
#name = \"laptop\"
#sha256 = \"<64 hexadecimal digits; raspi-mcp token new prints them>\"
#role = \"ops_rw\"
#expires = 2027-12-31T00:00:00Z
",
};

fn check_field(field: &str, found: &LocatedValue) -> Option<Result<Value, String>> {
    let text = match &found.value {
        UncheckedValue::Text(text) | UncheckedValue::Time(text) => text.as_str(),
        _ => "",
    };
    Some(match field {
        "name" if is_name(text, 64) => Ok(text.into()),
        "name" => Err("access.tokens.name must be 1 to 64 characters from a-z, 0-9, \"_\" and \"-\"".into()),
        "owner" if is_name(text, NAME_BYTES) => Ok(text.into()),
        "owner" => Err("access.tokens.owner must be 1 to 64 characters from a-z, 0-9, \"_\" and \"-\"".into()),
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
        "devices" => devices(found).ok_or_else(|| {
            "access.tokens.devices must be a list of 1 to 100 routers of [[routeros]], like [\"edge\"]; leave it out for all"
                .into()
        }),
        _ => return None,
    })
}

/// Names of routers. Whether there are such routers is not asked: one that is removed takes no token with it.
fn devices(found: &LocatedValue) -> Option<Value> {
    let UncheckedValue::List(items) = &found.value else { return None };
    let name = |item: &LocatedValue| match &item.value {
        UncheckedValue::Text(name) if is_name(name, 63) => Some(Value::from(name.as_str())),
        _ => None,
    };
    (1..=100).contains(&items.len()).then(|| items.iter().map(name).collect()).flatten()
}
