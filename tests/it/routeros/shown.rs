//! How RouterOS shows what was sent, by public sources: `tests/fixtures/routeros/shown.tsv`. The simulator has to show values so, and a
//! comparison of a wanted row with one of the router has to expect it.
//!
//! `*` as the menu is a rule of every menu. A kind that ends with "?" shows one of the two forms only, or is a function that compares them.

use raspi_mcp::routeros::plan::is_same;
use std::collections::BTreeSet;

const SHOWN: &str = include_str!("../../fixtures/routeros/shown.tsv");
/// Numbers of protocols, and the names that the console of RouterOS 7.21.4 has for them.
const PROTOCOLS: &str = include_str!("../../fixtures/routeros/protocols.tsv");

#[test]
fn each_pair_of_sent_and_shown_has_a_source_and_is_there_once() {
    let mut lines = SHOWN.lines();
    assert_eq!(lines.next(), Some("menu\tfield\tsent\tshown\tversion\tsource\tkind"));
    let (mut pairs, mut both_forms) = (BTreeSet::new(), 0);
    for line in lines {
        let fields: Vec<&str> = line.split('\t').collect();
        let [menu, field, sent, shown, version, source, kind] = fields[..] else { panic!("{line}") };
        assert!([menu, field, sent, source].iter().all(|text| !text.is_empty()), "{line}");
        let name = kind.trim_end_matches('?');
        assert!(["manual", "issue", "code", "forum", "export"].contains(&name), "{line}");
        assert!(pairs.insert((menu, field, sent, shown, version)), "twice: {line}");
        both_forms += usize::from(name == kind);
    }
    assert!(both_forms >= 60, "{both_forms} pairs of which a source has both forms");
}

#[test]
fn a_protocol_is_the_same_by_its_number_and_by_its_name() {
    let mut lines = PROTOCOLS.lines();
    assert_eq!(lines.next(), Some("number\tname\tsource of the name\tsource of the number"));
    let mut count = 0;
    for line in lines {
        let fields: Vec<&str> = line.split('\t').collect();
        let [number, name, _, _] = fields[..] else { panic!("{line}") };
        assert!(number.parse::<u8>().is_ok(), "{line}");
        for (sent, shown) in [(number.to_owned(), name.to_owned()), (format!("!{number}"), format!("!{name}"))] {
            let simulated = routeros_simulator::shown("ip/firewall/filter", "protocol", &sent);
            assert_eq!(simulated.as_deref(), Some(&*shown), "{line}");
            assert!(is_same("protocol", &shown, &sent), "{line}");
        }
        count += 1;
    }
    assert_eq!(count, 38, "all that the console completes");
}

/// Pairs that the simulator does not show so, and why.
const NOT_SIMULATED: [(&str, &str, &str); 9] = [
    ("interface/bridge/port", "hw", "flags are shown by the data of the menus"),
    ("interface/vlan", "use-service-tag", "flags are shown by the data of the menus"),
    ("ip/cloud", "ddns-enabled", "flags are shown by the data of the menus"),
    ("ip/dns/static", "match-subdomain", "flags are shown by the data of the menus"),
    ("ip/dhcp-server", "lease-time", "of version 2.9"),
    ("ip/firewall/address-list", "timeout", "time that runs"),
    ("ip/kid-control", "", "no plan changes it"),
    ("ip/socks/users", "", "no plan changes it"),
    ("ipv6/pool", "", "no plan changes it"),
];

/// The pairs with both forms as texts, of menus that the simulator has.
fn pairs() -> impl Iterator<Item = [&'static str; 4]> {
    let all = SHOWN.lines().skip(1).map(|line| line.split('\t').collect::<Vec<_>>());
    let is_text = |text: &str| !text.contains(['(', '<']);
    let is_here =
        |menu: &str| ["interface", "ip/", "ipv6/", "system/scheduler"].iter().any(|known| menu.starts_with(known));
    let is_left = move |menu: &str, field: &str| {
        NOT_SIMULATED.iter().any(|(known, name, _)| *known == menu && (name.is_empty() || *name == field))
    };
    all.filter_map(move |fields| {
        let [menu, field, sent, shown, ..] = fields[..] else { panic!("{fields:?}") };
        let counts = is_here(menu) && is_text(sent) && is_text(shown) && !is_left(menu, field) && sent != "7d";
        counts.then_some([menu, field, sent, shown])
    })
}

#[test]
fn the_simulator_shows_values_so_and_a_plan_expects_it() {
    let mut count = 0;
    for [menu, field, sent, shown] in pairs() {
        assert_eq!(routeros_simulator::shown(menu, field, sent).as_deref(), Some(shown), "{menu} {field} {sent}");
        // What plans never write is not compared by them either.
        let is_written = matches!(
            field,
            "address" | "src-address" | "dst-address" | "to-addresses" | "dst-port" | "ranges" | "tcp-flags"
        );
        assert!(!is_written || is_same(field, shown, sent), "{menu} {field} {sent}");
        count += 1;
    }
    assert!(count >= 25, "{count} pairs");
    for [shown, sent] in [["tcp", "6"], ["!udp", "!17"], ["", "all"], ["icmp", "icmp"]] {
        assert_eq!(routeros_simulator::shown("ip/firewall/filter", "protocol", sent).unwrap_or_default(), shown);
        assert!(is_same("protocol", shown, sent), "{sent}");
    }
    assert!(!is_same("protocol", "tcp", "17") && !is_same("address", "192.0.2.1/24", "192.0.2.2/24"));
    assert!(!is_same("src-address", "10.0.0.0/24", "10.0.0.0/25") && !is_same("src-address", "10.0.0.1", "!10.0.0.1"));
}
