//! The syntax of values (paths, names, hosts), and the wording of choices and sizes.

use super::found::quoted;
use base::nearest::nearest;
use std::{
    net::{IpAddr, Ipv6Addr},
    path::Path,
};

/// Namespaces of tools, including future ones, because configuration written for a newer version names them too.
pub const NAMESPACES: &[&str] = &[
    "system", "metrics", "network", "service", "process", "gpio", "i2c", "spi", "onewire", "serial", "camera", "logs",
    "manage", "files", "exec", "sensors", "fleet", "vector", "agents", "routeros",
];

/// `"a", "b" or "c"`.
pub fn one_of(words: &[&str]) -> String {
    let quoted: Vec<String> = words.iter().map(|word| quoted(word)).collect();
    match quoted.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} or {last}", rest.join(", ")),
        _ => quoted.concat(),
    }
}

/// "; did you mean ...?", or nothing.
pub fn meant<'a>(text: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    nearest(text, known).map(|word| format!("; did you mean \"{word}\"?")).unwrap_or_default()
}

/// 1048576 as "1048576 (1 MiB)".
pub fn sized(bytes: i64) -> String {
    const UNITS: [(i64, &str); 3] = [(1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
    match UNITS.iter().find(|(size, _)| bytes >= *size && bytes % size == 0) {
        Some((size, unit)) => format!("{bytes} ({} {unit})", bytes / size),
        None => bytes.to_string(),
    }
}

/// Whether it is an absolute path without `..` and control characters.
pub fn full_path(text: &str) -> bool {
    let path = Path::new(text);
    path.is_absolute() && !path.components().any(|part| part.as_os_str() == "..") && !text.contains(char::is_control)
}

/// 1 to `longest` of `[a-z0-9_-]`.
pub fn is_name(text: &str, longest: usize) -> bool {
    (1..=longest).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'_' | b'-'))
}

/// `name`, `name:port`, `[v6]` or `[v6]:port`: no scheme, no path.
pub fn is_host(text: &str) -> bool {
    let (host, port) = match text.rsplit_once(':') {
        Some((host, port)) if !port.contains(']') => (host, Some(port)),
        _ => (text, None),
    };
    let v6 = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    let named =
        |host: &str| host.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_'));
    let good = v6.map_or_else(|| named(host), |inner| inner.parse::<Ipv6Addr>().is_ok());
    // 253: the maximum length of a DNS name.
    good && (1..=253).contains(&host.len()) && port.is_none_or(|port| port.parse::<u16>().is_ok())
}

/// Whether an address is on this machine; `::ffff:127.0.0.1` is too.
pub fn is_loopback(address: IpAddr) -> bool {
    address.to_canonical().is_loopback()
}

/// Whether `host`, with or without a port, is a name or an address of loopback, as a `Host` header has it.
pub fn is_loopback_host(host: &str) -> bool {
    let is_port = |port: &str| !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
    let name = match (host.strip_prefix('['), host.rsplit_once(':')) {
        (Some(rest), _) => match rest.split_once(']') {
            Some((inner, "")) => inner,
            Some((inner, port)) if port.strip_prefix(':').is_some_and(is_port) => inner,
            _ => return false,
        },
        (None, Some((name, port))) if is_port(port) && !name.contains(':') => name,
        (None, _) => host,
    };
    name == "127.0.0.1" || name.eq_ignore_ascii_case("localhost") || name.parse().is_ok_and(is_loopback)
}

/// Whether it is a service's name as in systemd, optionally with `*` and `?`. It must end in ".service", so that a
/// pattern cannot match another kind of unit by mistake.
pub fn is_service(text: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b":-_.\\@*?".contains(&byte);
    text.strip_suffix(".service").is_some_and(|stem| !stem.is_empty() && stem.bytes().all(plain)) && text.len() <= 255
}
