//! IPv4 addresses of interfaces with their prefix, by rtnetlink(7), and IPv6 addresses from `/proc/net/if_inet6`.
//!
//! procfs does not list IPv4 addresses by interface, and routes do not distinguish two interfaces in one network (a Pi
//! with cable and Wi-Fi in the same room), so the kernel is queried: one request, `RTM_GETADDR`, which needs no
//! privileges.

use crate::os::{Root, malformed};
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, send, socket_with, sockopt};
use std::{
    io,
    net::{Ipv4Addr, Ipv6Addr},
    time::Duration,
};

/// In a tree of captured files, the kernel's raw answer.
const CAPTURED: &str = "rtnetlink/getaddr4";
const V6: &str = "proc/net/if_inet6";
/// The kernel answers in pages of at most 32 KiB (`NLMSG_GOODSIZE`, or more if the reader has room).
const PAGE: usize = 32 * 1024;
/// Limit of pages: 16 of them hold some 6000 addresses.
const PAGES: usize = 16;
/// The kernel answers at once; the limit protects the server from a defective one.
const PATIENCE: Duration = Duration::from_secs(1);

// linux/netlink.h, linux/rtnetlink.h, linux/if_addr.h
const RTM_NEWADDR: u16 = 20;
const RTM_GETADDR: u16 = 22;
const NLMSG_ERROR: u16 = 2;
const NLMSG_DONE: u16 = 3;
const NLM_F_REQUEST: u16 = 1;
const NLM_F_DUMP: u16 = 0x300;
const AF_INET: u8 = 2;
const IFA_ADDRESS: u16 = 1;
const IFA_LOCAL: u16 = 2;
const IFA_BROADCAST: u16 = 4;
const HEADER: usize = 16;
const IFADDRMSG: usize = 8;

/// One IPv4 address of an interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct V4 {
    /// Index of the interface (`/sys/class/net/*/ifindex`).
    pub index: u32,
    pub address: Ipv4Addr,
    /// 0-32.
    pub prefix: u8,
    pub broadcast: Option<Ipv4Addr>,
}

/// One IPv6 address of an interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct V6Address {
    pub interface: String,
    pub address: Ipv6Addr,
    /// 0-128.
    pub prefix: u8,
    pub scope: Scope,
}

/// The scope of an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    Global,
    Link,
    Host,
}

impl V4 {
    /// "255.255.255.0" for 24.
    pub fn netmask(&self) -> Ipv4Addr {
        Ipv4Addr::from_bits(u32::MAX.checked_shl(32 - u32::from(self.prefix.min(32))).unwrap_or(0))
    }
}

/// Every IPv4 address, in the kernel's order.
///
/// # Errors
/// Those of the socket (`PermissionDenied` or `Unsupported` in a sandbox without AF_NETLINK); `InvalidData` when an
/// answer cannot be parsed; in a captured tree those of its file.
pub fn v4(root: &Root) -> io::Result<Vec<V4>> {
    let mut found = Vec::new();
    if !root.is_system() {
        page(&root.read_bytes(CAPTURED)?, &mut found)?;
        return Ok(found);
    }
    let socket = socket_with(AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC, None)?;
    sockopt::set_socket_timeout(&socket, sockopt::Timeout::Recv, Some(PATIENCE))?;
    send(&socket, &request(), SendFlags::empty())?;
    let mut buffer = vec![0; PAGE];
    for _ in 0..PAGES {
        let (_, length) = recv(&socket, buffer.as_mut_slice(), RecvFlags::TRUNC)?;
        let answer = buffer.get(..length).ok_or_else(|| wrong("an answer is longer than 32 KiB"))?;
        if page(answer, &mut found)? {
            return Ok(found);
        }
    }
    Err(wrong("the list of addresses does not end"))
}

/// `nlmsghdr` and `ifaddrmsg`: all addresses of family AF_INET.
fn request() -> [u8; HEADER + IFADDRMSG] {
    let mut request = [0; HEADER + IFADDRMSG];
    request[..4].copy_from_slice(&((HEADER + IFADDRMSG) as u32).to_ne_bytes());
    request[4..6].copy_from_slice(&RTM_GETADDR.to_ne_bytes());
    request[6..8].copy_from_slice(&(NLM_F_REQUEST | NLM_F_DUMP).to_ne_bytes());
    request[HEADER] = AF_INET;
    request
}

/// Parses one page of the answer. Returns whether it was the last.
fn page(mut bytes: &[u8], found: &mut Vec<V4>) -> io::Result<bool> {
    while !bytes.is_empty() {
        let length = number(bytes, 0).map_or(0, |length| length as usize);
        let message = bytes.get(..length).filter(|message| message.len() >= HEADER);
        let message = message.ok_or_else(|| wrong("a message is cut short"))?;
        match u16::from_ne_bytes([message[4], message[5]]) {
            NLMSG_DONE => return Ok(true),
            NLMSG_ERROR => {
                let code = number(message, HEADER).map_or(0, |code| code.cast_signed());
                return Err(io::Error::from_raw_os_error(code.checked_neg().unwrap_or(0)));
            }
            RTM_NEWADDR => found.extend(address(&message[HEADER..])),
            _ => {}
        }
        bytes = bytes.get(aligned(length)..).unwrap_or_default();
    }
    Ok(false)
}

/// `ifaddrmsg` and its attributes; `None` for another family or without an address.
fn address(message: &[u8]) -> Option<V4> {
    let [family, prefix] = *message.first_chunk()?;
    if family != AF_INET {
        return None;
    }
    let index = number(message, 4)?;
    let (mut local, mut peer, mut broadcast) = (None, None, None);
    let mut attributes = message.get(IFADDRMSG..)?;
    while let Some([a, b, c, d]) = attributes.first_chunk::<4>().copied() {
        let (length, kind) = (usize::from(u16::from_ne_bytes([a, b])), u16::from_ne_bytes([c, d]));
        let value = attributes.get(4..length)?;
        let address = value.first_chunk::<4>().map(|octets| Ipv4Addr::from(*octets));
        match kind {
            IFA_LOCAL => local = address,
            IFA_ADDRESS => peer = address,
            IFA_BROADCAST => broadcast = address,
            _ => {}
        }
        attributes = attributes.get(aligned(length)..).unwrap_or_default();
    }
    // On a point-to-point link IFA_ADDRESS is the other end (linux/if_addr.h).
    Some(V4 { index, address: local.or(peer)?, prefix: prefix.min(32), broadcast })
}

fn number(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(*bytes.get(at..)?.first_chunk()?))
}

/// `NLMSG_ALIGN` and `RTA_ALIGN`.
fn aligned(length: usize) -> usize {
    length.next_multiple_of(4)
}

fn wrong(why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("rtnetlink: {why}"))
}

/// Every IPv6 address, in the kernel's order; none when IPv6 is disabled.
///
/// # Errors
/// `InvalidData` when a line does not have the format of proc(5).
pub fn v6(root: &Root) -> io::Result<Vec<V6Address>> {
    match root.read(V6) {
        Ok(text) => {
            text.lines().map(|line| line_v6(line).ok_or_else(|| malformed(V6, "a line is no address"))).collect()
        }
        Err(fault) if fault.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(fault) => Err(fault),
    }
}

/// "fd00000000000000021122fffe334455 02 40 00 80 eth0": address, index, prefix, scope, flags, name.
fn line_v6(line: &str) -> Option<V6Address> {
    let mut fields = line.split_whitespace();
    let address = super::route::v6_hex(fields.next()?)?;
    let (_, prefix, scope) = (fields.next()?, fields.next()?, fields.next()?);
    let (_, interface) = (fields.next()?, fields.next()?);
    let scope = match u8::from_str_radix(scope, 16).ok()? {
        0x10 => Scope::Host,
        0x20 => Scope::Link,
        // 0x40, site-local, is deprecated and routed like a global one.
        _ => Scope::Global,
    };
    let prefix = u8::from_str_radix(prefix, 16).ok().filter(|prefix| *prefix <= 128)?;
    Some(V6Address { interface: interface.to_owned(), address, prefix, scope })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As the kernel lays it out; attributes are padded to four bytes.
    fn message(kind: u16, body: &[u8]) -> Vec<u8> {
        let mut bytes = ((HEADER + body.len()) as u32).to_ne_bytes().to_vec();
        bytes.extend(kind.to_ne_bytes());
        bytes.extend([0; 10]);
        bytes.extend(body);
        bytes.resize(aligned(bytes.len()), 0);
        bytes
    }

    fn body(index: u32, prefix: u8, attributes: &[(u16, &[u8])]) -> Vec<u8> {
        let mut bytes = vec![AF_INET, prefix, 0, 0];
        bytes.extend(index.to_ne_bytes());
        for (kind, value) in attributes {
            bytes.extend(((4 + value.len()) as u16).to_ne_bytes());
            bytes.extend(kind.to_ne_bytes());
            bytes.extend(*value);
            bytes.resize(aligned(bytes.len()), 0);
        }
        bytes
    }

    #[test]
    fn one_address_and_the_end() {
        let mut bytes = message(
            RTM_NEWADDR,
            &body(2, 24, &[(IFA_ADDRESS, &[192, 0, 2, 7]), (3, b"eth0\0"), (IFA_BROADCAST, &[192, 0, 2, 255])]),
        );
        let mut found = Vec::new();
        assert!(!page(&bytes, &mut found).unwrap(), "no end yet");
        let eth0 = V4 {
            index: 2,
            address: Ipv4Addr::new(192, 0, 2, 7),
            prefix: 24,
            broadcast: Some(Ipv4Addr::new(192, 0, 2, 255)),
        };
        assert_eq!((found.as_slice(), eth0.netmask()), (&[eth0.clone()][..], Ipv4Addr::new(255, 255, 255, 0)));
        bytes.extend(message(NLMSG_DONE, &0u32.to_ne_bytes()));
        assert!(page(&bytes, &mut found).unwrap());
        assert_eq!(V4 { prefix: 0, ..eth0.clone() }.netmask(), Ipv4Addr::UNSPECIFIED);
        assert_eq!(V4 { prefix: 32, ..eth0 }.netmask(), Ipv4Addr::BROADCAST);
    }

    #[test]
    fn the_far_end_of_a_tunnel_is_not_our_address() {
        let attributes: [(u16, &[u8]); 2] = [(IFA_ADDRESS, &[10, 0, 0, 1]), (IFA_LOCAL, &[10, 0, 0, 2])];
        let mut found = Vec::new();
        page(&message(RTM_NEWADDR, &body(9, 32, &attributes)), &mut found).unwrap();
        assert_eq!((found[0].address, found[0].broadcast), (Ipv4Addr::new(10, 0, 0, 2), None));
    }

    #[test]
    fn what_is_cut_short_is_an_error_and_nothing_panics() {
        let whole = message(RTM_NEWADDR, &body(2, 24, &[(IFA_LOCAL, &[192, 0, 2, 7])]));
        for length in 1..whole.len() {
            assert_eq!(page(&whole[..length], &mut Vec::new()).unwrap_err().kind(), io::ErrorKind::InvalidData);
        }
        let denied = message(NLMSG_ERROR, &(-1i32).to_ne_bytes());
        assert_eq!(page(&denied, &mut Vec::new()).unwrap_err().kind(), io::ErrorKind::PermissionDenied);
        // Each length field a lie.
        for at in (0..whole.len()).filter(|at| at % 2 == 0) {
            for lie in [0u16, 3, 0xffff] {
                let mut bytes = whole.clone();
                bytes[at..at + 2].copy_from_slice(&lie.to_ne_bytes());
                let _ = page(&bytes, &mut Vec::new());
            }
        }
    }

    #[test]
    fn this_kernel_answers_with_the_loopback() {
        let all = v4(&Root::system()).unwrap();
        let lo = all.iter().find(|each| each.address == Ipv4Addr::LOCALHOST);
        assert!(all.is_empty() || lo.is_some_and(|lo| lo.prefix == 8 && lo.index == 1), "{all:?}");
    }

    #[test]
    fn if_inet6_good_and_malformed() {
        let good = line_v6("fe80000000000000021122fffe334455 02 40 20 80     eth0").unwrap();
        assert_eq!((good.interface.as_str(), good.prefix, good.scope), ("eth0", 64, Scope::Link));
        assert_eq!(good.address, "fe80::211:22ff:fe33:4455".parse::<Ipv6Addr>().unwrap());
        assert_eq!(line_v6("00000000000000000000000000000001 01 80 10 80 lo").unwrap().scope, Scope::Host);
        for bad in ["", "zz", "fe80 02 40 20 80 eth0", "fe80000000000000021122fffe334455 02 ff 20 80 eth0"] {
            assert_eq!(line_v6(bad), None, "{bad:?}");
        }
    }
}
