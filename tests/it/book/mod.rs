//! The book: README.md and the pages of docs/. Its tours are taken, its commands are those of the program, its settings are understood,
//! and its contents name every page.

mod commands;
mod contents;
mod many_devices;
mod picture;
mod publisher;
mod settings;
mod tours;

use std::{
    fs,
    path::{Path, PathBuf},
};

/// The pages of a user's days, in their order. Specifications and references are beside them.
const DAYS: [&str; 11] = [
    "docs/try.md",
    "docs/install.md",
    "docs/connect.md",
    "docs/allow.md",
    "docs/flash.md",
    "docs/claim.md",
    "docs/first-update.md",
    "docs/publish.md",
    "docs/many-devices.md",
    "docs/extend.md",
    "docs/trouble.md",
];

fn here() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn page(name: &str) -> String {
    fs::read_to_string(here().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// README.md and the pages of docs/, without those of its folders.
fn pages() -> Vec<String> {
    let names = fs::read_dir(here().join("docs")).unwrap().map(|entry| entry.unwrap().file_name());
    let names = names.map(|name| PathBuf::from("docs").join(name).display().to_string());
    let mut pages: Vec<String> = names.filter(|name| name.ends_with(".md")).collect();
    pages.push("README.md".to_owned());
    pages.sort();
    assert!(DAYS.iter().all(|day| pages.iter().any(|page| page == day)), "not all of {DAYS:?} are in {pages:?}");
    pages
}

/// A block of code: what stands between two fences.
struct Block {
    language: String,
    /// The number of its first line in the page.
    line: usize,
    lines: Vec<String>,
}

impl Block {
    fn text(&self) -> String {
        self.lines.iter().map(|line| format!("{line}\n")).collect()
    }
}

/// The blocks of a page. One that is indented, as in a list, loses its indentation.
fn blocks(text: &str) -> Vec<Block> {
    let (mut blocks, mut open) = (Vec::new(), None::<(Block, usize)>);
    for (n, line) in text.lines().enumerate() {
        let bare = line.trim_start();
        match (&mut open, bare.strip_prefix("```")) {
            (None, Some(language)) => {
                let block = Block { language: language.trim().to_owned(), line: n + 2, lines: Vec::new() };
                open = Some((block, line.len() - bare.len()));
            }
            (Some(_), Some("")) => blocks.extend(open.take().map(|(block, _)| block)),
            (Some((block, indent)), _) => block.lines.push(line.get(*indent..).unwrap_or(bare).to_owned()),
            (None, None) => {}
        }
    }
    assert!(open.is_none(), "a block does not end");
    blocks
}

/// Lines as a shell reads them: what ends with `\` goes on. Each with the numbers of its first line and of the one after it, from 0.
fn commands(lines: &[String]) -> Vec<(String, usize, usize)> {
    let mut all: Vec<(String, usize, usize)> = Vec::new();
    let mut goes_on = false;
    for (n, line) in lines.iter().enumerate() {
        let part = line.strip_suffix('\\');
        match all.last_mut().filter(|_| goes_on) {
            Some((text, _, end)) => {
                text.push_str(part.unwrap_or(line).trim_start());
                *end = n + 1;
            }
            None => all.push((part.unwrap_or(line).to_owned(), n, n + 1)),
        }
        goes_on = part.is_some();
    }
    all
}

/// Without the comment behind a command.
fn without_comment(command: &str) -> &str {
    command.split("   #").next().unwrap_or(command).trim()
}

#[test]
fn a_block_and_its_commands_are_found() {
    let text = "a\n\n   ```sh\n   one --two \\\n     three\n   four      # why\n   ```\n";
    let blocks = blocks(text);
    assert_eq!((blocks.len(), blocks[0].language.as_str(), blocks[0].line), (1, "sh", 4));
    let commands = commands(&blocks[0].lines);
    assert_eq!(commands[0], ("one --two three".to_owned(), 0, 2));
    assert_eq!(without_comment(&commands[1].0), "four");
}
