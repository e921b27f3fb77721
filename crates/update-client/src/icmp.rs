//! Echo requests without privileges: ICMP datagram sockets (icmp(7), `net.ipv4.ping_group_range`), IPv4 and IPv6.
//!
//! The kernel sets the identifier, computes the checksum and delivers only answers to this socket's own requests.

use rustix::net::{AddressFamily, SocketFlags, SocketType, ipproto, socket_with};
use std::{
    io,
    net::{IpAddr, SocketAddr},
    time::Duration,
};
use tokio::{
    net::UdpSocket,
    time::{Instant, timeout_at},
};

/// The same as ping(8): 56 bytes after a header of 8.
const LENGTH: usize = 64;
const REQUEST_V4: u8 = 8;
const REPLY_V4: u8 = 0;
const REQUEST_V6: u8 = 128;
const REPLY_V6: u8 = 129;

/// A socket for echo requests to one address.
pub struct Echo {
    /// The standard library treats it as a UDP socket; the kernel handles the protocol.
    socket: UdpSocket,
    v6: bool,
}

/// Why the socket could not be opened.
#[derive(Debug)]
pub enum IcmpError {
    /// This user's groups are outside `ping_group_range`, or a sandbox forbids it.
    NotAllowed(io::Error),
    /// No route, or no address to send to.
    NoWay(io::Error),
}

impl Echo {
    /// # Errors
    /// See [`IcmpError`]. Must be called inside the runtime.
    pub fn open(target: SocketAddr) -> Result<Self, IcmpError> {
        let v6 = target.is_ipv6();
        let (family, protocol) =
            if v6 { (AddressFamily::INET6, ipproto::ICMPV6) } else { (AddressFamily::INET, ipproto::ICMP) };
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let socket = socket_with(family, SocketType::DGRAM, flags, Some(protocol))
            .map_err(|fault| IcmpError::NotAllowed(fault.into()))?;
        let socket = std::net::UdpSocket::from(socket);
        socket.connect(target).map_err(IcmpError::NoWay)?;
        let socket = UdpSocket::from_std(socket).map_err(IcmpError::NoWay)?;
        Ok(Self { socket, v6 })
    }

    /// Sends request number `sequence` and waits for its echo; `None` if there is none within `wait`. Dropping the
    /// future ends the wait.
    ///
    /// # Errors
    /// Errors of the network: `HostUnreachable`, `NetworkUnreachable`, ...
    pub async fn probe(&self, sequence: u16, wait: Duration) -> io::Result<Option<Duration>> {
        let sent = Instant::now();
        self.socket.send(&packet(self.v6, sequence)).await?;
        let answered = async {
            let mut buffer = [0; LENGTH * 2];
            loop {
                let length = self.socket.recv(&mut buffer).await?;
                // The echo of an earlier request, which already counted as lost, is ignored.
                if is_answer(self.v6, sequence, buffer.get(..length).unwrap_or_default()) {
                    return Ok::<_, io::Error>(sent.elapsed());
                }
            }
        };
        timeout_at(sent + wait, answered).await.ok().transpose()
    }
}

/// RFC 792 and RFC 4443, section 4.1: type, code, checksum, identifier, sequence, then data.
fn packet(v6: bool, sequence: u16) -> [u8; LENGTH] {
    let mut packet = [0; LENGTH];
    packet[0] = if v6 { REQUEST_V6 } else { REQUEST_V4 };
    packet[6..8].copy_from_slice(&sequence.to_be_bytes());
    for (byte, value) in packet[8..].iter_mut().zip(b'a'..=b'w') {
        *byte = value;
    }
    packet
}

fn is_answer(v6: bool, sequence: u16, packet: &[u8]) -> bool {
    let reply = if v6 { REPLY_V6 } else { REPLY_V4 };
    packet.len() >= 8 && packet[0] == reply && packet[1] == 0 && packet[6..8] == sequence.to_be_bytes()
}

/// Whether an address is of a single machine, to which an echo request can be sent: not multicast, broadcast or
/// unspecified.
pub fn is_one_machine(address: IpAddr) -> bool {
    let many = match address {
        IpAddr::V4(address) => address.is_multicast() || address.is_broadcast(),
        IpAddr::V6(address) => address.is_multicast(),
    };
    !many && !address.is_unspecified()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_the_echo_of_this_request() {
        let mut echo = packet(false, 258);
        assert_eq!((echo[0], &echo[6..8]), (8, &[1, 2][..]));
        assert!(!is_answer(false, 258, &echo), "a request is none");
        echo[0] = REPLY_V4;
        assert!(is_answer(false, 258, &echo));
        assert!(!is_answer(false, 259, &echo) && !is_answer(true, 258, &echo) && !is_answer(false, 258, &echo[..7]));
        assert_eq!(packet(true, 0)[0], REQUEST_V6);
    }

    #[test]
    fn only_one_machine_is_asked() {
        for good in ["127.0.0.1", "192.0.2.1", "::1", "fe80::1"] {
            assert!(is_one_machine(good.parse().unwrap()), "{good}");
        }
        for bad in ["0.0.0.0", "255.255.255.255", "224.0.0.1", "ff02::1", "::"] {
            assert!(!is_one_machine(bad.parse().unwrap()), "{bad}");
        }
    }

    /// If this user is permitted, the kernel answers for the loopback; otherwise it refuses at once.
    #[tokio::test]
    async fn the_loopback_answers_where_this_user_may_ask() {
        match Echo::open("127.0.0.1:0".parse().unwrap()) {
            Ok(echo) => {
                for sequence in 1..=3 {
                    let time = echo.probe(sequence, Duration::from_secs(5)).await.unwrap().expect("an echo");
                    assert!(time < Duration::from_secs(1), "{time:?}");
                }
            }
            Err(IcmpError::NotAllowed(fault)) => assert_eq!(fault.kind(), io::ErrorKind::PermissionDenied),
            Err(IcmpError::NoWay(fault)) => panic!("{fault}"),
        }
    }
}
