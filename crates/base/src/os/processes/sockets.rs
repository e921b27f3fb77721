//! Sockets of a process: its descriptors' inodes, joined with the tables of its network namespace (`/proc/[pid]/net`,
//! proc_pid_net(5)).

use crate::os::{Root, if_there, net::socket::endpoint};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::{collections::HashMap, io, ops::ControlFlow};

/// One end of a connection, or something that listens.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(expecting = "struct Connection")]
pub struct ProcessSocket {
    pub fd: u32,
    #[schemars(extend("enum" = ["AF_INET", "AF_INET6", "AF_UNIX"]))]
    pub family: String,
    /// Absent for kinds other than these two.
    #[serde(rename = "type", default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", extend("enum" = ["SOCK_STREAM", "SOCK_DGRAM"]))]
    pub kind: Option<String>,
    /// An IP address; of AF_UNIX a path, `@` for an abstract one, or empty.
    pub local_address: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u16")]
    pub local_port: Option<u16>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub remote_address: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u16")]
    pub remote_port: Option<u16>,
    pub status: String,
}

/// The sockets of these descriptors, by inode.
///
/// # Errors
/// Those of reading the tables; a table that this kernel lacks is empty.
pub fn join(root: &Root, pid: u32, fds: &HashMap<u64, u32>) -> io::Result<Vec<ProcessSocket>> {
    let mut found = Vec::new();
    if fds.is_empty() {
        return Ok(found);
    }
    for (table, family, kind) in [
        ("tcp", "AF_INET", "SOCK_STREAM"),
        ("tcp6", "AF_INET6", "SOCK_STREAM"),
        ("udp", "AF_INET", "SOCK_DGRAM"),
        ("udp6", "AF_INET6", "SOCK_DGRAM"),
    ] {
        each_of(root, pid, table, |line| found.extend(internet(line, family, kind, fds)))?;
    }
    each_of(root, pid, "unix", |line| found.extend(unix(line, fds)))?;
    crate::sort::sort_by_key(&mut found, |connection| connection.fd);
    Ok(found)
}

/// Each line of a table after its heading, in parts: a busy namespace has megabytes of them.
fn each_of(root: &Root, pid: u32, table: &str, mut each: impl FnMut(&str)) -> io::Result<()> {
    let mut is_heading = true;
    let read = root.each_line::<()>(&format!("proc/{pid}/net/{table}"), |line| {
        if !std::mem::take(&mut is_heading) {
            each(&String::from_utf8_lossy(line));
        }
        ControlFlow::Continue(())
    });
    if_there(read).map(drop)
}

/// `sl local rem st tx:rx tr:when retrnsmt uid timeout inode ...`
fn internet(line: &str, family: &str, kind: &str, fds: &HashMap<u64, u32>) -> Option<ProcessSocket> {
    let mut fields = line.split_ascii_whitespace().skip(1);
    let (local, remote, state) = (fields.next()?, fields.next()?, fields.next()?);
    let inode: u64 = fields.nth(5)?.parse().ok()?;
    let fd = *fds.get(&inode)?;
    let (near, far) = (endpoint(local)?, endpoint(remote)?);
    let connected = far.port() != 0 || !far.ip().is_unspecified();
    Some(ProcessSocket {
        fd,
        family: family.into(),
        kind: Some(kind.into()),
        local_address: near.ip().to_string(),
        local_port: Some(near.port()),
        remote_address: connected.then(|| far.ip().to_string()),
        remote_port: connected.then_some(far.port()),
        status: status(kind, state).into(),
    })
}

/// include/net/tcp_states.h
fn status(kind: &str, state: &str) -> &'static str {
    match (kind, state) {
        (_, "01") => "ESTABLISHED",
        ("SOCK_DGRAM", _) => "NONE",
        (_, "02") => "SYN_SENT",
        (_, "03") => "SYN_RECV",
        (_, "04") => "FIN_WAIT1",
        (_, "05") => "FIN_WAIT2",
        (_, "06") => "TIME_WAIT",
        (_, "07") => "CLOSE",
        (_, "08") => "CLOSE_WAIT",
        (_, "09") => "LAST_ACK",
        (_, "0A") => "LISTEN",
        (_, "0B") => "CLOSING",
        _ => "UNKNOWN",
    }
}

/// `Num RefCount Protocol Flags Type St Inode Path`
fn unix(line: &str, fds: &HashMap<u64, u32>) -> Option<ProcessSocket> {
    let mut fields = line.split_ascii_whitespace().skip(3);
    let (flags, kind, state) = (fields.next()?, fields.next()?, fields.next()?);
    let fd = *fds.get(&fields.next()?.parse().ok()?)?;
    let kind = match kind {
        "0001" => Some("SOCK_STREAM"),
        "0002" => Some("SOCK_DGRAM"),
        _ => None,
    };
    // __SO_ACCEPTCON; SS_UNCONNECTED to SS_DISCONNECTING of include/uapi/linux/net.h.
    let status = match (flags, state) {
        ("00010000", _) => "LISTEN",
        (_, "03") => "CONNECTED",
        (_, "02") => "CONNECTING",
        (_, "04") => "DISCONNECTING",
        _ => "NONE",
    };
    Some(ProcessSocket {
        fd,
        family: "AF_UNIX".into(),
        kind: kind.map(Into::into),
        local_address: fields.collect::<Vec<_>>().join(" "),
        local_port: None,
        remote_address: None,
        remote_port: None,
        status: status.into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_the_tables() {
        let fds = HashMap::from([(4242, 7)]);
        let tcp = "   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 4242 1 0000 100";
        let found = internet(tcp, "AF_INET", "SOCK_STREAM", &fds).unwrap();
        assert_eq!(
            (found.fd, found.local_port, found.remote_port, found.status.as_str()),
            (7, Some(8080), None, "LISTEN")
        );
        let line = "0000000000000000: 00000002 00000000 00010000 0001 01 4242 /run/a b.sock";
        let found = unix(line, &fds).unwrap();
        assert_eq!((found.local_address.as_str(), found.status.as_str()), ("/run/a b.sock", "LISTEN"));
        assert_eq!(unix("short", &fds), None);
    }
}
