//! A client that pins its server by fingerprint: no authorities, no names, no other certificate.

use super::provider;
use appliance::certificate::Fingerprint;
use rustls::{
    ClientConfig, DigitallySignedStruct, Error, SignatureScheme,
    client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
    crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature},
    pki_types::{CertificateDer, ServerName, UnixTime},
};
use std::sync::{Arc, OnceLock};

/// The TLS configuration of a client that accepts only this certificate.
///
/// # Errors
/// If ring supports no protocol version: a build error.
pub fn client_config(pin: Fingerprint) -> Result<ClientConfig, Error> {
    config(pin, Arc::default())
}

/// As [`client_config`], and what keeps the fingerprint of the certificate that was presented.
///
/// # Errors
/// As there.
pub fn watching(pin: Fingerprint) -> Result<(ClientConfig, Arc<OnceLock<Fingerprint>>), Error> {
    let seen = Arc::new(OnceLock::new());
    config(pin, Arc::clone(&seen)).map(|config| (config, seen))
}

fn config(pin: Fingerprint, seen: Arc<OnceLock<Fingerprint>>) -> Result<ClientConfig, Error> {
    let provider = provider();
    let verifier = Pinned { pin, seen, provider: Arc::clone(&provider) };
    Ok(ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier))
        .with_no_client_auth())
}

/// Dates and names are not checked: the fingerprint is stronger. The handshake's signature is checked, or anybody could
/// present a copy of the certificate.
#[derive(Debug)]
struct Pinned {
    pin: Fingerprint,
    /// The certificate that came first.
    seen: Arc<OnceLock<Fingerprint>>,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for Pinned {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let found = Fingerprint::of(end_entity);
        let _ = self.seen.set(found);
        if found == self.pin {
            return Ok(ServerCertVerified::assertion());
        }
        Err(Error::General(format!(
            "the certificate there is {found}, the pinned one {}: it was replaced, or somebody is in between",
            self.pin
        )))
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, cert, dss, &self.provider.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, cert, dss, &self.provider.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
