//! `[jwt]`: JSON Web Tokens; off while `issuer` is empty.

use crate::config::{
    declare::section,
    key::InState,
    kind::{SettingKind, seconds},
};
use std::path::PathBuf;

section! {
    /// JSON Web Tokens of another issuer, such as the identity provider of a company, signed with EdDSA, ES256 or RS256.
    [jwt] pub struct Jwt given places {
        /// The accepted `iss` claim. Empty: no JWT is accepted.
        issuer: String = String::new(), SettingKind::Text, InState::Never;
        /// The value that the `aud` claim must contain: the address by which clients know this server, like
        /// "https://pi.local:8765/mcp".
        audience: String = String::new(), SettingKind::Text, InState::Never;
        /// The issuer's public keys, as a JWK set: Ed25519, P-256, or RSA of 2048 to 8192 bits. The file is read again
        /// when it changes; keys are never fetched.
        keys_file: PathBuf = places.site_dir.join("jwks.json"), SettingKind::File, InState::Never;
        /// The claim that contains the role: `read_only`, `ops_rw` or `admin`, alone, in a list, or in a
        /// space-separated `scope`. The highest role applies.
        role_claim: String = "role".into(), SettingKind::Text, InState::Never;
        /// Maximum difference between the issuer's clock and this machine's.
        clock_skew_seconds: u32 = 60, seconds(0, 300), InState::Lower;
    }
}

impl Jwt {
    pub fn is_on(&self) -> bool {
        !self.issuer.is_empty()
    }
}
