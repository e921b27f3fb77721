//! `[access]`: who calls, and with which role.

use crate::{
    config::{
        Owners, TokenSetting,
        declare::section,
        key::InState,
        kind::{ROLES, SettingKind},
        tokens::TOKENS,
    },
    meta::Role,
};

section! {
    /// Who is who. Roles, each including the ones before: `read_only`, `ops_rw`, `admin`.
    [access] pub struct Access {
        /// Role of whoever started the server with `--stdio`.
        stdio_role: Role = Role::ReadOnly, ROLES, InState::Never;
        /// Role of a caller on loopback that brings no token.
        loopback_role: Role = Role::ReadOnly, ROLES, InState::Never;
        /// Whether HTTP callers on loopback must bring a token too. Beyond loopback everybody must.
        require_token: bool = false, SettingKind::Bool, InState::Never;
        /// Members of this group are `admin` on the unix socket, as root is; others are `read_only`.
        admin_group: String = "raspi-mcp-admin".into(), SettingKind::Account, InState::Never;
        /// Members of this group may answer `raspi-mcp approve`, as root may.
        approver_group: String = "raspi-mcp-approver".into(), SettingKind::Account, InState::Never;
        /// Which accounts are one person's or program's: `uid:1000=ann`, `user:ann=ann`, `jwt:SUBJECT=ann`,
        /// `stdio=ann`; a token has `owner`. One owner holds pins at every door, and has one caller's share of
        /// everything; the audit keeps both names.
        owners: Owners = Owners::default(), SettingKind::Owners, InState::Never;
        /// Bearer tokens, one `[[access.tokens]]` each. Those of all files count together; only files can hold them.
        tokens: Vec<TokenSetting> = Vec::new(), SettingKind::Tables(&TOKENS), InState::Never;
    }
}
