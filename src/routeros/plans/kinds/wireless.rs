//! Networks of radios. The old package has them in `interface/wireless`; since 7.13 they are in `interface/wifi`, as a configuration and
//! an interface. Passwords are never set here: a network uses a profile that is on the router.

use super::{Kind, given};
use crate::routeros::{
    call::RouterCall,
    plan::{Action, Change, Fields, fields},
    plans::seen::{Seen, text},
};
use base::error::ToolError;
use serde_json::Value;

const OLD: &str = "interface/wireless";
const NEW: &str = "interface/wifi";
const CONFIGURATION: &str = "interface/wifi/configuration";
const OLD_PROFILES: &str = "interface/wireless/security-profiles";
const NEW_PROFILES: &str = "interface/wifi/security";
const APPLY: &str = "routeros.apply_wireless_plan";
const MENUS: &[&str] = &[
    OLD,
    NEW,
    CONFIGURATION,
    "interface/wireless/security-profiles?.proplist=name,mode",
    "interface/wifi/security?.proplist=name,authentication-types",
];

pub static CREATE: Kind = Kind::new(APPLY, MENUS, build_create);
pub static MODIFY: Kind = Kind::new(APPLY, MENUS, build_modify);
pub static REMOVE: Kind = Kind::new(APPLY, MENUS, build_remove);
pub static RADIO: Kind = Kind::new(APPLY, MENUS, build_radio);

/// Whether this router has the new menus; `false` for the old ones.
fn is_new(seen: &Seen) -> Result<bool, ToolError> {
    if seen.rows(NEW).next().is_some() {
        return Ok(true);
    }
    if seen.rows(OLD).next().is_some() {
        return Ok(false);
    }
    Err(ToolError::missing(format!("the router {} has no radio", seen.device)).with("device_id", seen.device.as_str()))
}

/// A profile has to be there, and to ask for a password.
fn profile(seen: &Seen, name: &str) -> Result<(), ToolError> {
    let menu = if is_new(seen)? { NEW_PROFILES } else { OLD_PROFILES };
    let refused = |why: String| Err(seen.refusal(why).with("parameter", "security_profile"));
    let Some(row) = seen.row(menu, "name", name) else {
        return refused(format!("it has no security profile {name} in {menu}"));
    };
    let is_open = match menu {
        OLD_PROFILES => matches!(text(row, "mode"), "" | "none"),
        _ => text(row, "authentication-types").is_empty(),
    };
    if is_open {
        refused(format!("anyone could join: the security profile {name} asks for no password"))
    } else {
        Ok(())
    }
}

/// The name of a new interface: what of the SSID a name may have.
fn name_of(ssid: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
    format!("mcp-{}", ssid.chars().map(plain).collect::<String>())
}

fn build_create(call: &RouterCall, seen: &Seen) -> Result<Vec<Change>, ToolError> {
    let (ssid, security, master) = (call.text("ssid"), call.text("security_profile"), call.text("interface"));
    profile(seen, security)?;
    let (menu, name) = (if is_new(seen)? { NEW } else { OLD }, name_of(ssid));
    if seen.row(menu, "name", master).is_none_or(|row| !text(row, "master-interface").is_empty()) {
        return Err(seen.refusal(format!("{master} is no radio of it")).with("parameter", "interface"));
    }
    let named = fields(&[("name", &name)]);
    let on = ("disabled", "no");
    let mut changes = radio(call, seen, master)?;
    if menu == OLD {
        let more =
            [("ssid", ssid), ("master-interface", master), ("security-profile", security), ("mode", "ap-bridge"), on];
        changes.push(Change::add(OLD, named, fields(&more)));
        return Ok(changes);
    }
    changes.extend([
        Change::add(CONFIGURATION, named.clone(), fields(&[("ssid", ssid), ("security", security), ("mode", "ap")])),
        Change::add(NEW, named, fields(&[("master-interface", master), ("configuration", &name), on])),
    ]);
    Ok(changes)
}

/// Where an SSID is set: the menu, the row that is known by its name, and what the SSID and the profile are called there.
fn holder<'a>(seen: &'a Seen, ssid: &str) -> Result<(&'static str, &'a Value, [&'static str; 2]), ToolError> {
    let places: [(&'static str, [&'static str; 2]); 3] = [
        (CONFIGURATION, ["ssid", "security"]),
        (NEW, ["configuration.ssid", "security"]),
        (OLD, ["ssid", "security-profile"]),
    ];
    let mut found = places.into_iter().flat_map(|(menu, names)| {
        seen.rows(menu).filter(move |row| row[names[0]] == ssid).map(move |row| (menu, row, names))
    });
    found.next().ok_or_else(|| {
        ToolError::not_found(format!("the router {} has no wireless network {ssid:?}", seen.device))
            .with("device_id", seen.device.as_str())
            .with("parameter", "current_ssid")
    })
}

fn build_modify(call: &RouterCall, seen: &Seen) -> Result<Vec<Change>, ToolError> {
    let (menu, row, [ssid, security]) = holder(seen, call.text("current_ssid"))?;
    let mut to = Fields::new();
    if !call.text("ssid").is_empty() {
        to.insert(ssid.into(), call.text("ssid").into());
    }
    if !call.text("security_profile").is_empty() {
        profile(seen, call.text("security_profile"))?;
        to.insert(security.into(), call.text("security_profile").into());
    }
    let mut changes = radio(call, seen, radio_of(seen, menu, row))?;
    let select = fields(&[("name", text(row, "name"))]);
    match changes.first_mut() {
        // The radio's own network.
        Some(Change { menu: theirs, select: own, action: Action::Set(fields) }) if theirs == menu && *own == select => {
            fields.extend(to);
        }
        _ if to.is_empty() => {}
        _ => changes.push(Change::set(menu, select, to)),
    }
    if changes.is_empty() {
        return Err(ToolError::invalid("nothing is to be changed: give ssid, security_profile, band or channel"));
    }
    Ok(changes)
}

fn build_remove(call: &RouterCall, seen: &Seen) -> Result<Vec<Change>, ToolError> {
    let (menu, row, _) = holder(seen, call.text("ssid"))?;
    let name = text(row, "name");
    let named = |name: &str| fields(&[("name", name)]);
    let of_radio = |row: &&Value| text(row, "master-interface").is_empty();
    let refused =
        |radio: &str| Err(seen.refusal(format!("{radio} is a radio, not an added network: it cannot be removed")));
    if menu != CONFIGURATION {
        return if of_radio(&row) { refused(name) } else { Ok(vec![Change::remove(menu, named(name))]) };
    }
    let users: Vec<&Value> = seen.rows(NEW).filter(|row| row["configuration"] == name).collect();
    if let Some(radio) = users.iter().copied().find(of_radio) {
        return refused(text(radio, "name"));
    }
    let mut changes: Vec<Change> = users.iter().map(|row| Change::remove(NEW, named(text(row, "name")))).collect();
    changes.push(Change::remove(CONFIGURATION, named(name)));
    Ok(changes)
}

fn build_radio(call: &RouterCall, seen: &Seen) -> Result<Vec<Change>, ToolError> {
    let changes = radio(call, seen, call.text("interface"))?;
    if changes.is_empty() {
        return Err(ToolError::invalid("nothing is to be changed: give channel, tx_power or band"));
    }
    Ok(changes)
}

/// What the call says of channel, power and band, as a change of this radio; nothing if it says nothing.
fn radio(call: &RouterCall, seen: &Seen, interface: &str) -> Result<Vec<Change>, ToolError> {
    let is_new = is_new(seen)?;
    let menu = if is_new { NEW } else { OLD };
    let asked = given(&call.args, &["channel", "tx_power", "band"])?;
    let mut to = Fields::new();
    for (name, value) in asked {
        let theirs = match (name.as_str(), is_new) {
            ("channel", true) => "channel.frequency",
            ("channel", false) => "frequency",
            ("band", true) => "channel.band",
            ("tx-power", true) => "configuration.tx-power",
            (same, _) => same,
        };
        to.insert(theirs.into(), value);
    }
    if to.contains_key("tx-power") {
        to.insert("tx-power-mode".into(), "all-rates-fixed".into());
    }
    if to.is_empty() {
        return Ok(Vec::new());
    }
    if seen.row(menu, "name", interface).is_none_or(|row| !text(row, "master-interface").is_empty()) {
        return Err(seen.refusal(format!("{interface} is no radio of it")).with("parameter", "interface"));
    }
    Ok(vec![Change::set(menu, fields(&[("name", interface)]), to)])
}

/// The radio of the network that `row` of `menu` has.
fn radio_of<'a>(seen: &'a Seen, menu: &str, row: &'a Value) -> &'a str {
    let named = text(row, "name");
    let user = if menu == CONFIGURATION { seen.row(NEW, "configuration", named) } else { Some(row) };
    let interface = user.unwrap_or(row);
    match text(interface, "master-interface") {
        "" => text(interface, "name"),
        master => master,
    }
}
