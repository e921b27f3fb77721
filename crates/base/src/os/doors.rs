//! Sockets of this machine that every user may connect to, and doors of their own beside them.
//!
//! The kernel keeps a bounded queue of connections for each socket, whoever makes them: one user who connects and closes
//! without end keeps it full, and then everybody's connect fails with EAGAIN, root's too. A door is a second socket of the
//! same server. Its file lets root and one group connect and nobody else, so nobody else can fill its queue.

use super::blocking;
use std::{
    fs, io,
    os::unix::fs::{MetadataExt, PermissionsExt, chown},
    path::{Path, PathBuf},
    time::{Duration, Instant},
};
use tokio::net::{UnixListener, UnixStream};

/// How long [`connect`] waits for a place in a full queue, in all.
pub const PATIENCE: Duration = Duration::from_secs(5);
/// A path of the sockets' address family has 108 bytes with its end.
const LONGEST_PATH: usize = 107;

/// A way into a server for some users only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Door {
    /// What it adds to the socket's name: `root` makes `agent-root.sock` of `agent.sock`.
    pub name: &'static str,
    /// The group whose members may connect, besides the socket's owner and root. The caller has to be in it, or
    /// privileged.
    pub group: Option<u32>,
}

/// The path of the door `name` of the socket at `path`.
pub fn beside(path: &Path, name: &str) -> PathBuf {
    let part = |part: Option<&std::ffi::OsStr>| part.unwrap_or_default().to_string_lossy().into_owned();
    let (stem, extension) = (part(path.file_stem()), part(path.extension()));
    let dot = if extension.is_empty() { "" } else { "." };
    path.with_file_name(format!("{stem}-{name}{dot}{extension}"))
}

/// Listens at a door of the socket at `path`, in place of one that an earlier process left.
///
/// # Errors
/// Those of the file system; `PermissionDenied` for a group that this process may not give a file to. Nothing is left then.
pub fn open(path: &Path, door: Door) -> io::Result<UnixListener> {
    let path = beside(path, door.name);
    if path.as_os_str().len() > LONGEST_PATH {
        return Err(io::Error::new(io::ErrorKind::InvalidFilename, "its path is too long for a socket"));
    }
    remove(&path)?;
    let listener = UnixListener::bind(&path)?;
    let restricted = match door.group {
        // The group first: the former one must not get the mode.
        Some(group) => give(&path, group).and_then(|()| set_mode(&path, 0o660)),
        None => set_mode(&path, 0o600),
    };
    restricted.map(|()| listener).inspect_err(|_| drop(fs::remove_file(&path)))
}

/// Opens each of these doors, if that is possible. One that is not is logged: its users then come in by the socket that
/// is everybody's.
pub fn open_all(path: &Path, doors: &[Door]) -> Vec<UnixListener> {
    let opened = doors.iter().filter_map(|door| {
        open(path, *door)
            .inspect_err(|error| {
                let socket = beside(path, door.name);
                tracing::warn!(socket = %socket.display(), group = door.group, %error, "no socket of their own for these users");
            })
            .ok()
    });
    opened.collect()
}

/// Removes the files of these doors.
pub fn close(path: &Path, doors: &[Door]) {
    doors.iter().for_each(|door| drop(fs::remove_file(beside(path, door.name))));
}

/// Connects to the server at `path`: by the first of `doors` that lets this process in, or as everybody does. Where
/// the queue is full it waits for a place in the kernel's order, for `patience` at most.
///
/// # Errors
/// Those of the socket at `path`; `TimedOut` when its queue was full all the time.
pub async fn connect(path: &Path, doors: &[&str], patience: Duration) -> io::Result<UnixStream> {
    let until = Instant::now() + patience;
    for name in doors {
        match UnixStream::connect(beside(path, name)).await {
            Ok(stream) => return Ok(stream),
            // Somebody of this user's own kind fills it, since strangers do not reach it: the others may be freer.
            Err(error) if is_full(&error) => {
                if let Ok(stream) = waiting(beside(path, name), until - patience / 2).await {
                    return Ok(stream);
                }
            }
            // There is no such door, it is not for this user, or its server has gone.
            Err(_) => {}
        }
    }
    match UnixStream::connect(path).await {
        Err(error) if is_full(&error) => waiting(path.to_owned(), until).await.map_err(|error| match error.kind() {
            io::ErrorKind::TimedOut => io::Error::new(
                io::ErrorKind::TimedOut,
                format!("its queue of connections was full for {} s", patience.as_secs_f32()),
            ),
            _ => error,
        }),
        connected => connected,
    }
}

/// Whether a process accepts connections at `path`. Does not wait for one whose queue is full.
pub fn is_served(path: &Path) -> bool {
    match begin(path, None) {
        Ok(_) => true,
        Err(error) => is_full(&error),
    }
}

/// Whether `path` is a socket that a process has left behind. Does not wait either.
pub fn is_dead(path: &Path) -> bool {
    matches!(begin(path, None), Err(error) if error.kind() == io::ErrorKind::ConnectionRefused)
}

/// Whether an error of `connect` is a full queue.
fn is_full(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::WouldBlock
}

/// Waits for a place in the queue, on a thread of its own: the kernel lets nobody watch for one.
async fn waiting(path: PathBuf, until: Instant) -> io::Result<UnixStream> {
    let waited = blocking::run("a socket", move |_| Ok(wait(&path, until))).await;
    UnixStream::from_std(waited.map_err(|error| io::Error::other(error.into_message()))??)
}

fn wait(path: &Path, until: Instant) -> io::Result<std::os::unix::net::UnixStream> {
    loop {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        match begin(path, Some(left)) {
            Ok(stream) => return Ok(stream),
            // The kernel says so at the end of the time; a signal ends the wait, not the time.
            Err(error) if is_full(&error) || error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// Connects, waiting in the kernel for a place for so long. The stream does not block.
fn begin(path: &Path, wait: Option<Duration>) -> io::Result<std::os::unix::net::UnixStream> {
    use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with, sockopt};
    let flags = if wait.is_some() { SocketFlags::CLOEXEC } else { SocketFlags::CLOEXEC | SocketFlags::NONBLOCK };
    let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    if let Some(wait) = wait {
        // The shortest that is no "for ever".
        sockopt::set_socket_timeout(&socket, sockopt::Timeout::Send, Some(wait.max(Duration::from_millis(1))))?;
    }
    connect(&socket, &SocketAddrUnix::new(path)?)?;
    if wait.is_some() {
        sockopt::set_socket_timeout(&socket, sockopt::Timeout::Send, None)?;
    }
    let stream = std::os::unix::net::UnixStream::from(socket);
    stream.set_nonblocking(true)?;
    Ok(stream)
}

fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Gives a file to a group. One that it has by itself takes no system call, which a unit may forbid.
fn give(path: &Path, group: u32) -> io::Result<()> {
    if fs::symlink_metadata(path)?.gid() == group { Ok(()) } else { chown(path, None, Some(group)) }
}

fn set_mode(path: &Path, mode: u32) -> io::Result<()> {
    fs::set_permissions(path, fs::Permissions::from_mode(mode))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROOT: Door = Door { name: "root", group: None };

    /// Fills the queue of a socket, as somebody does who connects without end. Holds what it connected.
    fn fill(path: &Path) -> Vec<std::os::unix::net::UnixStream> {
        let mut held = Vec::new();
        loop {
            match begin(path, None) {
                Ok(stream) => held.push(stream),
                Err(error) if is_full(&error) => return held,
                Err(error) => panic!("{error}"),
            }
        }
    }

    #[test]
    fn a_door_is_beside_its_socket() {
        for (socket, door) in [
            ("/run/a/agent.sock", "/run/a/agent-root.sock"),
            ("/run/a/agent", "/run/a/agent-root"),
            ("agent.x.sock", "agent.x-root.sock"),
        ] {
            assert_eq!(beside(Path::new(socket), "root"), Path::new(door));
        }
    }

    #[tokio::test]
    async fn a_full_queue_shuts_out_everybody_but_those_with_a_door() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("agent.sock");
        let everybody = UnixListener::bind(&path).unwrap();
        let _held = fill(&path);
        assert!(is_served(&path) && !is_dead(&path), "it is full, not gone");
        let began = Instant::now();
        let patience = Duration::from_millis(300);
        let error = connect(&path, &["root"], patience).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut, "{error}");
        assert!(began.elapsed() >= patience && began.elapsed() < Duration::from_secs(3), "{:?}", began.elapsed());

        let door = open(&path, ROOT).unwrap();
        let (connected, accepted) = tokio::join!(connect(&path, &["nobody", "root"], patience), door.accept());
        assert!(connected.is_ok() && accepted.is_ok());

        // Whoever has none gets the place that becomes free.
        let waiting = tokio::spawn({
            let path = path.clone();
            async move { connect(&path, &[], Duration::from_secs(30)).await.map(drop) }
        });
        let mut waiting = waiting;
        loop {
            tokio::select! {
                connected = &mut waiting => break connected.unwrap().unwrap(),
                accepted = everybody.accept() => drop(accepted.unwrap()),
            }
        }
    }

    #[tokio::test]
    async fn a_door_is_for_its_owner_or_its_group_and_replaces_a_stale_one() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("agent.sock");
        let mode = |name: &str| fs::metadata(beside(&path, name)).unwrap().permissions().mode() & 0o777;
        let own = rustix::process::getegid().as_raw();
        let group = Door { name: "approvers", group: Some(own) };
        // The second time as after a kill: the files are there, and nobody listens.
        for _ in 0..2 {
            assert_eq!(open_all(&path, &[ROOT, group]).len(), 2);
            assert_eq!((mode("root"), mode("approvers")), (0o600, 0o660));
            assert!(!is_served(&beside(&path, "root")) && is_dead(&beside(&path, "root")), "nobody listens there");
        }
        let refused = connect(&path, &["root", "approvers"], PATIENCE).await.unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::NotFound, "the last word is that of everybody's socket");
        close(&path, &[ROOT, group]);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
        // A folder that cannot be written, and a name that is too long, cost that door only.
        assert!(open_all(&folder.path().join("none/agent.sock"), &[ROOT]).is_empty());
        assert!(open_all(&folder.path().join(format!("{}.sock", "x".repeat(120))), &[ROOT]).is_empty());
    }
}
