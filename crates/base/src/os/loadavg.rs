//! The load average: `/proc/loadavg`.

use super::{Root, malformed};
use std::io;

const FILE: &str = "proc/loadavg";

/// Means over the last 1, 5 and 15 minutes.
///
/// # Errors
/// `NotFound` without procfs, `InvalidData` when there are not three numbers.
pub fn read(root: &Root) -> io::Result<[f64; 3]> {
    parse(&root.read(FILE)?)
}

fn parse(text: &str) -> io::Result<[f64; 3]> {
    let mut means = text.split_whitespace().map_while(|mean| mean.parse().ok().filter(|mean: &f64| mean.is_finite()));
    match (means.next(), means.next(), means.next()) {
        (Some(one), Some(five), Some(fifteen)) => Ok([one, five, fifteen]),
        _ => Err(malformed(FILE, "it does not start with three numbers")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn good_and_malformed() {
        assert_eq!(parse("0.03 0.08 1.5 2/189 1502\n").unwrap(), [0.03, 0.08, 1.5]);
        for bad in ["", "0.1 0.2", "0.1 inf 0.3", "low 0.2 0.3"] {
            assert!(parse(bad).is_err(), "{bad:?}");
        }
    }
}
