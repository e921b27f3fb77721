//! TCP and UDP sockets: `/proc/net/{tcp,tcp6,udp,udp6}` (proc_net(5)), and their processes, as far as this user may see
//! them.

use crate::os::{Root, malformed};
use std::{
    collections::HashMap,
    fs::File,
    io::{self, BufRead, BufReader, Read},
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
};

/// Limit of sockets read per table, more than an appliance has.
const MOST: usize = 16_384;
/// In bytes; a line has about 150.
const LARGEST_TABLE: u64 = MOST as u64 * 256;
/// Limit of processes whose open files are searched.
const PROCESSES: usize = 4096;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    Tcp,
    Udp,
    Tcp6,
    Udp6,
}

impl Protocol {
    pub const ALL: [Self; 4] = [Self::Tcp, Self::Tcp6, Self::Udp, Self::Udp6];

    pub fn name(self) -> &'static str {
        match self {
            Self::Tcp => "tcp",
            Self::Udp => "udp",
            Self::Tcp6 => "tcp6",
            Self::Udp6 => "udp6",
        }
    }
    fn is_udp(self) -> bool {
        matches!(self, Self::Udp | Self::Udp6)
    }
}

/// One socket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NetSocket {
    pub protocol: Protocol,
    pub local: SocketAddr,
    /// Unspecified address and port 0 when it is not connected.
    pub remote: SocketAddr,
    /// "ESTABLISHED", "LISTEN", ...; "NONE" for UDP, which has no states.
    pub state: &'static str,
    /// Inode, as in `/proc/*/fd`; 0 when no process has it any more.
    pub inode: u64,
}

/// Every socket of every supported protocol, in the kernel's order.
///
/// # Errors
/// Those of reading; `InvalidData` when a line is not a socket.
pub fn read(root: &Root) -> io::Result<Vec<NetSocket>> {
    let mut all = Vec::new();
    for protocol in Protocol::ALL {
        let file = format!("proc/net/{}", protocol.name());
        let table = match File::open(root.path(&file)) {
            Ok(table) => BufReader::new(table.take(LARGEST_TABLE)),
            Err(fault) if fault.kind() == io::ErrorKind::NotFound => continue,
            Err(fault) => return Err(fault),
        };
        for text in table.lines().skip(1).take(MOST) {
            all.push(line(protocol, &text?).ok_or_else(|| malformed(&file, "a line is no socket"))?);
        }
    }
    Ok(all)
}

/// "0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000 0 12345 ...": number, local, remote,
/// state, queues, timer, retransmits, user, timeout, inode.
fn line(protocol: Protocol, text: &str) -> Option<NetSocket> {
    let mut fields = text.split_whitespace();
    fields.next()?.strip_suffix(':')?;
    let (local, remote, state) = (endpoint(fields.next()?)?, endpoint(fields.next()?)?, fields.next()?);
    let inode = fields.nth(5)?.parse().ok()?;
    let state = if protocol.is_udp() { "NONE" } else { name(u8::from_str_radix(state, 16).ok()?) };
    Some(NetSocket { protocol, local, remote, state, inode })
}

/// Address and port of the kernel's tables (`0100007F:1F90`): each 32-bit word of the address is in memory order,
/// printed as a number.
pub fn endpoint(text: &str) -> Option<SocketAddr> {
    let (digits, port) = text.split_once(':')?;
    let word = |at: usize| -> Option<[u8; 4]> {
        Some(u32::from_str_radix(digits.get(at * 8..at * 8 + 8)?, 16).ok()?.to_ne_bytes())
    };
    let address: IpAddr = match digits.len() {
        8 => Ipv4Addr::from(word(0)?).into(),
        32 => {
            let mut octets = [0; 16];
            for (at, place) in octets.chunks_exact_mut(4).enumerate() {
                place.copy_from_slice(&word(at)?);
            }
            Ipv6Addr::from(octets).into()
        }
        _ => return None,
    };
    Some(SocketAddr::new(address, u16::from_str_radix(port, 16).ok()?))
}

/// include/net/tcp_states.h.
fn name(state: u8) -> &'static str {
    const NAMES: [&str; 11] = [
        "ESTABLISHED",
        "SYN_SENT",
        "SYN_RECV",
        "FIN_WAIT1",
        "FIN_WAIT2",
        "TIME_WAIT",
        "CLOSE",
        "CLOSE_WAIT",
        "LAST_ACK",
        "LISTEN",
        "CLOSING",
    ];
    // 12 is an incoming connection, which other tools show as SYN_RECV.
    NAMES.get(usize::from(state).wrapping_sub(1)).copied().unwrap_or("SYN_RECV")
}

/// The user whose process has the TCP socket from `local` to `remote`, as its own end names them. `None`: there is no such
/// socket, or no process has it any more.
pub fn user_of(root: &Root, local: SocketAddr, remote: SocketAddr) -> Option<u32> {
    let same = |text: &str, wanted: SocketAddr| {
        endpoint(text).is_some_and(|found| {
            found.port() == wanted.port() && found.ip().to_canonical() == wanted.ip().to_canonical()
        })
    };
    [Protocol::Tcp, Protocol::Tcp6].into_iter().find_map(|protocol| {
        let table = File::open(root.path(&format!("proc/net/{}", protocol.name()))).ok()?;
        let lines = BufReader::new(table.take(LARGEST_TABLE)).lines().map_while(Result::ok);
        lines.skip(1).find_map(|text| {
            let mut fields = text.split_whitespace().skip(1);
            let is_it = same(fields.next()?, local) && same(fields.next()?, remote);
            let (user, inode) = (fields.nth(4)?.parse().ok()?, fields.nth(1)?);
            (is_it && inode != "0").then_some(user)
        })
    })
}

/// The process of each socket in `wanted`, for processes that this user may inspect: its own, or all for root.
pub fn owners(root: &Root, wanted: &[u64]) -> HashMap<u64, u32> {
    let mut found = HashMap::new();
    let Ok(processes) = root.names("proc") else { return found };
    let numbers = processes.filter_map(|name| name.parse::<u32>().ok());
    for pid in numbers.take(PROCESSES) {
        let folder = format!("proc/{pid}/fd");
        // Not permitted, or the process is gone.
        let Ok(files) = root.names(&folder) else { continue };
        for file in files {
            let Ok(target) = root.link(&format!("{folder}/{file}")) else { continue };
            let inode = target.to_str().and_then(|text| text.strip_prefix("socket:[")?.strip_suffix(']')?.parse().ok());
            if let Some(inode) = inode.filter(|inode| wanted.contains(inode)) {
                found.entry(inode).or_insert(pid);
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hex(address: [u8; 4]) -> String {
        format!("{:08X}", u32::from_ne_bytes(address))
    }

    #[test]
    fn good_and_malformed() {
        let here = hex([127, 0, 0, 1]);
        let text = format!(
            "   0: {here}:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 4711 1 0"
        );
        let socket = line(Protocol::Tcp, &text).unwrap();
        assert_eq!((socket.local.to_string().as_str(), socket.state, socket.inode), ("127.0.0.1:8080", "LISTEN", 4711));
        assert_eq!(socket.remote.to_string(), "0.0.0.0:0");
        assert_eq!(line(Protocol::Udp, &text).unwrap().state, "NONE");
        let loopback = format!("{}{}", "0".repeat(24), hex([0, 0, 0, 1]));
        assert_eq!(endpoint(&format!("{loopback}:0016")).unwrap().to_string(), "[::1]:22");
        for bad in ["", "0:", "0: x y 0A", &text.replace("1F90", "1F90F"), &text.replace(" 4711 ", " x ")] {
            assert_eq!(line(Protocol::Tcp, bad), None, "{bad:?}");
        }
        assert_eq!(
            (name(1), name(11), name(12), name(0), name(255)),
            ("ESTABLISHED", "CLOSING", "SYN_RECV", "SYN_RECV", "SYN_RECV")
        );
    }

    #[test]
    fn an_endpoint_has_an_address_of_either_family_and_a_port() {
        assert_eq!(endpoint(&format!("{}:1F90", hex([127, 0, 0, 1]))), Some((Ipv4Addr::LOCALHOST, 8080).into()));
        for bad in ["", "0100007F", "01:02", "zzzzzzzz:0001", "é100007:1F90"] {
            assert_eq!(endpoint(bad), None, "{bad}");
        }
    }

    #[test]
    fn the_other_end_of_a_connection_is_somebodys_until_it_is_closed() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let caller = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (theirs, ours) = (caller.local_addr().unwrap(), caller.peer_addr().unwrap());
        let root = Root::system();
        assert_eq!(user_of(&root, theirs, ours), Some(rustix::process::geteuid().as_raw()));
        drop(caller);
        // A child that another test is just starting has a copy of the socket until it executes its program.
        let deadline = std::time::Instant::now() + std::time::Duration::from_secs(20);
        while user_of(&root, theirs, ours).is_some() && std::time::Instant::now() < deadline {
            std::thread::yield_now();
        }
        assert_eq!(user_of(&root, theirs, ours), None);
    }

    #[test]
    fn a_process_finds_its_own_listener() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let root = Root::system();
        let all = read(&root).unwrap();
        let mine = all.iter().find(|socket| socket.local == listener.local_addr().unwrap()).expect("it listens");
        assert_eq!(mine.state, "LISTEN");
        assert_eq!(owners(&root, &[mine.inode])[&mine.inode], std::process::id());
    }
}
