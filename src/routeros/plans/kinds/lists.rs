//! Lists of addresses whose names begin with `mcp-`: the same entries on every router.

use super::{Kind, matcher};
use crate::routeros::{
    call::RouterCall,
    plan::{Change, Fields, fields},
    plans::seen::{Seen, text},
};
use base::error::ToolError;
use serde_json::Value;
use std::collections::BTreeMap;

pub const MENU: &str = "ip/firewall/address-list";

pub static SYNC: Kind = Kind::new("routeros.config_apply_address_list_sync", &[MENU, "ip/firewall/filter"], build_sync);

fn build_sync(call: &RouterCall, seen: &Seen) -> Result<Vec<Change>, ToolError> {
    let list = call.text("list_name");
    let mut wanted: BTreeMap<String, Option<&str>> = BTreeMap::new();
    for entry in call.args.get("addresses").and_then(Value::as_array).into_iter().flatten() {
        let address = entry_address(text(entry, "address"))?;
        if wanted.insert(address.clone(), entry["comment"].as_str()).is_some() {
            return Err(ToolError::invalid(format!("{address} is named twice")).with("parameter", "addresses"));
        }
    }
    let select = |address: &str| fields(&[("list", list), ("address", address)]);
    let mut changes = Vec::new();
    // Entries with a timeout are somebody's for a while, and stay.
    for row in seen.rows(MENU).filter(|row| row["list"] == list && row["dynamic"] != "true") {
        match wanted.remove(text(row, "address")) {
            None => changes.push(Change::remove(MENU, select(text(row, "address")))),
            Some(Some(comment)) if text(row, "comment") != comment => {
                changes.push(Change::set(MENU, select(text(row, "address")), fields(&[("comment", comment)])));
            }
            Some(_) => {}
        }
    }
    changes.extend(wanted.iter().map(|(address, comment)| {
        let comment = comment.map(|comment| fields(&[("comment", comment)])).unwrap_or_default();
        Change::add(MENU, select(address), comment)
    }));
    Ok(changes)
}

/// An address, a network, a range, or the name of a host, as RouterOS shows it.
///
/// # Errors
/// `invalid_argument`.
pub fn entry_address(text: &str) -> Result<String, ToolError> {
    let is_name = text.contains(|c: char| c.is_ascii_alphabetic())
        && !text.contains(':')
        && text.len() <= 253
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-'));
    match text {
        _ if is_name => Ok(text.to_ascii_lowercase()),
        _ if text.starts_with('!') => {
            Err(ToolError::invalid("an entry of a list is not negated").with("parameter", "address"))
        }
        _ => matcher("address", text),
    }
}

/// Only lists of this kind are changed by tools.
pub const PREFIX: &str = "mcp-";

/// The fields of a new entry.
pub fn entry(list: &str, address: &str, comment: &str) -> Fields {
    let mut entry = fields(&[("list", list), ("address", address)]);
    if !comment.is_empty() {
        entry.insert("comment".into(), comment.into());
    }
    entry
}
