//! Users of this machine, as the kernel or the bus names them: principal, role and owner are the same for both doors.

use base::os::{Root, groups};
use contract::{
    access::caller::{Caller, Transport},
    config::{Owners, sections::agents::is_agent},
    meta::Role,
};
use std::io;

/// What decides the role and the owner of a local user.
pub struct LocalAccess<'a> {
    /// Members of this group are admin, like root; all other users may only read.
    pub admin_group: &'a str,
    /// The owners of local accounts: `access.owners`.
    pub owners: &'a Owners,
}

impl LocalAccess<'_> {
    /// The user `uid`, who is in the groups `gids`; more groups are read from /etc/group below `root`.
    ///
    /// # Errors
    /// `PermissionDenied` for the account of an agent: it answers calls, and makes none.
    pub fn caller(&self, uid: u32, gids: &[u32], transport: Transport, root: &Root) -> io::Result<Caller> {
        let name = groups::user_name(root, uid);
        if name.as_deref().is_some_and(is_agent) {
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, "agents have no role here"));
        }
        // Without any known group, membership is what /etc/group lists: no group has the last number.
        let mut gids = gids.iter().copied().chain([u32::MAX]);
        let admin = uid == 0 || gids.any(|gid| groups::contains(root, self.admin_group, uid, gid));
        let role = if admin { Role::Admin } else { Role::ReadOnly };
        let principal = format!("uid:{uid}");
        let owner = self.owners.of(&principal).or_else(|| self.owners.of(&format!("user:{}", name?)));
        Ok(Caller::new(principal, role, transport).of_owner(owner))
    }
}
