//! How RouterOS shows what was sent, by public sources: `tests/fixtures/routeros/shown.tsv`. The simulator has to show values so, and a
//! comparison of a wanted row with one of the router has to expect it.
//!
//! `*` as the menu is a rule of every menu. A kind that ends with "?" shows one of the two forms only, or is a function that compares them.

use std::collections::BTreeSet;

const SHOWN: &str = include_str!("../../fixtures/routeros/shown.tsv");

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
