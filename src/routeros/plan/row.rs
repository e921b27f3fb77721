//! What of a row its owner wrote, so that it can be made again.

use super::change::{Fields, holds};
use serde_json::Value;

/// What `add` takes, in menus that show much more. In others everything is taken that is not counted or computed.
const WRITTEN: [(&str, &str); 7] = [
    (
        "ip/route",
        "blackhole check-gateway comment disabled distance dst-address gateway pref-src routing-table scope target-scope vrf-interface",
    ),
    ("ip/address", "address comment disabled interface"),
    ("ip/pool", "comment name next-pool ranges"),
    (
        "ip/dhcp-server",
        "add-arp address-lists address-pool authoritative bootp-support comment conflict-detection delay-threshold \
         dhcp-option-set disabled interface lease-script lease-time name relay server-address use-radius",
    ),
    (
        "interface/bridge/port",
        "bpdu-guard bridge comment disabled edge frame-types horizon hw ingress-filtering interface internal-path-cost \
         learn multicast-router path-cost point-to-point priority pvid restricted-role restricted-tcn tag-stacking trusted",
    ),
    (
        "interface/wireless",
        "band channel-width comment disabled frequency hide-ssid master-interface mode name security-profile ssid \
         tx-power tx-power-mode",
    ),
    ("interface/wifi", "comment configuration datapath disabled master-interface name security steering"),
];
/// Counted or computed.
const SHOWN: [&str; 10] =
    [".id", ".nextid", "about", "bound", "bytes", "creation-time", "dynamic", "invalid", "packets", "running"];

/// The fields that make the row again.
pub(super) fn kept(menu: &str, row: &Value) -> Fields {
    let written = WRITTEN.iter().find(|(known, _)| *known == menu).map(|(_, names)| *names);
    let is_kept = |name: &str| match written {
        Some(names) => names.split_ascii_whitespace().any(|known| known == name),
        None => !SHOWN.contains(&name),
    };
    let fields = row.as_object().into_iter().flatten().filter(|(name, _)| is_kept(name));
    fields.filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned()))).collect()
}

/// What a rule of a firewall has if nothing else is said; an empty value is no value.
const UNSAID: [(&str, &str); 5] =
    [("disabled", "false"), ("log", "false"), ("log", "no"), ("log-prefix", ""), ("action", "accept")];

/// Whether a row holds `wanted` and nothing else that matters: a rule with one condition more is another rule.
pub fn is_exactly(menu: &str, row: &Value, wanted: &Fields) -> bool {
    holds(row, wanted) && has_nothing_more(menu, row, wanted, "")
}

/// As [`is_exactly`], whatever comments they have. `wanted` has none.
pub(super) fn is_duplicate(menu: &str, row: &Value, wanted: &Fields) -> bool {
    holds(row, wanted) && has_nothing_more(menu, row, wanted, "comment")
}

/// `ignored`: a field that does not count.
fn has_nothing_more(menu: &str, row: &Value, wanted: &Fields, ignored: &str) -> bool {
    let is_said = |name: &str, value: &str| !value.is_empty() && !UNSAID.contains(&(name, value));
    let more = kept(menu, row);
    let mut more = more.iter().filter(|(name, _)| !wanted.contains_key(*name) && *name != ignored);
    !more.any(|(name, value)| is_said(name, value))
}

/// Whether rows of this menu are known by all that they hold, and may differ in one field only.
pub fn is_known_by_all(menu: &str) -> bool {
    matches!(menu, "ip/firewall/filter" | "ip/firewall/nat")
}

/// Rows that cannot be disabled: they stay as they are until the change is confirmed.
pub(super) fn has_no_switch(menu: &str) -> bool {
    matches!(menu, "ip/pool" | "ip/dhcp-server/network")
}

/// Whether a field that had no value is taken away by a command of its own: an empty value is no address and no protocol.
pub(super) fn is_unset(menu: &str, name: &str, value: &str) -> bool {
    const MENUS: [&str; 7] = [
        "interface/bridge/port",
        "interface/wifi",
        "interface/wifi/configuration",
        "ip/dhcp-server/network",
        "ip/firewall/filter",
        "ip/firewall/nat",
        "ip/route",
    ];
    value.is_empty() && name != "comment" && MENUS.contains(&menu)
}
