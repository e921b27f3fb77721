//! `raspi-mcp claim --restore` on a terminal of the test's own: a person looks at who a backup lets in again.

use super::{
    fresh::{Fresh, Up},
    restored::{owned, restarted},
};
use crate::{cli::terminal::Terminal, support::served::soon};
use appliance::backup::sealed::seal;
use std::{
    fs,
    process::{Command, Stdio},
};
use tempfile::TempDir;

const QUESTION: &str = "Are they to be let in?";

/// A new card, and the backup of another with its identity, sealed in a file.
struct Card {
    fresh: Fresh,
    up: Up,
    /// Counts on the machine that the backup is of.
    token: String,
    home: TempDir,
}

impl Card {
    async fn new() -> Self {
        let old = owned().await;
        let backup = old.backup(true).await;
        old.up.stops().await;
        let home = TempDir::new().unwrap();
        let sealed = seal(&serde_json::to_vec(&backup).unwrap(), "correct horse battery").unwrap();
        fs::write(home.path().join("backup"), sealed).unwrap();
        fs::write(home.path().join("passphrase"), "correct horse battery\n").unwrap();
        let fresh = Fresh::new();
        let up = fresh.starts().await;
        Self { fresh, up, token: old.token, home }
    }

    fn restore(&self, more: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_raspi-mcp"));
        let (pin, code) = (self.up.pin.to_string(), self.fresh.code().to_string());
        command.env_clear().env("HOME", self.home.path()).current_dir(self.home.path());
        command.args(["claim", &self.up.url(""), "--fingerprint", &pin, "--code", &code, "--restore", "backup"]);
        command.args(["--passphrase-file", "passphrase"]).args(more);
        command
    }

    /// Whether the old machine's owner got in after the next start, and who approves.
    async fn lets_in(self) -> (bool, Vec<String>) {
        let (up, approvers) = restarted(&self.fresh, self.up).await;
        (up.calls(Some(&self.token)).await.0 == 200, approvers)
    }
}

#[tokio::test]
async fn only_yes_typed_after_the_question_lets_them_in() {
    let card = Card::new().await;
    for (before, answer) in [("", "no\n"), ("", "\n"), ("", "y\n"), ("yes\n", "\n"), ("yes\nyes\n", "yes no\n")] {
        let mut terminal = Terminal::with(card.restore(&[]), before);
        terminal.shows("approver:anna", 1).await;
        terminal.shows("token:owner", 1).await;
        terminal.shows(QUESTION, 1).await;
        terminal.listens().await;
        terminal.types(answer);
        let screen = terminal.ends_with(5).await;
        assert!(!screen.contains("was recorded"), "{before:?} {answer:?}: {screen}");
        assert!(card.fresh.folder().claim().unwrap().is_some(), "its code still waits");
    }
    assert_eq!(card.fresh.tries_left(), 5, "nothing was sent");
    let mut terminal = Terminal::with(card.restore(&[]), "");
    terminal.shows(QUESTION, 1).await;
    terminal.listens().await;
    terminal.types("yes\n");
    terminal.shows("The backup was recorded", 1).await;
    terminal.ends().await;
    assert_eq!(card.lets_in().await, (true, vec!["anna".to_owned()]));
}

#[tokio::test]
async fn who_is_left_out_is_not_asked_about_and_does_not_come_back() {
    let card = Card::new().await;
    let mut terminal = Terminal::with(card.restore(&["--without", "approver:anna"]), "");
    terminal.shows(QUESTION, 1).await;
    terminal.listens().await;
    terminal.types("yes\n");
    terminal.shows("The backup was recorded", 1).await;
    let screen = terminal.ends().await;
    assert!(!screen.contains("approver:anna"), "{screen}");
    assert_eq!(card.lets_in().await, (true, Vec::new()));
}

#[tokio::test]
async fn without_a_person_to_ask_nothing_is_restored_unless_told() {
    let card = Card::new().await;
    let runs = async |more: &[&str]| {
        let mut command = tokio::process::Command::from(card.restore(more));
        let output = soon(command.stdin(Stdio::null()).output()).await.unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    let (exit, why) = runs(&[]).await;
    assert!(exit == Some(5) && why.contains("give --yes") && why.contains("approver:anna"), "{exit:?} {why}");
    let (exit, why) = runs(&["--without", "approver:nobody", "--yes"]).await;
    assert!(exit == Some(2) && why.contains("token:owner"), "{exit:?} {why}");
    assert!(card.fresh.folder().claim().unwrap().is_some(), "its code still waits");
    let (exit, why) = runs(&["--yes"]).await;
    assert_eq!(exit, Some(0), "{why}");
    assert_eq!(card.lets_in().await, (true, vec!["anna".to_owned()]));
}
