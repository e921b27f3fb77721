//! TLS, on ring: the certificate this server shows, and clients that know a server by its fingerprint.

pub mod pin;
pub mod shown;

use rustls::crypto::CryptoProvider;
use std::sync::Arc;

/// The one crypto library.
pub fn provider() -> Arc<CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}
