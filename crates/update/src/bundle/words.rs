//! Syntax of names, versions and times in signed content.

/// The largest integer that every JSON reader represents exactly: 2^53 - 1.
pub const MAX_NUMBER: u64 = (1 << 53) - 1;
/// 9999-12-31T23:59:59Z.
const LAST_SECOND: u64 = 253_402_300_799;

/// 1 to 64 lower-case letters, digits, `.`, `_`, `-`, `,`, beginning with a letter or digit: names of products,
/// channels, layouts, compatibles.
pub fn is_word(text: &str) -> bool {
    let fits =
        |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'.' | b'_' | b'-' | b',');
    (1..=64).contains(&text.len())
        && text.bytes().all(fits)
        && text.bytes().next().is_some_and(|first| first.is_ascii_alphanumeric())
}

/// The name of a systemd service, of at most 255 bytes.
pub fn is_service(text: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b":-_.\\@".contains(&byte);
    text.strip_suffix(".service").is_some_and(|stem| !stem.is_empty() && stem.bytes().all(plain)) && text.len() <= 255
}

/// A semantic version (semver.org, 2.0.0) of at most 64 bytes.
pub fn is_version(text: &str) -> bool {
    let number = |part: &str| {
        !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()) && (part == "0" || !part.starts_with('0'))
    };
    let label = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    let pre = |part: &str| label(part) && (number(part) || !part.bytes().all(|byte| byte.is_ascii_digit()));
    let (rest, build) = text.split_once('+').map_or((text, None), |(rest, build)| (rest, Some(build)));
    let (core, before) = rest.split_once('-').map_or((rest, None), |(core, before)| (core, Some(before)));
    text.len() <= 64
        && core.split('.').count() == 3
        && core.split('.').all(number)
        && before.is_none_or(|before| before.split('.').all(pre))
        && build.is_none_or(|build| build.split('.').all(label))
}

/// Seconds since 1970, up to the year 9999.
pub const fn is_time(seconds: u64) -> bool {
    seconds <= LAST_SECOND
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_semantic() {
        for good in ["0.0.0", "1.2.3", "10.20.30-rc.1", "1.0.0-alpha-1.0+build.01", "1.0.0+20261122"] {
            assert!(is_version(good), "{good}");
        }
        for bad in [
            "",
            "1",
            "1.2",
            "1.2.3.4",
            "01.2.3",
            "1.2.3-",
            "1.2.3-01",
            "1.2.3+",
            "v1.2.3",
            "1.2.3-a..b",
            "1.2.3 ",
            "1.2.3\n",
        ] {
            assert!(!is_version(bad), "{bad}");
        }
    }

    #[test]
    fn words_are_short_and_plain() {
        for good in ["raspi-mcp", "mbr-ab-1", "raspberrypi,5-model-b", "stable", "0"] {
            assert!(is_word(good), "{good}");
        }
        for bad in ["", "Stable", "a b", "../x", "-a", ".a", "a\0", "ü", &"a".repeat(65)] {
            assert!(!is_word(bad), "{bad}");
        }
    }
}
