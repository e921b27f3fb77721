//! Names and addresses of this machine: `/proc/sys/kernel/hostname`, `/proc/net/fib_trie` and `/proc/net/if_inet6`
//! (proc(5)).

use super::Root;
use std::{
    collections::BTreeSet,
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
    ops::ControlFlow,
};

/// The host name, alone and in `.local` (multicast DNS), `localhost`, and every address, loopback first. Unreadable
/// sources are skipped.
pub fn names(root: &Root) -> Vec<String> {
    let mut names = vec!["localhost".to_owned()];
    if let Ok(host) = root.line("proc/sys/kernel/hostname") {
        let short = host.split('.').next().unwrap_or_default().to_owned();
        for name in [host, format!("{short}.local"), short] {
            if !names.contains(&name) && !name.starts_with('.') {
                names.push(name);
            }
        }
    }
    names.extend(addresses(root).iter().map(IpAddr::to_string));
    names
}

/// The addresses of this machine's interfaces, without link-local ones (`fe80::/10`).
pub fn addresses(root: &Root) -> Vec<IpAddr> {
    let mut all = BTreeSet::new();
    // In parts: a router with thousands of routes still has its addresses. What cannot be read adds none.
    let mut above = Vec::new();
    let _ = root.each_line::<()>("proc/net/fib_trie", |line| {
        all.extend(local_v4(&above, line).map(IpAddr::V4));
        above = line.to_owned();
        ControlFlow::Continue(())
    });
    if let Ok(list) = root.read("proc/net/if_inet6") {
        all.extend(list.lines().filter_map(v6).map(IpAddr::V6));
    }
    let (mut loopback, others): (Vec<_>, Vec<_>) = all.into_iter().partition(IpAddr::is_loopback);
    loopback.extend(others);
    loopback
}

/// An address on a line of its own, "/32 host LOCAL" on the next.
fn local_v4(above: &[u8], line: &[u8]) -> Option<Ipv4Addr> {
    let address = above.trim_ascii().strip_prefix(b"|-- ").filter(|_| line.trim_ascii() == b"/32 host LOCAL")?;
    std::str::from_utf8(address).ok()?.parse().ok()
}

/// "fd00000000000000021122fffe334455 02 40 00 80 eth0": address, index, prefix length, scope, flags, name.
fn v6(line: &str) -> Option<Ipv6Addr> {
    let digits = line.split_whitespace().next().filter(|digits| digits.len() == 32)?;
    let address = Ipv6Addr::from_bits(u128::from_str_radix(digits, 16).ok()?);
    (!address.is_unicast_link_local()).then_some(address)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_those_of_the_interfaces() {
        let folder = tempfile::tempdir().unwrap();
        let put = |path: &str, text: &str| {
            let path = folder.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        let root = Root::at(folder.path());
        assert_eq!(names(&root), ["localhost"]);
        put("proc/sys/kernel/hostname", "pi.example\n");
        put(
            "proc/net/fib_trie",
            "Main:\n  +-- 0.0.0.0/0 3 0 5\n     |-- 0.0.0.0\n        /0 universe UNICAST\n     +-- 192.0.2.0/24 2 0 2\n        \
             |-- 192.0.2.0\n           /24 link UNICAST\n        |-- 192.0.2.15\n           /32 host LOCAL\nLocal:\n     \
             |-- 192.0.2.15\n        /32 host LOCAL\n     |-- 127.0.0.1\n        /32 host LOCAL\n        |-- 192.0.2.255\n           \
             /32 link BROADCAST\n",
        );
        put(
            "proc/net/if_inet6",
            "00000000000000000000000000000001 01 80 10 80       lo\nfe80000000000000021122fffe334455 02 40 20 80     eth0\n\
             20010db8000000000000000000000007 02 40 00 80     eth0\nrubbish\n",
        );
        let expected = ["localhost", "pi.example", "pi.local", "pi", "127.0.0.1", "::1", "192.0.2.15", "2001:db8::7"];
        assert_eq!(names(&root), expected);
    }
    #[test]
    fn a_router_with_thousands_of_routes_still_has_its_addresses() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(folder.path().join("proc/net")).unwrap();
        let routes: String = (0..20_000_u32)
            .map(|at| format!("        |-- {}\n           /24 link UNICAST\n", Ipv4Addr::from_bits(at << 8)))
            .collect();
        assert!(routes.len() > 512 * 1024);
        let own = "        |-- 192.0.2.15\n           /32 host LOCAL\n";
        std::fs::write(folder.path().join("proc/net/fib_trie"), routes + own).unwrap();
        assert_eq!(addresses(&Root::at(folder.path())), [IpAddr::from([192, 0, 2, 15])]);
    }
}
