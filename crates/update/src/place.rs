//! The location of a file: an https address, or a file system of this machine.

use base::{error::ToolError, redact::shown_address};
use std::{fmt, path::PathBuf};
use url::Url;

/// One location of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileLocation {
    /// Its address; the scheme is https.
    Web(Url),
    /// An absolute path, such as on a USB stick.
    File(PathBuf),
}

/// The longest address, in bytes.
const LONGEST: usize = 2048;

impl FileLocation {
    /// Parses `https://…`, `file:///…` or an absolute path.
    ///
    /// # Errors
    /// `invalid_argument` for anything else; http is refused by name.
    pub fn parse(text: &str) -> Result<Self, ToolError> {
        let refused = |why: &str| {
            Err(ToolError::invalid(format!("an update cannot come from there: {why}"))
                .with("place", shown_address(text).chars().take(200).collect::<String>())
                .hint("give an address that begins with https://, or the full path of a bundle on this machine"))
        };
        if text.len() > LONGEST || text.contains(char::is_control) {
            return refused("it is too long, or holds characters that no address has");
        }
        if text.starts_with('/') {
            return Self::file(text).map_or_else(refused, Ok);
        }
        let Ok(url) = text.parse::<Url>() else {
            // This build has no Unicode tables (Cargo.toml); the caller can look up the name's DNS form.
            return refused(if text.is_ascii() {
                "it is no address"
            } else {
                "it is no address; a server's name has ASCII only, like xn--bcher-kva.example"
            });
        };
        match url.scheme() {
            "https" if !url.username().is_empty() || url.password().is_some() => {
                refused("it holds a name or a password, and those end in logs")
            }
            "https" if url.host_str().is_some() => Ok(Self::Web(url)),
            "file" => match url.to_file_path().ok().as_deref().and_then(|path| path.to_str()) {
                Some(path) => Self::file(path).map_or_else(refused, Ok),
                None => refused("it is no path of this machine"),
            },
            "http" => refused("http:// can be read and changed by everybody on the way"),
            _ => refused("it is neither https:// nor a path"),
        }
    }

    fn file(text: &str) -> Result<Self, &'static str> {
        let path = PathBuf::from(text);
        let climbs = path.components().any(|part| part.as_os_str() == "..");
        if climbs { Err("a path must not climb by \"..\"") } else { Ok(Self::File(path)) }
    }

    /// Resolves `reference` (for example of a channel's index) against `base`: itself if it is absolute, otherwise
    /// below the base.
    ///
    /// # Errors
    /// `invalid_argument` when it is neither, or leaves the base.
    pub fn join(base: &str, reference: &str) -> Result<Self, ToolError> {
        if reference.contains("://") {
            return match Self::parse(reference)? {
                web @ Self::Web(_) => Ok(web),
                // A server's text must not make a device read its own files.
                Self::File(_) => Err(ToolError::invalid(format!("{reference} is no address"))),
            };
        }
        let climbs = reference.split(['/', '\\']).any(|part| matches!(part, "" | "." | ".."));
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~/+".contains(&byte);
        if climbs || !reference.bytes().all(plain) {
            return Err(ToolError::invalid(format!("{reference:?} is no path below {base}")));
        }
        Self::parse(&format!("{}/{reference}", base.trim_end_matches('/')))
    }
}

impl fmt::Display for FileLocation {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            // A query may contain a key for this download.
            Self::Web(url) => write!(out, "{}{}", url.origin().ascii_serialization(), url.path()),
            Self::File(path) => write!(out, "{}", path.display()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_https_or_a_path() {
        assert_eq!(FileLocation::parse("/media/usb/v2.bundle"), Ok(FileLocation::File("/media/usb/v2.bundle".into())));
        assert_eq!(
            FileLocation::parse("file:///media/usb/v2.bundle"),
            Ok(FileLocation::File("/media/usb/v2.bundle".into()))
        );
        assert_eq!(FileLocation::parse("https://x.org/a?sig=1").unwrap().to_string(), "https://x.org/a");
        assert_eq!(
            FileLocation::parse("https://xn--bcher-kva.org/ü").unwrap().to_string(),
            "https://xn--bcher-kva.org/%C3%BC"
        );
        assert!(FileLocation::parse("https://bücher.org/a").unwrap_err().message.contains("xn--"));
        for bad in [
            "",
            "http://x.org/a",
            "ftp://x.org/a",
            "x.org/a",
            "https://",
            "https://me:word@x.org/a",
            "file://host/a",
            "/a/../b",
            "https://x.org/a\n",
            "javascript:x",
            "../a",
            "/a\0",
        ] {
            let error = FileLocation::parse(bad).unwrap_err();
            assert!(error.hint.is_some(), "{bad:?}");
        }
        assert!(FileLocation::parse(&format!("https://x.org/{}", "a".repeat(3000))).is_err());
    }

    #[test]
    fn a_reference_stays_below_its_base() {
        let join = |reference: &str| FileLocation::join("https://x.org/pi/", reference).map(|place| place.to_string());
        assert_eq!(join("bundles/v2.bundle").unwrap(), "https://x.org/pi/bundles/v2.bundle");
        assert_eq!(join("https://cdn.org/v2").unwrap(), "https://cdn.org/v2");
        for bad in [
            "",
            "/etc/passwd",
            "../v2",
            "a//b",
            "a/../../b",
            "a\\..\\b",
            "file:///etc/passwd",
            "http://x.org/",
            "a?b",
            "a#b",
            "//x.org/a",
            "a%2e%2e/b",
        ] {
            assert!(join(bad).is_err(), "{bad}");
        }
    }
}
