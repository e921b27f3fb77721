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
    /// Callers and their roles. Each role includes the ones before it: `read_only`, `ops_rw`, `admin`.
    [access] pub struct Access {
        /// Role of the client that started the server with `--stdio`.
        stdio_role: Role = Role::ReadOnly, ROLES, InState::Never;
        /// Role of callers on loopback without a token.
        loopback_role: Role = Role::ReadOnly, ROLES, InState::Never;
        /// Whether HTTP callers on loopback need a token too. Beyond loopback every caller needs one.
        require_token: bool = false, SettingKind::Bool, InState::Never;
        /// Members of this group, and root, are `admin` on the Unix socket. Others are `read_only`.
        admin_group: String = "raspi-mcp-admin".into(), SettingKind::Account, InState::Never;
        /// Members of this group, and root, may answer requests with `raspi-mcp approve`.
        approver_group: String = "raspi-mcp-approver".into(), SettingKind::Account, InState::Never;
        /// Accounts that belong to one person or program: `uid:1000=ann`, `user:ann=ann`, `jwt:SUBJECT=ann`,
        /// `stdio=ann`; a token has the field `owner`. An owner can use its pins over every transport, and has one
        /// caller's share of each limit. The audit log records both names.
        owners: Owners = Owners::default(), SettingKind::Owners, InState::Never;
        /// Bearer tokens, one `[[access.tokens]]` each. The tokens of all files are combined. Only files can contain
        /// them.
        tokens: Vec<TokenSetting> = Vec::new(), SettingKind::Tables(&TOKENS), InState::Never;
    }
}
