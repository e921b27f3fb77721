//! Every command that a page shows is one that the program, the registry and the repository have.

use super::{blocks, commands, here, page, pages, without_comment};
use raspi_mcp::{cli, registry::Registry};
use regex_lite::Regex;
use std::collections::BTreeSet;

/// Namespaces of example programs, which are tools once they are installed.
const EXAMPLES: [&str; 3] = ["greenhouse.", "everything.", "time."];

/// The words of a simple command. Ends where a pipe, a redirection or the next command begins.
fn words(command: &str) -> Vec<String> {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None::<char>);
    for letter in command.chars() {
        match (quote, letter) {
            (Some(open), _) if letter == open => quote = None,
            (None, '\'' | '"') => {
                quote = Some(letter);
                word.get_or_insert_default();
            }
            (None, '|' | '>' | ';' | '&') => break,
            (None, _) if letter.is_whitespace() => words.extend(word.take()),
            _ => word.get_or_insert_default().push(letter),
        }
    }
    words.extend(word);
    words
}

/// A placeholder as a value of its kind: a fingerprint or a device's ID is cut in the text.
fn filled(word: &str) -> String {
    let digits = "0".repeat(64);
    match word.trim_end_matches("...").trim_end_matches('…') {
        cut if cut == word => word.to_owned(),
        cut if cut.starts_with("sha256:") => format!("sha256:{digits}"),
        _ => digits,
    }
}

/// What is wrong with `command`, which may be no command of ours at all.
fn fault(command: &str, tools: &BTreeSet<String>) -> Option<String> {
    let computed = Regex::new(r"\$\(\(.*?\)\)").unwrap().replace_all(without_comment(command), "1").into_owned();
    let command = computed.trim_start_matches("$ ").trim_start_matches("sudo ");
    let words: Vec<String> = words(command).iter().map(|word| filled(word)).collect();
    let first = words.first()?;
    if let Some(script) = first.strip_prefix("./ci/") {
        return (!here().join("ci").join(script).exists()).then(|| format!("there is no ci/{script}"));
    }
    if first != "raspi-mcp" {
        return None;
    }
    if let Some(tool) = words.iter().skip(1).find(|word| is_tool(word)).filter(|_| words[1] == "call") {
        let known = tools.contains(tool) || EXAMPLES.iter().any(|example| tool.starts_with(example));
        if !known {
            return Some(format!("there is no tool {tool}"));
        }
    }
    cli::command().try_get_matches_from(&words).err().filter(clap::Error::use_stderr).map(|error| error.to_string())
}

fn is_tool(word: &str) -> bool {
    word.split_once('.').is_some_and(|(space, name)| {
        !space.is_empty() && format!("{space}{name}").chars().all(|letter| letter.is_ascii_lowercase() || letter == '_')
    })
}

fn tools() -> BTreeSet<String> {
    Registry::new(raspi_mcp::tools::NAMESPACES).rows().map(|row| row.name().to_owned()).collect()
}

#[test]
fn every_command_is_one_that_the_program_takes() {
    let (tools, mut seen, mut wrong) = (tools(), 0, Vec::new());
    for name in pages() {
        for block in blocks(&page(&name)).iter().filter(|block| ["sh", "console"].contains(&block.language.as_str())) {
            for (command, line, _) in commands(&block.lines) {
                seen += usize::from(command.contains("raspi-mcp "));
                if let Some(why) = fault(&command, &tools) {
                    wrong.push(format!("{name}:{}: {command}\n  {why}", block.line + line));
                }
            }
        }
    }
    assert!(seen > 100, "only {seen} commands were found");
    assert!(wrong.is_empty(), "commands that do not work:\n{}", wrong.join("\n"));
}

#[test]
fn a_command_that_is_not_there_is_found() {
    let tools = tools();
    for good in [
        "raspi-mcp call --json system.get_clock",
        "$ sudo raspi-mcp tls show      # why",
        "./ci/serve --role admin",
        "raspi-mcp call x.y --url https://a:1 --pin sha256:... -a 'b=\"c d\"' | cat"
            .replace("x.y", "system.reboot")
            .as_str(),
        "curl https://raspberrypi.local",
        "raspi-mcp call greenhouse.moisture -a bed=1",
    ] {
        assert_eq!(fault(good, &tools), None, "{good}");
    }
    for bad in
        ["raspi-mcp cal system.get_clock", "raspi-mcp call system.get_clocks", "raspi-mcp tls shows", "./ci/serv"]
    {
        assert!(fault(bad, &tools).is_some(), "{bad}");
    }
}
