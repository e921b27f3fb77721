//! Names of services (systemd.unit(5)): one parser for both halves, so that they never interpret a name differently.

use crate::error::ToolError;
use std::fmt;

/// Longest name from a caller, in characters: a unit's has 255 at most (systemd's UNIT_NAME_MAX), and ".service" may
/// have to be added. Every service can be named within that limit, without ".service" if necessary.
pub const LONGEST: usize = 255 - SUFFIX.len();
/// The accepted form; [`ServiceName::parse`] then adds ".service" if it is missing.
pub const PATTERN: &str = r"^[A-Za-z0-9_:\\][A-Za-z0-9_:.\\-]*(@[A-Za-z0-9_:.\\@-]+)?$";
const SUFFIX: &str = ".service";
/// The other kinds of units, which are not supported here.
const OTHERS: &[&str] =
    &["socket", "target", "device", "mount", "automount", "swap", "timer", "path", "slice", "scope", "snapshot"];

/// The full name of one service, like `nginx.service` or `backup@home.service`. Neither a template nor another kind of
/// unit.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ServiceName(String);

impl ServiceName {
    /// Parses a caller's spelling: `nginx` or `nginx.service`.
    ///
    /// # Errors
    /// `invalid_argument` with the accepted form.
    pub fn parse(text: &str) -> Result<Self, ToolError> {
        let refuse = |why: String| Err(ToolError::invalid(why).with("parameter", "service_name"));
        if !fits(text) {
            let shown: String = text.chars().take(80).collect();
            return refuse(format!(
                "{shown:?} is no name of a service: 1 to {LONGEST} of a-z, A-Z, 0-9, \":\", \"-\", \"_\", \".\" and \"\\\", for an \
                 instance with one \"@\" in it"
            ));
        }
        if let Some((_, kind)) = text.rsplit_once('.').filter(|(_, end)| OTHERS.contains(end)) {
            return refuse(format!("{text} is a {kind}; only services are served here"));
        }
        let name = if text.ends_with(SUFFIX) { text.to_owned() } else { format!("{text}{SUFFIX}") };
        let stem = name.strip_suffix(SUFFIX).unwrap_or_default();
        if stem.ends_with('@') || stem.is_empty() {
            return refuse(format!("{name} is a template; name an instance of it, like {stem}1{SUFFIX}"));
        }
        Ok(Self(name))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Without ".service".
    pub fn stem(&self) -> &str {
        self.0.strip_suffix(SUFFIX).unwrap_or(&self.0)
    }

    /// The template of an instance, which is the name of its file: `backup@.service`.
    pub fn template(&self) -> Option<String> {
        template(&self.0)
    }
}

/// Whether `text` fits [`PATTERN`] and [`LONGEST`].
pub fn fits(text: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_:\\".contains(&byte);
    let inner = |byte: u8| plain(byte) || b".-".contains(&byte);
    let (prefix, instance) = match text.split_once('@') {
        Some((prefix, instance)) => (prefix, Some(instance)),
        None => (text, None),
    };
    text.len() <= LONGEST
        && prefix.bytes().next().is_some_and(plain)
        && prefix.bytes().all(inner)
        && instance.is_none_or(|text| !text.is_empty() && text.bytes().all(|byte| inner(byte) || byte == b'@'))
}

/// `backup@.service` for `backup@home.service`.
pub fn template(unit: &str) -> Option<String> {
    let (prefix, rest) = unit.split_once('@')?;
    let (instance, kind) = rest.rsplit_once('.')?;
    (!instance.is_empty()).then(|| format!("{prefix}@.{kind}"))
}

/// The D-Bus path of the unit `name`: everything except letters and digits is escaped as `_` and two hexadecimal
/// digits, and so is a leading digit (systemd's bus_label_escape).
pub fn object_path(name: &str) -> String {
    let mut path = format!("{}/unit/", super::PATH);
    for (at, byte) in name.bytes().enumerate() {
        if byte.is_ascii_alphabetic() || (byte.is_ascii_digit() && at > 0) {
            path.push(char::from(byte));
        } else {
            path.push_str(&format!("_{byte:02x}"));
        }
    }
    path
}

impl fmt::Display for ServiceName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_given_with_and_without_its_kind() {
        for (given, full) in [
            ("nginx", "nginx.service"),
            ("nginx.service", "nginx.service"),
            ("my.app", "my.app.service"),
            ("backup@home", "backup@home.service"),
            ("a@b@c.service", "a@b@c.service"),
            (r"fsck@dev-disk-by\x2duuid.service", r"fsck@dev-disk-by\x2duuid.service"),
        ] {
            assert_eq!(ServiceName::parse(given).unwrap().as_str(), full);
        }
        let longest = "x".repeat(LONGEST);
        assert_eq!(ServiceName::parse(&longest).unwrap().as_str().len(), 255);
    }

    #[test]
    fn what_could_mean_something_else_is_no_name() {
        let long = "x".repeat(LONGEST + 1);
        for bad in [
            "",
            ".",
            "..",
            "-",
            "--force",
            "-.slice",
            "@",
            "@a",
            "a@",
            "getty@.service",
            ".service",
            "a b",
            "a/b",
            "../a.service",
            "a\n",
            "a\0",
            "a\0.service",
            "ünï",
            "a;b",
            "$(a)",
            "a*",
            "[ab]",
            "a=b",
            "a,b",
            "a%n",
            "dbus.socket",
            "multi-user.target",
            "init.scope",
            "x.slice",
            "home.mount",
            "apt.timer",
            &long,
        ] {
            let refused = ServiceName::parse(bad).unwrap_err();
            assert_eq!(refused.details["parameter"], "service_name", "{bad:?}");
        }
    }

    #[test]
    fn the_bus_has_its_own_spelling() {
        let path = |name| object_path(name).rsplit('/').next().unwrap().to_owned();
        assert_eq!(path("dbus.service"), "dbus_2eservice");
        assert_eq!(path("getty@tty1.service"), "getty_40tty1_2eservice");
        assert_eq!(path("3proxy.service"), "_33proxy_2eservice");
        assert_eq!(template("getty@tty1.service").as_deref(), Some("getty@.service"));
        assert_eq!((template("dbus.service"), template("getty@.service")), (None, None));
    }
}
