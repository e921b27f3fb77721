//! The configured name servers: `/etc/resolv.conf` (resolv.conf(5)), and behind the stub of systemd-resolved its
//! upstream servers (`/run/systemd/resolve/resolv.conf`).

use crate::os::{Root, if_there};
use std::{io, net::IpAddr};

const CONFIGURED: &str = "etc/resolv.conf";
const BEHIND_RESOLVED: &str = "run/systemd/resolve/resolv.conf";
/// The C library uses three; resolved's file may have more.
const MOST: usize = 16;

/// Addresses of the name servers, in order of use; a link-local one with its zone (`fe80::1%eth0`).
///
/// # Errors
/// Those of reading the file; a missing file means none.
pub fn servers(root: &Root) -> io::Result<Vec<String>> {
    let configured = parse(&optional(root, CONFIGURED)?);
    // The stub at 127.0.0.53 only forwards, so its upstream servers are reported.
    if !configured.is_empty() && configured.iter().all(|server| address(server).is_some_and(|each| each.is_loopback()))
    {
        let behind = parse(&optional(root, BEHIND_RESOLVED)?);
        if !behind.is_empty() {
            return Ok(behind);
        }
    }
    Ok(configured)
}

/// Empty when it does not exist.
fn optional(root: &Root, file: &str) -> io::Result<String> {
    if_there(root.read(file)).map(Option::unwrap_or_default)
}

fn parse(text: &str) -> Vec<String> {
    let named = text.lines().filter_map(|line| {
        let mut words = line.split_whitespace();
        (words.next()? == "nameserver").then(|| words.next()).flatten()
    });
    named.filter(|server| address(server).is_some()).take(MOST).map(str::to_owned).collect()
}

fn address(server: &str) -> Option<IpAddr> {
    server.split('%').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_stub_is_looked_behind_and_what_is_no_address_is_no_server() {
        let folder = tempfile::tempdir().unwrap();
        let root = Root::at(folder.path());
        assert_eq!(servers(&root).unwrap(), Vec::<String>::new());
        let put = |file: &str, text: &str| {
            let path = folder.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        put(CONFIGURED, "# nameserver 192.0.2.9\nnameserver 127.0.0.53\noptions edns0\nnameserver one\n");
        assert_eq!(servers(&root).unwrap(), ["127.0.0.53"], "nothing is known behind it");
        put(BEHIND_RESOLVED, "nameserver 192.0.2.1\nnameserver fe80::1%eth0\n");
        assert_eq!(servers(&root).unwrap(), ["192.0.2.1", "fe80::1%eth0"]);
        put(CONFIGURED, "nameserver 192.0.2.2\n");
        assert_eq!(servers(&root).unwrap(), ["192.0.2.2"]);
    }
}
