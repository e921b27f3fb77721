//! What the service manager hears, on a real socket.

use base::os::notify::ServiceManager;
use std::{
    collections::BTreeMap,
    ffi::OsString,
    io,
    os::{
        linux::net::SocketAddrExt,
        unix::net::{SocketAddr, UnixDatagram},
    },
    time::Duration,
};
use tempfile::TempDir;

/// The other end: systemd's.
struct Heard(UnixDatagram);

impl Heard {
    fn at(address: &SocketAddr) -> Self {
        let socket = UnixDatagram::bind_addr(address).unwrap();
        socket.set_nonblocking(true).unwrap();
        Self(socket)
    }

    /// Everything said since the last look.
    fn all(&self) -> Vec<String> {
        let mut words = Vec::new();
        let mut buffer = [0; 4096];
        while let Ok(length) = self.0.recv(&mut buffer) {
            words.push(String::from_utf8(buffer[..length].to_vec()).unwrap());
        }
        words
    }
}

/// A manager with these variables, for process 7.
fn manager(variables: &[(&str, &str)]) -> io::Result<ServiceManager> {
    let variables: BTreeMap<String, OsString> =
        variables.iter().map(|(name, value)| ((*name).to_owned(), value.into())).collect();
    ServiceManager::named(|name| variables.get(name).cloned(), 7)
}

fn on_a_path() -> (TempDir, Heard, String) {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("notify");
    let heard = Heard::at(&SocketAddr::from_pathname(&path).unwrap());
    (dir, heard, path.display().to_string())
}

#[test]
fn ready_and_stopping_are_said_once_each_in_one_datagram() {
    let (_dir, heard, path) = on_a_path();
    let manager = manager(&[("NOTIFY_SOCKET", &path)]).unwrap();
    manager.ready("listening on http://127.0.0.1:8765/mcp");
    manager.stopping("closing\nREADY=1");
    assert_eq!(
        heard.all(),
        ["READY=1\nSTATUS=listening on http://127.0.0.1:8765/mcp", "STOPPING=1\nSTATUS=closing READY=1"]
    );
}

#[test]
fn an_abstract_name_is_a_socket_too() {
    let name = format!("raspi-mcp-test-{}", std::process::id());
    let heard = Heard::at(&SocketAddr::from_abstract_name(&name).unwrap());
    manager(&[("NOTIFY_SOCKET", &format!("@{name}"))]).unwrap().ready("here");
    assert_eq!(heard.all(), ["READY=1\nSTATUS=here"]);
}

#[test]
fn without_a_manager_everything_is_silence() {
    for variables in [&[][..], &[("NOTIFY_SOCKET", "")]] {
        let manager = manager(variables).unwrap();
        manager.ready("nobody listens");
        manager.stopping("");
    }
}

#[test]
fn a_manager_that_is_not_there_is_an_error_with_its_name() {
    for (socket, said) in [("relative", "\"relative\""), ("/nowhere/notify", "os error 2"), ("@nobody", "refused")] {
        let error = manager(&[("NOTIFY_SOCKET", socket)]).unwrap_err().to_string();
        assert!(error.contains(said), "{socket}: {error}");
    }
}

#[test]
fn a_limit_that_is_no_limit_is_an_error() {
    let (_dir, _heard, path) = on_a_path();
    for limit in ["0", "-1", "soon", ""] {
        let error = manager(&[("NOTIFY_SOCKET", &path), ("WATCHDOG_USEC", limit)]).unwrap_err().to_string();
        assert!(error.contains("WATCHDOG_USEC") && error.contains("microseconds"), "{error}");
    }
}

/// How many signs of life there are in an hour of the test's own time.
async fn beats_in_an_hour(variables: &[(&str, &str)]) -> usize {
    let (_dir, heard, path) = on_a_path();
    let manager = manager(&[&[("NOTIFY_SOCKET", path.as_str())], variables].concat()).unwrap();
    let mut beats = 0;
    let hour = tokio::time::sleep(Duration::from_secs(3600));
    let (mut watched, mut hour) = (std::pin::pin!(manager.watchdog()), std::pin::pin!(hour));
    let mut look = tokio::time::interval(Duration::from_secs(5));
    loop {
        tokio::select! {
            biased;
            never = &mut watched => match never {},
            // A socket holds only so much: look as time goes by.
            _ = look.tick() => for words in heard.all() {
                assert_eq!(words, "WATCHDOG=1");
                beats += 1;
            },
            () = &mut hour => return beats,
        }
    }
}

#[tokio::test(start_paused = true)]
async fn life_shows_twice_in_each_limit() {
    assert_eq!(beats_in_an_hour(&[("WATCHDOG_USEC", "60000000"), ("WATCHDOG_PID", "7")]).await, 120 + 1);
    assert_eq!(beats_in_an_hour(&[("WATCHDOG_USEC", "600000000")]).await, 12 + 1, "without a pid it is ours as well");
}

#[tokio::test(start_paused = true)]
async fn nothing_stirs_without_a_watchdog_or_for_that_of_another_process() {
    assert_eq!(beats_in_an_hour(&[]).await, 0);
    assert_eq!(beats_in_an_hour(&[("WATCHDOG_USEC", "60000000"), ("WATCHDOG_PID", "8")]).await, 0);
}
