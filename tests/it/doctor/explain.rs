//! Which settings hold and who set them; what doctor says of a configuration that is not understood.

use crate::config::Machine;
use base::{error::ToolError, os::Root};
use contract::config::{self, keys::KEYS};
use raspi_mcp::doctor::{ServerAccount, Severity, Subject, examine};

fn subject(machine: &Machine) -> Subject {
    Subject {
        settings: config::explain(&machine.sources),
        server_places: None,
        webhooks: Vec::new(),
        outside: None,
        agent_settings: Some(config::load_agent(&machine.sources)),
        places: machine.sources.places.clone(),
        root: Root::at("/nowhere"),
        account: ServerAccount { name: "ann".into(), uid: Some(1000), is_service: false },
        agent: Err(ToolError::unavailable("nobody answers")),
        server: Err(ToolError::unavailable("nobody answers")),
    }
}

#[test]
fn each_setting_says_who_set_it() {
    let machine = Machine::new()
        .image("[limits]\nreads_per_minute = 500\nmax_depth = 32")
        .site("[limits]\nreads_per_minute = 400\n[policy]\n\"system.reboot\" = \"deny\"")
        .variable("RASPI_MCP__LOG__LEVEL", "debug")
        .flag("--http", "http.listen", "127.0.0.1:9");
    let report = examine(&subject(&machine));
    let from = |key: &str| {
        let row = report.settings.iter().find(|row| row.key == key).unwrap_or_else(|| panic!("no {key}"));
        (row.value.to_string(), row.from.replace(&machine.path("").display().to_string(), ""))
    };
    let expect = |key: &str, value: &str, origin: &str| {
        let (held, by) = from(key);
        assert_eq!((held.as_str(), by.trim_start_matches('/')), (value, origin), "{key}");
    };
    expect("limits.reads_per_minute", "400", "etc/raspi-mcp/10-site.toml:2:1");
    expect("limits.max_depth", "32", "usr/lib/raspi-mcp/conf.d/00-image.toml:3:1");
    expect("policy.system.reboot", "\"deny\"", "etc/raspi-mcp/10-site.toml:4:1");
    expect("log.level", "\"debug\"", "RASPI_MCP__LOG__LEVEL");
    expect("http.listen", "\"127.0.0.1:9\"", "--http");
    expect("log.target", "\"auto\"", "default");
    // `policy` stands for one row a tool.
    assert_eq!(report.settings.len(), KEYS.len() - 1 + 1);
}

#[test]
fn tokens_are_named_and_not_shown() {
    let sha256 = "ab".repeat(32);
    let machine =
        Machine::new().site(&format!("[[access.tokens]]\nname = \"laptop\"\nsha256 = \"{sha256}\"\nrole = \"ops_rw\""));
    let report = serde_json::to_string(&examine(&subject(&machine))).unwrap();
    assert!(report.contains("laptop") && !report.contains(&sha256), "{report}");
}

#[test]
fn a_configuration_that_is_not_understood_hides_nothing_else() {
    let machine = Machine::new().site("[limits]\nreads_per_minute = 0\nreeds = 1");
    let report = examine(&subject(&machine));
    let wrong: Vec<&str> =
        report.findings.iter().filter(|each| each.state == Severity::Wrong).map(|each| each.says.as_str()).collect();
    assert!(
        wrong.iter().any(|says| says.contains("10-site.toml:2:") && says.contains("reads_per_minute")),
        "{wrong:?}"
    );
    assert!(wrong.iter().any(|says| says.contains("10-site.toml:3:1")), "{wrong:?}");
    assert!(report.findings.iter().any(|finding| finding.about == "clock"));
}

#[test]
fn a_fragment_that_was_set_aside_is_wrong_and_says_what_it_costs() {
    let machine = Machine::new().state("[limits]\nreads_per_minute = 1000000");
    let report = examine(&subject(&machine));
    let wrong = report.findings.iter().find(|each| each.state == Severity::Wrong).unwrap();
    assert!(wrong.says.starts_with("set aside: "), "{wrong:?}");
    assert!(wrong.mend.as_deref().unwrap().contains("only reads run"), "{wrong:?}");
}
