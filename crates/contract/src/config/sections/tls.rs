//! `[tls]`: encryption of the port of `[http]`.

use crate::config::{declare::section, key::InState, kind::SettingKind};
use std::path::PathBuf;

section! {
    /// TLS 1.2 and 1.3 on the port of `[http]`, with the crypto library ring.
    [tls] pub struct Tls given places {
        /// Whether HTTP uses TLS. Required beyond loopback.
        enabled: bool = false, SettingKind::Bool, InState::Never;
        /// Certificate and chain (PEM). `raspi-mcp tls init` creates one. Changed files are used from the next
        /// connection on.
        // The server's certificate is first, then the chain that signed it, if any.
        certificate: PathBuf = places.state_dir.join("tls/certificate.pem"), SettingKind::File, InState::Never;
        /// Private key of the certificate (PEM). Only the server's user may read it.
        // PKCS #8, SEC 1 or PKCS #1.
        key: PathBuf = places.state_dir.join("tls/key.pem"), SettingKind::File, InState::Never;
    }
}
