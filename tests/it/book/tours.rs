//! The tours of the book, taken: each call is made, and what is shown of its answer is in it. `BLESS=1` writes what is printed now, where
//! the page shows nothing or something else.

use super::{blocks, commands, here, page, without_comment};
use crate::support::served::{Door, Wire, process::Process};
use raspi_mcp::registry::Registry;
use serde_json::Value;
use std::{collections::BTreeSet, fs, path::Path};
use tempfile::TempDir;

/// The pages, and the headings below which the calls are made, in this order on one server.
const TOURS: [(&str, &str); 4] = [
    ("docs/try.md", "## A tour"),
    ("docs/try.md", "## Hands and eyes"),
    ("docs/first-update.md", "## The update"),
    ("docs/first-update.md", "## One that goes back"),
];
/// The command itself, the shell function of the second tour, the publisher of the third, and what is shown at a console.
const COMMANDS: [&str; 5] = [CALL, "api ", PUBLISH, CONSOLE, PINS];
const CALL: &str = "raspi-mcp call --json ";
const PUBLISH: &str = "sh dist/examples/release.sh ";
const CONSOLE: &str = "raspi-mcp slot ";
const PINS: &str = "raspi-mcp pins";
/// Lines that are shown of an answer, at most, and their columns.
const SHOWN: (usize, usize) = (4, 80);

struct Stop {
    page: &'static str,
    command: String,
    /// The lines of the page behind the command with its answer, from 0.
    lines: std::ops::Range<usize>,
    /// The answer as it is shown, cut where it says `...`.
    shown: String,
}

fn tours() -> Vec<Stop> {
    TOURS.into_iter().flat_map(|(page, heading)| tour(page, heading)).collect()
}

fn tour(name: &'static str, heading: &str) -> Vec<Stop> {
    let text = page(name);
    let number = |line: &str| text.lines().position(|one| one == line);
    let start = number(heading).unwrap_or_else(|| panic!("{name} has no {heading}"));
    let end = text.lines().skip(start + 1).position(|line| line.starts_with("## ")).map(|length| start + 1 + length);
    let mut stops: Vec<Stop> = Vec::new();
    let inside = |line: usize| line > start && end.is_none_or(|end| line < end);
    for block in blocks(&text).iter().filter(|block| inside(block.line) && block.language == "sh") {
        let first = block.line - 1;
        for (line, _, after) in commands(&block.lines) {
            if COMMANDS.iter().any(|command| line.starts_with(command)) {
                let command = without_comment(&line).to_owned();
                let lines = first + after..first + after;
                stops.push(Stop { page: name, command, lines, shown: String::new() });
            } else if let (Some(text), Some(stop)) = (line.strip_prefix("# "), stops.last_mut()) {
                stop.shown.push_str(text);
                stop.lines.end = first + after;
            }
        }
    }
    assert!(!stops.is_empty(), "{name} makes no call below {heading}");
    stops
}

/// What a page shows of an answer: its first lines, each cut where the terminal ends.
fn excerpt(printed: &str) -> Vec<String> {
    let cut = |line: &str| match line.chars().count() <= SHOWN.1 - 2 {
        true => format!("# {line}"),
        false => format!("# {}...", line.chars().take(SHOWN.1 - 5).collect::<String>()),
    };
    let lines: Vec<&str> = printed.trim_end().lines().collect();
    let mut shown: Vec<String> = lines.iter().take(SHOWN.0).map(|line| cut(line)).collect();
    if lines.len() > SHOWN.0 {
        shown.push("# ...".to_owned());
    }
    shown
}

/// Writes what is printed into the page; later stops first, as the lines of earlier ones stay where they are.
fn rewrite(mut stale: Vec<(Stop, String)>) {
    stale.reverse();
    for (stop, printed) in stale {
        let text = page(stop.page);
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        lines.splice(stop.lines, excerpt(&printed));
        fs::write(here().join(stop.page), format!("{}\n", lines.join("\n"))).unwrap();
    }
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

/// What is wrong with what the page shows of this answer.
fn fault(stop: &Stop, answer: &Value) -> Option<String> {
    let mut there = BTreeSet::new();
    names(answer, &mut there);
    let shown = fields(&stop.shown);
    if shown.is_empty() {
        return Some(format!("{} shows nothing of its answer", stop.command));
    }
    let gone: Vec<_> = shown.difference(&there).collect();
    (!gone.is_empty()).then(|| format!("{} does not answer {gone:?} any more: {answer:#}", stop.command))
}

#[tokio::test]
async fn the_tour_calls_every_namespace_and_shows_what_it_answers() {
    let root = TempDir::new().unwrap();
    let set: BTreeSet<&str> =
        Registry::new(raspi_mcp::tools::NAMESPACES).rows().map(|entry| entry.meta.namespace()).collect();
    let here = here();
    // Its folder is the reader's; here it is one of this test's own.
    let config = std::fs::read_to_string(here.join("dist/examples/tour.toml")).unwrap();
    let (file, folder) = (root.path().join("tour.toml"), root.path().join("tour"));
    std::fs::create_dir_all(folder.join("files")).unwrap();
    let publisher = folder.join("publisher");
    std::fs::write(&file, config.replace("@TOUR@", folder.to_str().unwrap())).unwrap();
    let pi = Process::http_in(root, &["--role", "admin", "--config", file.to_str().unwrap()]).await;
    let agent = pi.path("run/agent.sock");
    let pi_folder = pi.path("").display().to_string().trim_end_matches('/').to_owned();
    let (mut seen, mut stale) = (BTreeSet::new(), Vec::new());
    let mut api = Wire::http(Door::Api, format!("{}/api/mcp", pi.url.as_ref().unwrap()));
    for stop in tours() {
        if let Some((tool, args)) = stop.command.strip_prefix("api ").and_then(|call| call.split_once(' ')) {
            let args = serde_json::from_str(args.trim_matches('\'')).unwrap();
            seen.insert(tool.split_once('.').unwrap().0.to_owned());
            let answer = api.request(tool, args).await;
            answer.clone().result();
            if let Some(why) = fault(&stop, &answer.message) {
                println!("{why}");
                stale.push((stop, answer.message.to_string()));
            }
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
        if [PUBLISH, CONSOLE, PINS].iter().any(|command| stop.command.starts_with(command)) {
            run(&stop.command).await;
            continue;
        }
        // "Half a minute later" is as soon as it has ended.
        let (answer, printed) = loop {
            let printed = run(&stop.command).await;
            let answer: Value = serde_json::from_str(&printed).unwrap();
            let slots = answer["slots"].as_array().into_iter().flatten();
            let settled =
                slots.clone().all(|slot| ["good", "bad", "unknown"].iter().any(|word| slot["state"] == *word));
            let is_status = stop.command.ends_with("get_update_status");
            let waits = is_status && (answer["status"]["status"] == "running" || !settled);
            if !waits {
                break (answer, printed);
            }
            tokio::time::sleep(std::time::Duration::from_millis(200)).await;
        };
        let tool = stop.command.split_whitespace().nth(3).unwrap();
        seen.insert(tool.split_once('.').unwrap().0.to_owned());
        if let Some(why) = fault(&stop, &answer) {
            println!("{why}");
            stale.push((stop, printed));
        }
    }
    let missing: Vec<_> = set.iter().filter(|name| !seen.contains(**name)).collect();
    assert!(missing.is_empty(), "the tour does not visit {missing:?}");
    let count = stale.len();
    // The reader's folders, in place of this test's.
    let readers =
        |text: &str| text.replace(folder.to_str().unwrap(), ".../build/serve/tour").replace(&pi_folder, "...");
    stale.iter_mut().for_each(|(_, printed)| *printed = readers(printed));
    if std::env::var_os("BLESS").is_some() {
        rewrite(stale);
    }
    assert_eq!(count, 0, "the pages show other answers; BLESS=1 writes what is printed now");
}
