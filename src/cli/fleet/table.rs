//! A fleet for people: one line for each device, with details below it.

use crate::{
    fleet::report::{DeviceReport, SlotReport},
    terminal::printable,
};
use std::fmt::Write;

/// Longest text below a device, in characters: --json has all of it.
pub(super) const SENTENCE: usize = 400;
/// Widest column, in characters.
pub(super) const WIDEST: usize = 48;
const HEADINGS: [&str; 7] = ["NAME", "ADDRESS", "VERSION", "RUNS", "OTHER SLOT", "LAST UPDATE", "HEALTH"];

/// The whole text, without the final newline.
pub fn drawn(reports: &[DeviceReport]) -> String {
    let rows: Vec<[String; 7]> = reports.iter().map(row).collect();
    let widths = widths(&HEADINGS, &rows);
    let mut text = line(&HEADINGS.map(String::from), &widths);
    for (row, report) in rows.iter().zip(reports) {
        text.push_str(&line(row, &widths));
        below(report, &mut text);
    }
    text.push_str(&summary(reports));
    text
}

/// How wide each column is.
pub(super) fn widths(headings: &[&str; 7], rows: &[[String; 7]]) -> [usize; 7] {
    let mut widths = headings.map(str::len);
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    widths
}

fn row(report: &DeviceReport) -> [String; 7] {
    let slot = |slot: &Option<SlotReport>| {
        slot.as_ref().map_or_else(
            || "-".into(),
            |slot| {
                let version = slot.version.as_ref().map(|version| format!(" ({version})")).unwrap_or_default();
                format!("{} {}{version}", slot.slot, slot.state)
            },
        )
    };
    let runs = report.running.as_ref().map(|slot| format!("{} {}", slot.slot, slot.state));
    let last = report.last_attempt.as_ref();
    let last = last.map(|last| format!("{} {}", last.version, last.phase.replace('_', " ")));
    let health = match report.healthy {
        None => "no answer".to_owned(),
        Some(true) => "good".to_owned(),
        Some(false) => format!("{} wrong", report.problems.len()),
    };
    let dash = |text: Option<String>| text.unwrap_or_else(|| "-".into());
    [
        report.name.clone(),
        report.url.trim_end_matches("/mcp").to_owned(),
        dash(report.version.clone()),
        dash(runs),
        slot(&report.other),
        dash(last),
        health,
    ]
    .map(|cell| cut(&printable(&cell), WIDEST))
}

/// Why it does not answer and what to do; why its update was rolled back; its problems.
fn below(report: &DeviceReport, text: &mut String) {
    let mut say = |what: &str, sentence: &str| {
        let _ = writeln!(text, "  {what}{}", cut(&printable(sentence), SENTENCE));
    };
    if let Some(error) = &report.error {
        say("", &error.message);
        if let Some(hint) = &error.hint {
            say("-> ", hint);
        }
    }
    if let Some(last) = &report.last_attempt
        && matches!(last.phase.as_str(), "rolled_back" | "failed")
        && !last.reason.is_empty()
    {
        say(&format!("{} {}: ", printable(&last.version), last.phase.replace('_', " ")), &last.reason);
    }
    for problem in &report.problems {
        say("wrong: ", problem);
    }
}

fn summary(reports: &[DeviceReport]) -> String {
    let count = |is: fn(&DeviceReport) -> bool| reports.iter().filter(|report| is(report)).count();
    let healthy = count(|report| report.healthy == Some(true));
    let wrong = count(|report| report.healthy == Some(false));
    let silent = count(|report| !report.answers);
    let all = match reports.len() {
        1 => "1 device".to_owned(),
        many => format!("{many} devices"),
    };
    let mut text = format!("{all}: {healthy} good, {wrong} with something wrong, {silent} without an answer");
    if reports.iter().any(|report| report.simulated) {
        text.push_str("; some are simulated");
    }
    text
}

pub(super) fn line(cells: &[String; 7], widths: &[usize; 7]) -> String {
    let mut line = String::new();
    for (cell, width) in cells.iter().zip(widths) {
        let _ = write!(line, "{cell:<width$}  ");
    }
    line.truncate(line.trim_end().len());
    line.push('\n');
    line
}

pub(super) fn cut(text: &str, longest: usize) -> String {
    if text.chars().count() <= longest {
        return text.to_owned();
    }
    text.chars().take(longest - 1).chain(['…']).collect()
}
