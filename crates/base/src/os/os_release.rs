//! Which distribution runs: `/etc/os-release`, else `/usr/lib/os-release` (the format is os-release(5)).

use super::Root;
use std::{collections::BTreeMap, io};

const FILES: [&str; 2] = ["etc/os-release", "usr/lib/os-release"];

/// The distribution's own words about itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OsRelease {
    /// `NAME`, by os-release(5) "Linux" where it is missing.
    pub name: String,
    /// `VERSION`, else the most telling of the optional fields; `None` on a rolling release that has none.
    pub version: Option<String>,
    /// `ID`: `debian`, `raspbian`.
    pub id: String,
}

/// # Errors
/// `NotFound` when neither file is there; `InvalidData` when the file is no text. Lines that are no assignment are
/// skipped, as os-release(5) asks of readers.
pub fn read(root: &Root) -> io::Result<OsRelease> {
    let text = root.read(FILES[0]).or_else(|fault| match fault.kind() {
        io::ErrorKind::NotFound => root.read(FILES[1]),
        _ => Err(fault),
    })?;
    Ok(parse(&text))
}

fn parse(text: &str) -> OsRelease {
    let fields: BTreeMap<&str, String> = text
        .lines()
        .map(str::trim)
        .filter(|line| !line.starts_with('#'))
        .filter_map(|line| line.split_once('='))
        .map(|(key, value)| (key, unquoted(value)))
        .filter(|(_, value)| !value.is_empty())
        .collect();
    let first = |keys: &[&str]| keys.iter().find_map(|key| fields.get(key).cloned());
    OsRelease {
        name: first(&["NAME"]).unwrap_or_else(|| "Linux".into()),
        version: first(&["VERSION", "VERSION_ID", "IMAGE_VERSION", "VERSION_CODENAME", "BUILD_ID"]),
        id: first(&["ID"]).unwrap_or_else(|| "linux".into()),
    }
}

/// Shell quoting as far as os-release(5) allows it: one pair of quotes, a backslash before `$`, `"`, `\` and a backtick.
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
