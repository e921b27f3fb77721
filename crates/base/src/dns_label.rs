//! Labels of DNS names, used as names of fleets and devices: such a label is also one token of a broker's subject.

/// Characters of a label, at most (RFC 1035, section 2.3.4).
pub const MAX_LABEL: usize = 63;

/// Whether `text` is a label in lower case: 1 to [`MAX_LABEL`] of a-z, 0-9 and `-`, with no `-` at either end.
pub fn is_label(text: &str) -> bool {
    (1..=MAX_LABEL).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
        && !text.starts_with('-')
        && !text.ends_with('-')
}
