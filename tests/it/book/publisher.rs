//! docs/publish.md, run as it is written: keys, a release, its stages, and how it is stopped.

use super::{blocks, commands, page};
use crate::support::served::process::Process;
use std::path::Path;
use tempfile::TempDir;
use update::{
    channel::{IndexCriteria, accept},
    trust::RootOfTrust,
};

/// The commands of the page: the blocks of its shell, one after the other.
fn script() -> Vec<(String, usize, usize)> {
    let blocks = blocks(&page("docs/publish.md"));
    blocks.iter().filter(|block| block.language == "sh").flat_map(|block| commands(&block.lines)).collect()
}

#[tokio::test]
async fn a_fleets_update_server_is_run_as_written() {
    let pi = Process::http(&[]).await;
    let desk = TempDir::new().unwrap();
    let put = |name: &str, bytes: &[u8]| std::fs::write(desk.path().join(name), bytes).unwrap();
    put("rootfs.img", &crate::update::an_image(64 << 10, 7));
    put("boot.img", &crate::update::a_boot(4 << 20, &[]));
    let url = pi.url.as_ref().unwrap();
    put("fleet.toml", format!("[[devices]]\nname = \"kitchen\"\nurl = \"{url}\"\n").as_bytes());
    // Each index is kept as it was.
    let mut text = String::new();
    for (line, _, _) in script() {
        text.push_str(&format!("{line}\n"));
        let changes = line.starts_with("raspi-mcp channel ") && !line.starts_with("raspi-mcp channel show");
        if changes {
            let kept = text.matches("cp www").count() + 1;
            text.push_str(&format!("cp www/stable/index.signed index.{kept}\n"));
        }
    }
    let program = Path::new(env!("CARGO_BIN_EXE_raspi-mcp")).parent().unwrap();
    let mut shell = tokio::process::Command::new("sh");
    shell.env_clear().env("PATH", format!("{}:/usr/bin:/bin", program.display())).current_dir(desk.path());
    let output = shell.args(["-eu", "-c", &text]).output().await.unwrap();
    let (said, why) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{said}\n{why}");
    assert!(said.contains("1 device: 1 good") && said.contains("REVOKED: cameras stay dark"), "{said}");

    let roots = RootOfTrust::parse(&std::fs::read(desk.path().join("root.signed")).unwrap()).unwrap();
    let now = std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap().as_secs();
    let clock_ms = i64::try_from(now).unwrap() * 1000;
    let wanted = IndexCriteria {
        product: "thermostat",
        channel: "stable",
        seen: None,
        clock_ms,
        synchronised: true,
        time_floor: 0,
    };
    let told: Vec<(u8, bool, bool)> = (1..=7)
        .map(|number| {
            let index = std::fs::read(desk.path().join(format!("index.{number}"))).unwrap();
            let index = accept(&index, &roots, &wanted).unwrap().index;
            assert_eq!(index.sequence, number);
            (index.releases[0].rollout.percent, index.paused.is_some(), !index.revoked.is_empty())
        })
        .collect();
    let rolled_out = [(1, false, false), (10, false, false), (100, false, false)];
    assert_eq!(told[..3], rolled_out);
    assert_eq!(told[3..], [(100, true, false), (100, false, false), (100, false, true), (100, false, true)]);
}
