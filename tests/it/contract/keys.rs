//! Which kinds of approver keys count for each tool.

use agent::approvers::KeyKind;
use contract::{actions::Does, meta::Tier};
use raspi_mcp::registry::Registry;

#[test]
fn no_browser_key_approves_a_professional_tool_or_one_that_the_agent_does_not_know() {
    let mut counted = 0;
    for entry in Registry::new(raspi_mcp::tools::NAMESPACES).rows() {
        let tool = entry.name();
        let browser = KeyKind::Browser.counts_for(tool);
        counted += usize::from(browser);
        if entry.meta.tier == Tier::Professional || Does::of(tool).is_none() {
            assert!(!browser, "{tool}");
        }
        assert!(KeyKind::Cli.counts_for(tool) && KeyKind::Passkey.counts_for(tool), "{tool}");
    }
    assert!(counted > 20, "only {counted} tools");
    assert!(!KeyKind::Browser.counts_for("nobody.knows_it"));
}
