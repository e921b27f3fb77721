//! The agent's doors: a socket of its own for each kind of peer, beside the one that is everybody's.
//!
//! Any local user may connect to `agent.sock`, so any local user can fill its queue. A halt, an answer and the server's
//! own calls come in by a socket that only its kind of peer can connect to. Who somebody is decides [`Peer::judge`] all the
//! same, at each of them.
//!
//! [`Peer::judge`]: super::Peer::judge

use super::settings::AgentSettings;
use base::os::{doors::Door, groups};
use contract::config::{APPROVAL_PAGE_USER, ROUTERS_USER, SERVER_USER};

/// Their names, in the order in which a client tries them: that of the fewest users first.
pub(super) const DOORS: [&str; 5] = ["root", "server", "page", "routers", "approvers"];

/// The doors of this machine. Of a user or group that does not exist there is none.
pub(super) fn of(settings: &AgentSettings) -> Vec<Door> {
    let user = |name| groups::user_ids(&settings.root, name).map(|(_, group)| group);
    let groups = [
        None,
        user(SERVER_USER),
        user(APPROVAL_PAGE_USER),
        user(ROUTERS_USER),
        groups::id(&settings.root, &settings.approver_group),
    ];
    let all = DOORS.into_iter().zip(groups).map(|(name, group)| Door { name, group });
    all.filter(|door| door.group.is_some() || door.name == DOORS[0]).collect()
}
