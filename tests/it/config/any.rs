//! Whatever is written, the answer is settings or faults with a place: never a panic, never silence.

use super::Machine;
use contract::config::{self, keys::KEYS};
use proptest::prelude::*;

/// Text made of the pieces configuration is made of, and of rubbish.
fn text() -> impl Strategy<Value = String> {
    let names: Vec<String> = KEYS.iter().map(|key| key.name.to_owned()).collect();
    let sections: Vec<String> =
        names.iter().filter_map(|name| name.split('.').next().map(|part| format!("[{part}]\n"))).collect();
    let piece = prop_oneof![
        4 => prop::sample::select(names).prop_map(|name| format!("\n{name} = ")),
        2 => prop::sample::select(sections),
        1 => Just("\n[[access.tokens]]\n".to_owned()),
        1 => Just("\n[policy]\nsystem.reboot = ".to_owned()),
        4 => prop::sample::select(vec!["0", "-1", "true", "\"auto\"", "\"é\"", "[\"gpio\"]", "[[1]]", "{ a = 1 }", "1979-05-27", "1e9", "\"\"\"", "=", "]"])
            .prop_map(str::to_owned),
        2 => ".{0,12}",
    ];
    prop::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_site_is_understood_or_answered(text in text()) {
        let pi = Machine::new().site(&text);
        if let Err(faults) = config::load(&pi.sources) {
            prop_assert!(!faults.0.is_empty());
            let site = pi.path("/etc/raspi-mcp/10-site.toml").display().to_string();
            for fault in &faults.0 {
                prop_assert!(fault.to_string().starts_with(&site), "{} in {:?}", fault, text);
                prop_assert!(!fault.message.contains(|letter: char| letter.is_control()), "{:?}", fault.message);
            }
        }
    }

    #[test]
    fn a_state_fragment_never_widens_and_never_stops_the_start(text in text()) {
        let pi = Machine::new();
        let settings = pi.starts();
        let after = pi.state(&text).starts();
        prop_assert_eq!(&settings.access, &after.access);
        prop_assert_eq!(&settings.places, &after.places);
        prop_assert!(after.tools.enable.is_empty());
        prop_assert!(after.limits.writes_per_minute <= settings.limits.writes_per_minute);
        prop_assert!(after.http.listen.ip().is_loopback());
    }

    #[test]
    fn a_variable_is_understood_or_answered(name in "[A-Z_]{0,20}", value in ".{0,20}") {
        let name = format!("RASPI_MCP__{name}");
        if let Err(faults) = config::load(&Machine::new().variable(&name, &value).sources) {
            prop_assert!(faults.to_string().starts_with(&name));
        }
    }
}
