//! Other users on a bus of a test's own.

use super::private_bus::PrivateBus;
use rustix::process::{Gid, Uid};
use std::os::unix::net::UnixStream;
use zbus::{Connection, connection::Builder};

/// Whether this test can be several users.
pub fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// The user that has the rules of the account raspi-mcp-agent-`n`: Debian's users without rights, "bin" to "uucp" and "proxy".
pub fn agent_uid(n: u32) -> u32 {
    if n < 9 { n + 2 } else { 13 }
}

/// A connection of another user, without groups. Needs root.
pub async fn connect_as(bus: &PrivateBus, uid: u32) -> Connection {
    let path = bus.address().strip_prefix("unix:path=").unwrap().to_owned();
    // The kernel notes the user of the thread that connects.
    let connect = std::thread::spawn(move || {
        let (user, group) = (Uid::from_raw(uid), Gid::from_raw(uid));
        rustix::thread::set_thread_groups(&[]).unwrap();
        rustix::thread::set_thread_res_gid(group, group, group).unwrap();
        rustix::thread::set_thread_res_uid(user, user, user).unwrap();
        UnixStream::connect(path).unwrap()
    });
    let stream = connect.join().unwrap();
    Builder::unix_stream(stream).user_id(uid).build().await.unwrap()
}
