//! `approval.kinds`: what is understood, and what is told of the rest.

use super::Machine;

const SITE: &str = "/etc/raspi-mcp/10-site.toml";

#[test]
fn tools_namespaces_and_all_of_them_are_narrowed() {
    let text = "[approval]\nkinds = [\"system.reboot=cli\", \"gpio=cli+passkey\", \"*=passkey+cli\"]\n";
    let kinds = Machine::new().site(text).starts().approval.kinds;
    assert!(kinds.allow("system.reboot", "cli") && !kinds.allow("system.reboot", "passkey"));
    assert!(kinds.allow("gpio.write_pin", "passkey") && !kinds.allow("gpio.write_pin", "browser"));
    assert_eq!(Machine::new().site(text).agent_starts().approval.kinds, kinds, "both halves read it");
}

#[test]
fn what_is_no_tool_or_no_kind_is_told_with_a_hint() {
    let fault = |entry: &str| {
        let faults = Machine::new().site(&format!("[approval]\nkinds = [\"{entry}\"]\n")).refuses();
        assert_eq!(faults.len(), 1, "{faults:?}");
        let fault = faults.concat();
        assert!(fault.starts_with(&format!("{SITE}:2:10: approval.kinds must be a list of tools")), "{fault}");
        fault
    };
    assert!(fault("system.rebot=cli").contains("did you mean \"system.reboot\"?"));
    for kind in ["gpio=phone", "gpio=", "gpio=cli+", "gpio=cli,passkey"] {
        assert!(fault(kind).contains("the kinds are cli, passkey, browser"), "{kind}");
    }
    for entry in ["gpio", "=cli", ""] {
        fault(entry);
    }
    // The server cannot take keys away that the agent goes on counting.
    let state = Machine::new().state("[approval]\nkinds = [\"gpio=cli\"]\n");
    assert!(state.restricted().concat().contains("a state fragment may not set approval.kinds"));
}
