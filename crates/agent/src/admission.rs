//! Admission of connections to the agent's socket, and the refusal of the others.
//!
//! Any local user may connect, so a refusal must be cheap: one non-blocking write, no task, no sync to the card. The
//! server's user, root and the other approvers have separate limits, so none of them can use up another's.

use super::{
    context::Agent,
    peer::{Peer, PeerKind},
    protocol::AgentReply,
};
use base::error::ToolError;
use std::{
    collections::HashMap,
    io::Write,
    sync::{Arc, Mutex, PoisonError},
};
use tokio::net::UnixStream;

/// Connections per user: the server needs one, an approver one each.
const MAX_PER_USER: usize = 8;
/// Connections of all approvers except root.
const MAX_APPROVERS: usize = 16;

/// The peer at the other end, with its connection slot.
///
/// # Errors
/// `permission_denied` for users without access, `resource_exhausted` when the limit of connections is reached.
pub(super) fn admit(
    agent: &Agent,
    seats: &Arc<ConnectionSlots>,
    stream: &UnixStream,
) -> Result<(Peer, ConnectionSlot), ToolError> {
    let cred = stream
        .peer_cred()
        .map_err(|error| ToolError::denied(format!("the kernel does not say who is calling: {error}")))?;
    let peer = Peer::judge(&agent.settings, cred.uid(), cred.gid(), cred.pid())
        .inspect_err(|error| agent.log.note_stranger(cred.uid(), error))?;
    let seat = seats.take(&peer).inspect_err(|error| agent.log.note_crowd(&peer, error))?;
    Ok((peer, seat))
}

/// Writes the reason and closes. Does not block: the reply fits into the socket's buffer; a peer that does not read it
/// loses it.
pub(super) fn turn_away(stream: UnixStream, error: ToolError) {
    let Ok(mut line) = serde_json::to_vec(&AgentReply::new(None, Err(error))) else { return };
    line.push(b'\n');
    // Written directly: the runtime would first wait until the socket is writable.
    if let Ok(mut stream) = stream.into_std() {
        let _ = stream.write(&line);
    }
}

/// Open connections per user.
#[derive(Default)]
pub(super) struct ConnectionSlots(Mutex<HashMap<u32, Taken>>);

struct Taken {
    count: usize,
    /// An approver other than root, and not the server.
    approver: bool,
}

/// One connection slot. Dropping it frees the slot.
pub(super) struct ConnectionSlot(Arc<ConnectionSlots>, u32);

impl ConnectionSlots {
    fn take(self: &Arc<Self>, peer: &Peer) -> Result<ConnectionSlot, ToolError> {
        let mut users = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let approver = peer.standing == PeerKind::Approver && peer.uid != 0;
        let approvers: usize = users.values().filter(|taken| taken.approver).map(|taken| taken.count).sum();
        let mine = users.get(&peer.uid).map_or(0, |taken| taken.count);
        if mine >= MAX_PER_USER || approver && approvers >= MAX_APPROVERS {
            return Err(ToolError::exhausted("the agent has no room for another connection")
                .with("limit", MAX_APPROVERS)
                .with("limit_per_user", MAX_PER_USER)
                .hint("close one"));
        }
        users.entry(peer.uid).or_insert(Taken { count: 0, approver }).count += 1;
        Ok(ConnectionSlot(Arc::clone(self), peer.uid))
    }
}

impl Drop for ConnectionSlot {
    fn drop(&mut self) {
        let mut users = self.0.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(taken) = users.get_mut(&self.1) {
            taken.count -= 1;
            if taken.count == 0 {
                users.remove(&self.1);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn peer(uid: u32, standing: PeerKind) -> Peer {
        Peer { uid, name: format!("uid {uid}"), standing }
    }

    #[test]
    fn neither_the_server_nor_approvers_can_take_the_places_of_root_or_of_each_other() {
        let seats = Arc::new(ConnectionSlots::default());
        let mut held = Vec::new();
        let mut fill = |who: &Peer| {
            let before = held.len();
            while let Ok(seat) = seats.take(who) {
                held.push(seat);
            }
            held.len() - before
        };
        assert_eq!(fill(&peer(900, PeerKind::Server)), 8);
        assert_eq!([1000, 1001, 1002].map(|uid| fill(&peer(uid, PeerKind::Approver))), [8, 8, 0]);
        assert_eq!(fill(&peer(0, PeerKind::Approver)), 8);
        drop(held);
        assert!(seats.0.lock().unwrap().is_empty(), "nothing is kept of who has left");
        assert!(seats.take(&peer(1002, PeerKind::Approver)).is_ok());
    }
}
