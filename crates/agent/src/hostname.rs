//! Validation of host names.

use base::error::ToolError;

/// Longest host name: one DNS label (RFC 1035, section 2.3.4). Linux allows 64.
pub const LONGEST: usize = 63;
/// One label of RFC 1123, section 2.1, in lower case.
pub const PATTERN: &str = "^[a-z0-9]([a-z0-9-]*[a-z0-9])?$";

/// Whether `name` fits [`PATTERN`] and [`LONGEST`].
pub fn is_label(name: &str) -> bool {
    let bytes = name.as_bytes();
    let inner = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    (1..=LONGEST).contains(&bytes.len())
        && bytes.iter().all(|byte| inner(byte) || *byte == b'-')
        && bytes.first().is_some_and(inner)
        && bytes.last().is_some_and(inner)
}

/// # Errors
/// `invalid_argument` with the allowed form.
pub fn check(name: &str) -> Result<(), ToolError> {
    // That name is every machine's loopback address.
    if is_label(name) && name != "localhost" {
        return Ok(());
    }
    Err(ToolError::invalid("this cannot be the name of a host")
        .with("parameter", "hostname")
        .with("provided_value", name.chars().take(LONGEST + 1).collect::<String>())
        .hint("1 to 63 of a-z, 0-9 and -, neither first nor last a -; and not localhost"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_label_in_lower_case() {
        let longest = "a".repeat(LONGEST);
        for good in ["pi", "4", "kitchen-pi-2", longest.as_str()] {
            assert!(check(good).is_ok(), "{good}");
        }
        let too_long = "a".repeat(LONGEST + 1);
        for bad in ["", "-pi", "pi-", "Pi", "pi.local", "pi\n", "käse", "a b", "localhost", too_long.as_str()] {
            assert!(check(bad).is_err(), "{bad:?}");
        }
    }
}
