//! Passwords in addresses, which are never printed: not in an error, not in a hint.

use super::MASK;
use std::borrow::Cow;

/// `text` with the user and password of each address in it masked: `https://[redacted]@host`.
pub fn without_passwords(text: &str) -> Cow<'_, str> {
    if !text.contains('@') || !text.contains("://") {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("://") {
        let (before, after) = rest.split_at(at + 3);
        out.push_str(before);
        let end = after.find(ends).unwrap_or(after.len());
        let login = login_len(&after[..end]);
        if login > 0 {
            out.push_str(MASK);
        }
        rest = &after[login..];
    }
    out.push_str(rest);
    Cow::Owned(out)
}

/// `address` as it may be shown: what somebody gave as one, with or without a scheme, and perhaps wrong.
pub fn shown_address(address: &str) -> String {
    match address.split_once("://") {
        Some(_) => without_passwords(address).into_owned(),
        None => match address.rfind('@') {
            Some(at) => format!("{MASK}{}", &address[at..]),
            None => address.to_owned(),
        },
    }
}

/// Whether an address in a text ends before this.
fn ends(c: char) -> bool {
    c.is_whitespace() || matches!(c, '"' | '\'' | '`' | '<' | '>')
}

/// The length of the user and password at the start of what follows `://`.
fn login_len(rest: &str) -> usize {
    let authority = &rest[..rest.find(['/', '?', '#', '\\']).unwrap_or(rest.len())];
    if let Some(at) = authority.rfind('@') {
        return at;
    }
    // A password with a slash ends the authority early: what stands behind the colon is no port then.
    let is_port = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    match authority.split_once(':') {
        Some((host, port)) if !host.starts_with('[') && !is_port(port) => rest.rfind('@').unwrap_or(0),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_password_of_an_address_is_left_in_a_text() {
        for (text, shown) in [
            ("--url https://bob:hunter2@pi:8765/mcp: wrong", "--url https://M@pi:8765/mcp: wrong"),
            ("http://hunter2@proxy \"https://a:b@c\"", "http://M@proxy \"https://M@c\""),
            ("ftp://bob:hun/ter2@host/x", "ftp://M@host/x"),
            ("https://bob:hun@ter2@host", "https://M@host"),
            // Nothing of the kind.
            ("https://host/@scope/pkg and https://[::1]:80/@x", "https://host/@scope/pkg and https://[::1]:80/@x"),
            ("https://host:8080/@x", "https://host:8080/@x"),
            ("foo@bar.service", "foo@bar.service"),
            ("see https://host; ask me@example.org", "see https://host; ask me@example.org"),
        ] {
            assert_eq!(without_passwords(text), shown.replace('M', MASK), "{text}");
        }
        assert_eq!(shown_address("bob:hunter2@pi:8765"), format!("{MASK}@pi:8765"));
        assert_eq!(shown_address("https//bob:hunter2@pi"), format!("{MASK}@pi"));
        assert_eq!(shown_address("pi.local:8765"), "pi.local:8765");
    }
}
