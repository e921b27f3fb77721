//! The unix socket: programs on this machine, identified by the kernel.

use super::{lines, local::LocalAccess, write_deadline::Paced};
use crate::rpc::{reply, router::Server};
use base::os::{
    Root,
    doors::{self, Door},
    groups, local,
};
use contract::{
    access::{
        caller::{Caller, Transport},
        presence::Presence,
        seats::{Seat, Seats},
        shares::{PoolFull, is_admin},
    },
    config::{Owners, SERVER_USER, Settings},
};
use std::{fs, io, os::unix::fs::PermissionsExt, path::PathBuf, sync::Arc};
use tokio::net::{UnixListener, UnixStream};

/// The socket's path and access rules.
#[derive(Clone, Debug)]
pub struct SocketOptions {
    pub path: PathBuf,
    pub max_connections: usize,
    /// Members of this group are admin, like root; all other users may only read.
    pub admin_group: String,
    /// The owners of local accounts: `access.owners`.
    pub owners: Owners,
}

impl SocketOptions {
    pub fn of(settings: &Settings) -> Self {
        Self {
            path: settings.socket.path.clone(),
            max_connections: settings.socket.max_connections,
            admin_group: settings.access.admin_group.clone(),
            owners: settings.access.owners.clone(),
        }
    }
}

/// A bound socket, with the doors beside it ([`doors`]), that removes their files when dropped.
pub struct SocketListener {
    listener: UnixListener,
    /// Root's, so that nobody else fills the queue in which it waits.
    beside: Vec<UnixListener>,
    doors: [Door; 1],
    options: SocketOptions,
}

impl SocketListener {
    /// Binds the socket; replaces one that a dead server left behind.
    ///
    /// # Errors
    /// `AddrInUse` if another server answers there, and those of the file system.
    pub fn bind(options: SocketOptions) -> io::Result<Self> {
        let path = &options.path;
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        let listener = match UnixListener::bind(path) {
            Err(error) if error.kind() == io::ErrorKind::AddrInUse && doors::is_dead(path) => {
                fs::remove_file(path)?;
                UnixListener::bind(path)?
            }
            bound => bound?,
        };
        // Any local user may connect; the role follows from the user id that the kernel reports.
        fs::set_permissions(path, fs::Permissions::from_mode(0o666))?;
        let doors = SocketOptions::doors(&Root::system());
        Ok(Self { listener, beside: doors::open_all(path, &doors), doors, options })
    }

    /// Accepts until the server stops.
    pub async fn run(self, server: Arc<Server>) {
        let seats = server.pipeline.services.seats(self.options.max_connections);
        let all = [&self.listener].into_iter().chain(&self.beside);
        futures::future::join_all(all.map(|listener| self.accept_from(listener, &server, &seats))).await;
    }

    async fn accept_from(&self, listener: &UnixListener, server: &Arc<Server>, seats: &Arc<Seats>) {
        loop {
            let accepted = tokio::select! {
                biased;
                () = server.stop.cancelled() => return,
                accepted = listener.accept() => accepted,
            };
            match accepted {
                Ok((stream, _)) => self.seat(server, seats, stream),
                Err(error) => super::pause_after(&error, &server.stop).await,
            }
            // One at a time: a flood at one socket keeps nobody waiting who comes by another, or is connected.
            tokio::task::yield_now().await;
        }
    }

    /// Serves a new connection as a task, if there is a place for it.
    fn seat(&self, server: &Arc<Server>, seats: &Arc<Seats>, stream: UnixStream) {
        let caller = match identify(&stream, &self.options) {
            Ok(caller) => caller,
            Err(error) => return tracing::warn!(%error, "refused a peer"),
        };
        let seat = match sit(seats, &caller) {
            Ok(seat) => seat,
            Err(full) => return turn_away(&stream, full),
        };
        let caller = Caller { presence: Some(Presence::seated(&seat)), ..caller };
        let server = Arc::clone(server);
        base::task::spawn_on(&server.tasks.clone(), async move {
            let (reader, writer) = stream.into_split();
            lines::serve(server, caller, reader, Paced::new(writer, Some(Arc::clone(&seat)))).await;
            drop(seat);
        });
    }
}

/// A place for a local user: at most a share, closing its own idle connections if needed. Root and admins may use all
/// places.
fn sit(seats: &Arc<Seats>, caller: &Caller) -> Result<Arc<Seat>, PoolFull> {
    let is_admin = is_admin(caller);
    let most = if is_admin { usize::MAX } else { seats.rule().share };
    let party = caller.party();
    let seat = seats.sit(&party, most)?;
    seat.is(&party, is_admin, None)?;
    Ok(seat)
}

/// Sends the reason without waiting; the buffer of a new socket has room for it.
fn turn_away(stream: &UnixStream, full: PoolFull) {
    tracing::debug!(?full, "closed a connection: there is no place for it");
    let error = full.error("connections in use");
    let mut line = reply::error(None, error.code.rpc(), &error.message, Some(&error.data()));
    line.push(b'\n');
    let _ = stream.try_write(&line);
}

impl Drop for SocketListener {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.options.path);
        doors::close(&self.options.path, &self.doors);
    }
}

fn identify(stream: &UnixStream, options: &SocketOptions) -> io::Result<Caller> {
    let peer = stream.peer_cred()?;
    options.caller(peer.uid(), peer.gid(), &Root::system())
}

impl SocketOptions {
    /// Root's door. Where the server has an account of its own, that account's group has it as well: the agent is in it,
    /// and has to reach the server as long as a new system is on trial.
    fn doors(root: &Root) -> [Door; 1] {
        let own = groups::user_ids(root, SERVER_USER).map(|(_, group)| group);
        let group = own.filter(|group| *group == rustix::process::getegid().as_raw());
        local::DOORS.map(|name| Door { name, group })
    }

    /// The caller that a user of this machine is.
    ///
    /// # Errors
    /// As `LocalAccess::caller`.
    pub fn caller(&self, uid: u32, gid: u32, root: &Root) -> io::Result<Caller> {
        let access = LocalAccess { admin_group: &self.admin_group, owners: &self.owners };
        access.caller(uid, &[gid], Transport::Unix, root)
    }
}
