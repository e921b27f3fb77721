//! `[jwt]`: JSON Web Tokens; off while `issuer` is empty.

use crate::config::{
    declare::section,
    key::InState,
    kind::{SettingKind, seconds},
};
use std::path::PathBuf;

section! {
    /// Tokens made by somebody else: JSON Web Tokens, signed with EdDSA, ES256 or RS256.
    [jwt] pub struct Jwt given places {
        /// The `iss` that is believed. Empty: no JWT is.
        issuer: String = String::new(), SettingKind::Text, InState::Never;
        /// What `aud` must hold: the address clients know this server by, like "https://pi.local:8765/mcp".
        audience: String = String::new(), SettingKind::Text, InState::Never;
        /// The issuer's public keys, a JWK set: Ed25519, P-256, or RSA of 2048 to 8192 bits. Read again when it
        /// changes; never fetched.
        keys_file: PathBuf = places.site_dir.join("jwks.json"), SettingKind::File, InState::Never;
        /// The claim that holds the role: `read_only`, `ops_rw` or `admin`, alone or in a list, or in a `scope` with
        /// spaces between. The highest counts.
        role_claim: String = "role".into(), SettingKind::Text, InState::Never;
        /// How far the issuer's clock and this one may be apart.
        clock_skew_seconds: u32 = 60, seconds(0, 300), InState::Lower;
    }
}

impl Jwt {
    pub fn is_on(&self) -> bool {
        !self.issuer.is_empty()
    }
}
