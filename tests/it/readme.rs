//! The README's tours, taken: each call is made, and what is shown of its answer is in it.

use crate::support::served::{Door, Wire, process::Process};
use raspi_mcp::registry::Registry;
use serde_json::Value;
use std::{collections::BTreeSet, path::Path};
use tempfile::TempDir;
use update::{
    channel::{IndexCriteria, accept},
    trust::RootOfTrust,
};

/// The lines between one of these headings and the next one that begin with a command, with the comment below each.
const HEADINGS: [&str; 3] = ["## A tour", "## Hands and eyes", "## An update, and one that goes back"];
/// The command itself, the shell function of the second tour, and the publisher of the third.
const COMMANDS: [&str; 4] = ["raspi-mcp call ", "api ", PUBLISH, CONSOLE];
const PUBLISH: &str = "sh dist/examples/release.sh ";
const CONSOLE: &str = "raspi-mcp slot ";

struct Stop {
    command: String,
    /// The answer as it is shown, cut where it says `...`.
    shown: String,
}

fn tours() -> Vec<Stop> {
    HEADINGS.into_iter().flat_map(tour).collect()
}

fn tour(heading: &str) -> Vec<Stop> {
    let readme = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md")).unwrap();
    let (_, tour) = readme.split_once(heading).expect("the README has a tour");
    let (tour, _) = tour.split_once("\n## ").expect("something comes after it");
    let mut stops: Vec<Stop> = Vec::new();
    for line in tour.lines() {
        if COMMANDS.iter().any(|command| line.starts_with(command)) {
            let command = line.split("   #").next().unwrap_or(line).trim().to_owned();
            stops.push(Stop { command, shown: String::new() });
        } else if let (Some(text), Some(stop)) = (line.strip_prefix("# "), stops.last_mut()) {
            stop.shown.push_str(text);
        }
    }
    stops
}

/// The names of fields in a piece of JSON that may be cut anywhere.
fn fields(shown: &str) -> BTreeSet<String> {
    let parts: Vec<&str> = shown.split('"').collect();
    // Every second part stands in quotes; a name is followed by a colon.
    let named = parts.windows(2).enumerate().filter(|(n, pair)| n % 2 == 1 && pair[1].starts_with(':'));
    named.map(|(_, pair)| pair[0].to_owned()).collect()
}

fn names(answer: &Value, into: &mut BTreeSet<String>) {
    match answer {
        Value::Object(map) => map.iter().for_each(|(name, value)| {
            into.insert(name.clone());
            names(value, into);
        }),
        Value::Array(items) => items.iter().for_each(|item| names(item, into)),
        _ => {}
    }
}

#[track_caller]
fn shows(stop: &Stop, answer: &Value) {
    let mut there = BTreeSet::new();
    names(answer, &mut there);
    let shown = fields(&stop.shown);
    assert!(!shown.is_empty(), "{} shows nothing of its answer", stop.command);
    let gone: Vec<_> = shown.difference(&there).collect();
    assert!(gone.is_empty(), "{} does not answer {gone:?} any more: {answer:#}", stop.command);
}

#[tokio::test]
async fn the_tour_calls_every_namespace_and_shows_what_it_answers() {
    let root = TempDir::new().unwrap();
    let set: BTreeSet<&str> =
        Registry::new(raspi_mcp::tools::NAMESPACES).rows().map(|entry| entry.meta.namespace()).collect();
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    // Its folder is the reader's; here it is one of this test's own.
    let config = std::fs::read_to_string(here.join("dist/examples/tour.toml")).unwrap();
    let (file, folder) = (root.path().join("tour.toml"), root.path().join("tour"));
    std::fs::create_dir(&folder).unwrap();
    let publisher = root.path().join("publisher");
    let config = config.replace("/tmp/raspi-mcp-tour", folder.to_str().unwrap());
    std::fs::write(&file, config.replace("/tmp/raspi-mcp-update", publisher.to_str().unwrap())).unwrap();
    let pi = Process::http_in(root, &["--role", "admin", "--config", file.to_str().unwrap()]).await;
    let agent = pi.path("run/agent.sock");
    let mut seen = BTreeSet::new();
    let mut api = Wire::http(Door::Api, format!("{}/api/mcp", pi.url.as_ref().unwrap()));
    for stop in tours() {
        if let Some((tool, args)) = stop.command.strip_prefix("api ").and_then(|call| call.split_once(' ')) {
            let args = serde_json::from_str(args.trim_matches('\'')).unwrap();
            let answer = api.request(tool, args).await;
            shows(&stop, &answer.message);
            answer.result();
            seen.insert(tool.split_once('.').unwrap().0.to_owned());
            continue;
        }
        let run = async |command: &str| {
            let mut call = tokio::process::Command::new("sh");
            let program = Path::new(env!("CARGO_BIN_EXE_raspi-mcp")).parent().unwrap();
            call.env_clear().env("PATH", format!("{}:/usr/bin:/bin", program.display()));
            call.env("RASPI_MCP__SOCKET__PATH", pi.socket()).env("RASPI_MCP__PLACES__AGENT_SOCKET", &agent);
            call.env("RASPI_MCP_TOUR", &publisher).current_dir(here).arg("-c").arg(command);
            let output = call.output().await.unwrap();
            assert!(output.status.success(), "{command}: {}", String::from_utf8_lossy(&output.stderr));
            String::from_utf8(output.stdout).unwrap()
        };
        if stop.command.starts_with(PUBLISH) || stop.command.starts_with(CONSOLE) {
            run(&stop.command).await;
            continue;
        }
        // "Half a minute later" is as soon as it has ended.
        let answer = loop {
            let answer: Value = serde_json::from_str(&run(&format!("{} --json", stop.command)).await).unwrap();
            let slots = answer["slots"].as_array().into_iter().flatten();
            let settled =
                slots.clone().all(|slot| ["good", "bad", "unknown"].iter().any(|word| slot["state"] == *word));
            let is_status = stop.command.ends_with("get_update_status");
            let waits = is_status && (answer["status"]["status"] == "running" || !settled);
            if !waits {
                break answer;
            }
            tokio::time::sleep(std::time::Duration::from_millis(200)).await;
        };
        shows(&stop, &answer);
        let tool = stop.command.split_whitespace().nth(2).unwrap();
        seen.insert(tool.split_once('.').unwrap().0.to_owned());
    }
    let missing: Vec<_> = set.iter().filter(|name| !seen.contains(**name)).collect();
    assert!(missing.is_empty(), "the tour does not visit {missing:?}");
}

/// The commands of a section: the blocks of its shell, one after the other.
fn script(heading: &str) -> String {
    let readme = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md")).unwrap();
    let (_, section) = readme.split_once(heading).expect("the README has this section");
    let (section, _) = section.split_once("\n## ").expect("something comes after it");
    let blocks = section.split("```sh\n").skip(1).filter_map(|rest| rest.split_once("```"));
    blocks.map(|(block, _)| block).collect()
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
    for line in script("## Run a fleet's update server from any web space").lines() {
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
