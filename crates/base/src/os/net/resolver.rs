//! Which name servers are asked: `/etc/resolv.conf` (resolv.conf(5)), and behind the stub of systemd-resolved the ones it
//! asks (`/run/systemd/resolve/resolv.conf`).

use crate::os::{Root, if_there};
use std::{io, net::IpAddr};

const CONFIGURED: &str = "etc/resolv.conf";
const BEHIND_RESOLVED: &str = "run/systemd/resolve/resolv.conf";
/// The C library takes three; files of resolved may hold more.
const MOST: usize = 16;

/// Addresses of the name servers, in the order they are asked; one of link scope with its zone (`fe80::1%eth0`).
///
/// # Errors
/// Those of reading the file; without one there are none.
pub fn servers(root: &Root) -> io::Result<Vec<String>> {
    let configured = parse(&optional(root, CONFIGURED)?);
    // Every answer of a stub is another server's: 127.0.0.53 tells nobody where names come from.
    if !configured.is_empty() && configured.iter().all(|server| address(server).is_some_and(|each| each.is_loopback()))
    {
        let behind = parse(&optional(root, BEHIND_RESOLVED)?);
        if !behind.is_empty() {
            return Ok(behind);
        }
    }
    Ok(configured)
}

/// Empty where it is not there.
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
