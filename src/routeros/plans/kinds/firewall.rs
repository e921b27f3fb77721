//! Rules of the filter: one is known by what it matches and does, and by its comment; where it stands decides whether it does anything.

use super::{Kind, given, object};
use crate::routeros::{
    call::RouterCall,
    plan::{Action, Change, Fields, holds, place},
    plans::seen::Seen,
};
use base::error::ToolError;
use serde_json::{Map, Value};

const MENU: &str = "ip/firewall/filter";
const APPLY: &str = "routeros.apply_firewall_plan";
const MENUS: &[&str] = &[MENU, "ip/firewall/address-list"];
const FIELDS: [&str; 7] = ["chain", "action", "src_address", "dst_address", "protocol", "dst_port", "comment"];

pub static ADD: Kind = Kind::new(APPLY, MENUS, build_add);
pub static MODIFY: Kind = Kind::new(APPLY, MENUS, build_modify);
pub static REMOVE: Kind = Kind::new(APPLY, MENUS, build_remove);

fn build_add(call: &RouterCall, seen: &Seen) -> Result<Vec<Change>, ToolError> {
    let rule = given(&call.args, &FIELDS)?;
    has_ports(&rule)?;
    let before = match (call.text("place"), object(call, "before")) {
        ("last", None) => None,
        ("first", None) => first(seen, &rule["chain"]),
        ("", Some(before)) => Some(one(seen, "before", before)?),
        _ => {
            return Err(ToolError::invalid(
                "a rule needs one place: place first or last, or the rule that it stands before",
            )
            .with("parameter", "before"));
        }
    };
    Ok(vec![Change { menu: MENU.into(), select: rule, action: Action::Add(Fields::new(), before) }])
}

fn build_modify(call: &RouterCall, seen: &Seen) -> Result<Vec<Change>, ToolError> {
    let to = given(&call.args, &FIELDS)?;
    if to.is_empty() {
        return Err(ToolError::invalid("nothing is to be changed: give a field of the rule"));
    }
    let select = object(call, "rule").map(|rule| given(rule, &FIELDS)).transpose()?.unwrap_or_default();
    let change = Change::set(MENU, select, to);
    // What it has beside what changes counts as well.
    if let Some(row) = seen.rows(MENU).find(|row| holds(row, &change.select)) {
        let row = row.as_object().into_iter().flatten();
        let mut whole: Fields =
            row.filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned()))).collect();
        whole.extend(change.after());
        has_ports(&whole)?;
    }
    Ok(vec![change])
}

fn build_remove(call: &RouterCall, _: &Seen) -> Result<Vec<Change>, ToolError> {
    let select = object(call, "rule").map(|rule| given(rule, &FIELDS)).transpose()?;
    Ok(vec![Change::remove(MENU, select.unwrap_or_default())])
}

/// A port is that of TCP or UDP.
fn has_ports(rule: &Fields) -> Result<(), ToolError> {
    let protocol = rule.get("protocol").map_or("", String::as_str);
    if rule.get("dst-port").is_none_or(String::is_empty) || matches!(protocol, "tcp" | "udp" | "6" | "17") {
        return Ok(());
    }
    Err(ToolError::invalid("dst_port needs protocol tcp or udp").with("parameter", "dst_port"))
}

/// The first rule of a chain that the router does not have of itself.
fn first(seen: &Seen, chain: &str) -> Option<Fields> {
    seen.rows(MENU).find(|row| row["chain"] == chain && row["dynamic"] != "true").map(|row| place(MENU, row))
}

/// The one rule that holds this.
fn one(seen: &Seen, parameter: &str, rule: &Map<String, Value>) -> Result<Fields, ToolError> {
    let select = given(rule, &FIELDS)?;
    let found: Vec<&Value> = seen.rows(MENU).filter(|row| holds(row, &select)).collect();
    let [row] = found[..] else {
        return Err(seen
            .refusal(format!("{} rules are as `{parameter}` says, not one", found.len()))
            .with("parameter", parameter));
    };
    Ok(place(MENU, row))
}
