//! The distribution: `/etc/os-release`, otherwise `/usr/lib/os-release` (format: os-release(5)).

use super::Root;
use std::{collections::BTreeMap, io};

const FILES: [&str; 2] = ["etc/os-release", "usr/lib/os-release"];

/// The distribution's description of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OsRelease {
    /// `NAME`; "Linux" when it is missing (os-release(5)).
    pub name: String,
    /// `VERSION`, otherwise the most informative optional field; `None` for a rolling release without any.
    pub version: Option<String>,
    /// `ID`: `debian`, `raspbian`.
    pub id: String,
}

/// # Errors
/// `NotFound` without either file; `InvalidData` for invalid UTF-8. Lines that are not assignments are skipped, as
/// os-release(5) requires.
pub fn read(root: &Root) -> io::Result<OsRelease> {
    let text = root.read(FILES[0]).or_else(|fault| match fault.kind() {
        io::ErrorKind::NotFound => root.read(FILES[1]),
        _ => Err(fault),
    })?;
    Ok(parse(&text))
}

fn parse(text: &str) -> OsRelease {
    let fields: BTreeMap<&str, String> = crate::sort::map(
        text.lines()
            .map(str::trim)
            .filter(|line| !line.starts_with('#'))
            .filter_map(|line| line.split_once('='))
            .map(|(key, value)| (key, unquoted(value)))
            .filter(|(_, value)| !value.is_empty()),
    );
    let first = |keys: &[&str]| keys.iter().find_map(|key| fields.get(key).cloned());
    OsRelease {
        name: first(&["NAME"]).unwrap_or_else(|| "Linux".into()),
        version: first(&["VERSION", "VERSION_ID", "IMAGE_VERSION", "VERSION_CODENAME", "BUILD_ID"]),
        id: first(&["ID"]).unwrap_or_else(|| "linux".into()),
    }
}

/// The shell quoting of os-release(5): one pair of quotes, a backslash before `$`, `"`, `\` and a backtick.
fn unquoted(value: &str) -> String {
    let value = value.trim();
    let inner = |quote: char| value.strip_prefix(quote).and_then(|value| value.strip_suffix(quote));
    if let Some(literal) = inner('\'') {
        return literal.to_owned();
    }
    let mut plain = String::new();
    let mut letters = inner('"').unwrap_or(value).chars();
    while let Some(letter) = letters.next() {
        plain.extend(if letter == '\\' { letters.next() } else { Some(letter) });
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn good() {
        let debian = parse(
            "PRETTY_NAME=\"x\"\nNAME=\"Debian GNU/Linux\"\nVERSION_ID=\"12\"\nVERSION=\"12 (bookworm)\"\nID=debian\n",
        );
        assert_eq!((debian.name.as_str(), debian.version.as_deref()), ("Debian GNU/Linux", Some("12 (bookworm)")));
        assert_eq!(debian.id, "debian");
    }

    #[test]
    fn quotes_and_defaults() {
        assert_eq!(parse("# a comment\nNAME='It is \"quoted\"'\n").name, "It is \"quoted\"");
        assert_eq!(parse("NAME=\"a \\\"b\\\" \\$c\"\n").name, "a \"b\" $c");
        let rolling = parse("not an assignment\nID=arch\nBUILD_ID=rolling\n");
        assert_eq!((rolling.name.as_str(), rolling.version.as_deref()), ("Linux", Some("rolling")));
        assert_eq!(parse("").version, None);
    }
}
