//! The file of a plan: what is read, and every mistake with its line and column.

use fleet_protocol::rollout::{RolloutTarget, StopConditions};
use raspi_mcp::fleet::rollout::file;
use std::fs;
use tempfile::TempDir;

const GOOD: &str = r#"version = "1.2.0"
address = "https://updates.example.org/pi"
token_file = "channel.token"
pinned = ["museum"]

[stop]
failed_percent = 2
failed_count = 5
silent_percent = 10

[[stages]]
percent = 100
rings = ["early"]
min_committed = 3
soak_minutes = 60

[[stages]]
percent = 100
min_committed = 90
soak_minutes = 1440
"#;

fn read(text: &str) -> Result<fleet_protocol::rollout::RolloutPlan, String> {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("plan.toml");
    fs::write(&path, text).unwrap();
    file::read(&path).map_err(|faults| faults.to_string().replace(&format!("{}", path.display()), "plan"))
}

#[test]
fn a_plan_is_read_with_its_defaults() {
    let plan = read(GOOD).unwrap();
    assert_eq!((plan.channel.as_str(), plan.silent_minutes, plan.pinned.len()), ("stable", 45, 1));
    assert_eq!(plan.stop, StopConditions { failed_percent: 2, failed_count: 5, silent_percent: 10 });
    assert!(matches!(plan.target, RolloutTarget::Address { token_file: Some(_), ca_file: None, .. }));
    assert_eq!((plan.stages[0].rings.as_slice(), plan.stages[1].soak_minutes), (&["early".to_owned()][..], 1440));
}

#[test]
fn every_mistake_has_its_place() {
    let wrong = |from: &str, to: &str| {
        assert!(GOOD.contains(from), "{from}");
        read(&GOOD.replacen(from, to, 1)).expect_err(to)
    };
    for (from, to, words) in [
        ("\"1.2.0\"", "12", "plan:1:11: version must be a version"),
        ("failed_count = 5", "failed_count = 0", "plan:8:16: failed_count must be a whole number from 1 to 1000000"),
        ("silent_percent = 10\n", "", "stop has no silent_percent"),
        ("[stop]", "[stopp]", "plan:6:2: unknown key \"stopp\" in the plan; did you mean \"stop\"?"),
        ("percent = 100", "percent = 101", "plan:12:11: percent must be a whole number from 1 to 100, not 101"),
        ("soak_minutes = 60", "soak = 60", "unknown key \"soak\" in this stage"),
        ("soak_minutes = 60", "soak = 60", "this stage has no soak_minutes"),
        ("\"museum\"", "\"museum\", \"museum\"", "plan:4:10: pinned must be a list of at most 1024 different names"),
        ("https://updates", "http://updates", "plan:2:11: address must be an https address"),
        ("example.org", "me:secret@example.org", "address must be an https address"),
        ("address =", "folder =", "write either folder, or address with token_file"),
        ("address = \"https://updates.example.org/pi\"\n", "", "says not where the channel is"),
        ("rings = [\"early\"]", "", "stage 2 is not for more devices than the stage before"),
        ("version =", "version == 1", "plan:1:10: not TOML"),
    ] {
        let said = wrong(from, to);
        assert!(said.contains(words), "{to}: {said}");
    }
    assert!(read("").unwrap_err().contains("a plan has 1 to 16 tables [[stages]]"));
    // All at once.
    let both = read(&GOOD.replacen("\"1.2.0\"", "12", 1).replacen("failed_count = 5", "failed_count = 0", 1));
    assert_eq!(both.unwrap_err().lines().count(), 2);
}
