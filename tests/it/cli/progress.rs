//! The progress of a publisher's long commands: a bar on a terminal that is gone before the result, and nothing in a pipe.

use crate::{
    cli::terminal::Terminal,
    update::{a_boot, an_image},
};
use std::{fs, process::Command};
use tempfile::TempDir;

fn program(folder: &TempDir, words: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_raspi-mcp"));
    command.args(words.split_whitespace()).current_dir(folder.path()).env_clear();
    command
}

#[tokio::test]
async fn building_comparing_and_publishing_show_how_far_they_are() {
    let folder = TempDir::new().unwrap();
    let path = |name: &str| folder.path().join(name);
    fs::write(path("boot.img"), a_boot(4 << 20, &[("config.txt", b"x")])).unwrap();
    fs::write(path("root.img"), an_image(1 << 20, 1)).unwrap();
    assert!(program(&folder, "bundle keygen publisher").output().unwrap().status.success());
    let build = |out: &str| {
        format!(
            "bundle build --root root.img --boot boot.img --product p --version 1.0.0 --counter 1 --hardware b --expires 4102444800 --created 1790000000 --out {out}"
        )
    };
    let publish = |www: &str| format!("channel publish {www} --bundle shown.bundle --key publisher.key");
    for (shown, piped, word, result) in [
        (build("shown.bundle"), build("piped.bundle"), "packing", "bundle    shown.bundle"),
        (publish("shown"), publish("piped"), "copying", "index    1 of p stable"),
        (
            "bundle delta-size boot.img root.img".into(),
            "bundle delta-size boot.img root.img".into(),
            "packing",
            "   16384 ",
        ),
    ] {
        let mut terminal = Terminal::of(program(&folder, &shown), "", 80);
        terminal.shows(&format!("\r\u{1b}[K{word:<10} ["), 1).await;
        terminal.shows(&format!("[{}] 100 %", "#".repeat(30)), 1).await;
        terminal.shows(&format!("\r\u{1b}[K{result}"), 1).await;
        let screen = terminal.ends().await;
        let lines: Vec<&str> = screen.split(['\r', '\n']).map(|line| line.trim_start_matches("\u{1b}[K")).collect();
        assert!(lines.iter().all(|line| line.chars().count() < 80 || !line.contains('#')), "it wraps: {screen}");
        let output = program(&folder, &piped).output().unwrap();
        assert!(output.status.success() && output.stderr.is_empty(), "{piped}: {output:?}");
    }
    assert_eq!(fs::read(path("shown.bundle")).unwrap(), fs::read(path("piped.bundle")).unwrap());
}
