//! Whether the journal's boots follow each other in time. A board without a clock of its own starts with the time that
//! it saved last; after a power cut that is before its last lines. journalctl takes times for sorted, and leaves out
//! what lies behind the first line outside of a range.

use super::{journal::journalctl, root::Root};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};

/// Most bytes read of the list, which has some 90 a boot.
const LONGEST: u64 = 256 * 1024;
/// Length of `2026-01-15 14:10:00`.
const STAMP: usize = 19;

/// Whether a boot began, by its clock, before the one before it had ended. False where the list cannot be had.
pub async fn overlap(root: &Root) -> bool {
    let Some(mut command) = journalctl(root) else { return false };
    let Ok(mut child) = command.args(["--no-pager", "--list-boots"]).spawn() else { return false };
    let Some(out) = child.stdout.take() else { return false };
    let mut lines = BufReader::new(out.take(LONGEST)).split(b'\n');
    let mut last: Option<String> = None;
    while let Ok(Some(line)) = lines.next_segment().await {
        let Some((began, ended)) = times(&String::from_utf8_lossy(&line)) else { continue };
        if last.is_some_and(|last| began < last) {
            return true;
        }
        last = Some(ended);
    }
    // Reaped; how it ended says no more than its list.
    let _ = child.wait().await;
    false
}

/// When a boot began and ended, of `-1 8f..e2 Wed 2026-01-14 10:00:00 UTC—Thu 2026-01-15 14:10:00 UTC`, whatever is
/// around them: as text they sort like times. `None` for a line of another form.
fn times(line: &str) -> Option<(String, String)> {
    let is_stamp = |text: &str| {
        text.bytes().zip("0000-00-00 00:00:00".bytes()).all(|(byte, form)| match form {
            b'0' => byte.is_ascii_digit(),
            form => byte == form,
        })
    };
    let mut found = (0..line.len()).filter_map(|at| line.get(at..at + STAMP)).filter(|text| is_stamp(text));
    Some((found.next()?.to_owned(), found.next()?.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_of_the_list_have_times() {
        let expected = Some(("2026-01-14 10:00:00".to_owned(), "2026-01-15 14:10:00".to_owned()));
        for line in [
            "-1 8f1e Wed 2026-01-14 10:00:00 UTC—Thu 2026-01-15 14:10:00 UTC",
            " -1 8f1e Wed 2026-01-14 10:00:00 UTC Thu 2026-01-15 14:10:00 UTC",
        ] {
            assert_eq!(times(line), expected, "{line}");
        }
        for other in ["IDX BOOT ID FIRST ENTRY LAST ENTRY", "", "-1 8f1e Wed 2026-01-14 10:00:00 UTC", "——"] {
            assert_eq!(times(other), None, "{other}");
        }
    }
}
