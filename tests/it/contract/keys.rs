//! Which kinds of approver keys count for each tool.

use agent::approvers::KeyKind;
use contract::{actions::Does, config::ApproverKinds, meta::Tier};
use raspi_mcp::registry::Registry;

#[test]
fn no_browser_key_approves_a_professional_tool_or_one_that_the_agent_does_not_know() {
    let (plain, mut counted) = (ApproverKinds::default(), 0);
    for entry in Registry::new(raspi_mcp::tools::NAMESPACES).rows() {
        let tool = entry.name();
        let browser = KeyKind::Browser.counts_for(tool, &plain);
        counted += usize::from(browser);
        let widest = format!("{tool}=browser+cli+passkey");
        let asked_for = ApproverKinds::from_entries([widest.as_str(), "*=browser"]);
        assert_eq!(KeyKind::Browser.counts_for(tool, &asked_for), browser, "{tool}: no setting widens it");
        if entry.meta.tier == Tier::Professional || Does::of(tool).is_none() {
            assert!(!browser, "{tool}");
        }
        assert!(KeyKind::Cli.counts_for(tool, &plain) && KeyKind::Passkey.counts_for(tool, &plain), "{tool}");
    }
    assert!(counted > 20, "only {counted} tools");
    assert!(!KeyKind::Browser.counts_for("nobody.knows_it", &plain));
}
