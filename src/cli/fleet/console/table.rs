//! A fleet with a broker, for people: one line for each device, and its problems below it.

use crate::{
    cli::fleet::table::{SENTENCE, WIDEST, cut, line, widths},
    fleet::console::{
        book::RefusedMessage,
        filter::{Counts, DeviceGrouping},
        report::DeviceRow,
    },
    terminal::printable,
};
use std::{collections::BTreeMap, fmt::Write};

const HEADINGS: [&str; 7] = ["NAME", "VERSION", "RUNS", "LAST UPDATE", "HEARD", "HEALTH", "TAGS"];

/// The whole text, without the final newline.
pub fn drawn(rows: &[DeviceRow<'_>]) -> String {
    let cells: Vec<[String; 7]> = rows.iter().map(row).collect();
    let widths = widths(&HEADINGS, &cells);
    let mut text = line(&HEADINGS.map(String::from), &widths);
    for (cells, row) in cells.iter().zip(rows) {
        text.push_str(&line(cells, &widths));
        let went_back = row
            .attempt()
            .filter(|attempt| matches!(attempt.phase.as_str(), "rolled_back" | "failed") && !attempt.reason.is_empty());
        if let Some(attempt) = went_back {
            let said = format!("{} {}: {}", attempt.version, attempt.phase.replace('_', " "), attempt.reason);
            let _ = writeln!(text, "  {}", cut(&printable(&said), SENTENCE));
        }
        for problem in row.problems() {
            let _ = writeln!(text, "  wrong: {}", cut(&printable(&problem), SENTENCE));
        }
    }
    let [good, wrong, unknown, silent] = counted(rows);
    let all = if rows.len() == 1 { "1 device".to_owned() } else { format!("{} devices", rows.len()) };
    let _ = write!(text, "{all}: {good} good, {wrong} with something wrong, {unknown} unknown, {silent} silent");
    if rows.iter().any(|row| row.status.is_some_and(|status| status.document.simulated)) {
        text.push_str("; some are simulated");
    }
    text
}

fn row(row: &DeviceRow<'_>) -> [String; 7] {
    let dash = |text: Option<String>| text.unwrap_or_else(|| "-".into());
    let document = row.status.map(|status| &status.document);
    let runs = document.and_then(|document| Some(format!("{} {}", document.slot.as_ref()?, document.state.as_ref()?)));
    let attempt = row.attempt().map(|attempt| format!("{} {}", attempt.version, attempt.phase.replace('_', " ")));
    let heard = row.made_ms().map(|made| ago(row.silence.now_ms - made));
    [
        row.device.name.clone(),
        dash(row.version().map(str::to_owned)),
        dash(runs),
        dash(attempt),
        dash(heard),
        row.health().word().to_owned(),
        row.tags().collect::<Vec<_>>().join(","),
    ]
    .map(|cell| cut(&printable(&cell), WIDEST))
}

/// How long ago, in one unit.
fn ago(ms: i64) -> String {
    match ms.max(0) / 1_000 {
        seconds @ 0..=119 => format!("{seconds} s"),
        seconds @ 120..=7_199 => format!("{} min", seconds / 60),
        seconds @ 7_200..=172_799 => format!("{} h", seconds / 3_600),
        seconds => format!("{} days", seconds / 86_400),
    }
}

/// How many devices there are of each health.
pub fn counted(rows: &[DeviceRow<'_>]) -> Counts {
    let mut counts = Counts::default();
    for row in rows {
        counts[row.health() as usize] += 1;
    }
    counts
}

/// One line for each group, without the final newline.
pub fn grouped(groups: &BTreeMap<String, Counts>, by: DeviceGrouping) -> String {
    let heading = match by {
        DeviceGrouping::Version => "VERSION",
        DeviceGrouping::Health => "HEALTH",
        DeviceGrouping::Tag => "TAG",
        DeviceGrouping::Update => "LAST UPDATE",
    };
    let headings = [heading, "DEVICES", "GOOD", "WRONG", "UNKNOWN", "SILENT", ""];
    let row = |(name, counts): (&String, &Counts)| {
        let name = cut(&printable(name), WIDEST);
        let [good, wrong, unknown, silent] = counts.map(|count| count.to_string());
        [name, counts.iter().sum::<usize>().to_string(), good, wrong, unknown, silent, String::new()]
    };
    let rows: Vec<[String; 7]> = groups.iter().map(row).collect();
    let widths = widths(&headings, &rows);
    let mut text = line(&headings.map(String::from), &widths);
    for row in &rows {
        text.push_str(&line(row, &widths));
    }
    text.truncate(text.trim_end().len());
    text
}

/// What is refused among statuses.
pub const STATUS: (&str, &str) = ("status", "statuses");

/// A sentence about messages that were refused. `what`: one of them, and several.
pub fn refusal(name: &str, refused: &RefusedMessage, what: (&str, &str)) -> String {
    let by = refused.by.as_ref().map(|by| format!(" {by} signed it.")).unwrap_or_default();
    let (one, several) = what;
    let count = if refused.count == 1 { format!("a {one}") } else { format!("{} {several}", refused.count) };
    let said = format!("refused: {count} under the name {name}: {}.{by}", refused.why);
    cut(&printable(&said), SENTENCE)
}

#[cfg(test)]
mod tests {
    use super::ago;

    #[test]
    fn a_time_is_told_in_the_unit_that_fits() {
        for (seconds, told) in [(-5, "0 s"), (119, "119 s"), (120, "2 min"), (7_200, "2 h"), (172_800, "2 days")] {
            assert_eq!(ago(seconds * 1_000), told);
        }
    }
}
