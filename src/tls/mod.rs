//! TLS, on ring: the server's certificate, and clients that pin a server by fingerprint.

#[cfg(feature = "fleet")]
pub mod client_certificate;
pub mod pin;
pub mod shown;

use rustls::crypto::CryptoProvider;
use std::sync::Arc;

/// The only crypto library.
pub fn provider() -> Arc<CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}
