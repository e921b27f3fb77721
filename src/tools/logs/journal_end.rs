//! What the end of a journalctl means: it says it in words and by its exit code.

use base::{error::ToolError, os::journal::QueryEnd};

/// How a query ended that did not fail.
pub enum Verdict {
    /// With a note, if any.
    Fine(Option<String>),
    /// Why there is no journal.
    NoJournal(String),
}

/// Interprets how journalctl ended. `has_cursor`: it was to go on after a line.
///
/// # Errors
/// `unavailable` where this user may not read the journal, and for anything else that it complains about;
/// `invalid_argument` for a cursor that it does not know.
pub fn judged(ended: &QueryEnd, nothing_came: bool, has_cursor: bool) -> Result<Verdict, ToolError> {
    let said = ended.said.as_str();
    let has = |words: &str| said.contains(words);
    let none_opened = has("No journal files were opened") && !has("permission");
    if nothing_came && (has("No journal files were found") || none_opened) {
        return Ok(Verdict::NoJournal("there are no journal files on this machine".into()));
    }
    if has("insufficient permissions") || has("not seeing messages from other users") {
        let note = "only what this server's user may see: add it to the group systemd-journal for the rest";
        return if ended.success || !nothing_came {
            Ok(Verdict::Fine(Some(note.into())))
        } else {
            Err(ToolError::unavailable("this server's user may not read the journal")
                .hint("add it to the group systemd-journal and restart raspi-mcp"))
        };
    }
    if ended.success {
        return Ok(Verdict::Fine(None));
    }
    let short: String = said.lines().last().unwrap_or("it said nothing").chars().take(300).collect();
    if has_cursor && has("cursor") {
        return Err(ToolError::invalid(format!("journalctl does not know this cursor: {short}"))
            .with("parameter", "cursor")
            .hint("pass the next_cursor of an answer unchanged, or leave it out"));
    }
    // Without any line some versions exit with 1 and print nothing.
    if said.is_empty() {
        return Ok(Verdict::Fine(None));
    }
    Err(ToolError::unavailable(format!("journalctl failed: {short}")).hint("raspi-mcp doctor, or journalctl by hand"))
}
