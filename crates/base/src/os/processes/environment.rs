//! A process' arguments and environment, with secrets masked.

use crate::redact::{MASK, cut, is_secret_name, redact_command, redact_text};
use std::collections::BTreeMap;

/// Limit of variables per process, and of bytes per value.
const MOST: usize = 256;
const VALUE: usize = 1024;

/// `/proc/[pid]/environ`, masked.
pub fn variables(bytes: &[u8]) -> BTreeMap<String, String> {
    let variables = bytes.split(|byte| *byte == 0).filter_map(|part| {
        let text = String::from_utf8_lossy(part);
        let (name, value) = text.split_once('=')?;
        let value = if is_secret(name) { MASK.to_owned() } else { cut(&redact_text(value), VALUE) };
        (!name.is_empty()).then(|| (name.to_owned(), value))
    });
    crate::sort::map(variables.take(MOST))
}

/// Stricter than elsewhere: variables such as `DB_PASS` or `SIGNING_KEY` count as secrets here.
fn is_secret(name: &str) -> bool {
    let upper = name.to_ascii_uppercase();
    let at_end = ["PASS", "KEY", "AUTH", "DSN"].iter().any(|end| upper.ends_with(end));
    at_end || is_secret_name(&name.replace(['.', '/', ':'], "_"))
}

/// A command line, masked and cut.
pub fn arguments(args: Vec<String>) -> Vec<String> {
    redact_command(args).iter().map(|arg| cut(arg, VALUE)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_do_not_leave() {
        let environ = b"HOME=/root\0DB_PASS=hunter2\0AWS_SECRET_ACCESS_KEY=x\0URL=http://a:b@c/\0=odd\0nothing\0";
        let variables = variables(environ);
        assert_eq!(variables["HOME"], "/root");
        assert_eq!((variables["DB_PASS"].as_str(), variables["AWS_SECRET_ACCESS_KEY"].as_str()), (MASK, MASK));
        assert!(!variables["URL"].contains(":b@"), "{variables:?}");
        assert_eq!(variables.len(), 4);
    }

    #[test]
    fn nor_do_those_on_a_command_line() {
        let args = ["db", "--password=a", "--password", "b", "-v", "--token", "--next", "c"];
        let masked = arguments(args.map(str::to_owned).to_vec());
        assert_eq!(masked[..4], ["db".to_owned(), format!("--password={MASK}"), "--password".into(), MASK.into()]);
        assert_eq!(masked[4..], ["-v", "--token", "--next", "c"]);
    }
}
