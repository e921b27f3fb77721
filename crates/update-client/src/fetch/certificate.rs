//! Certificates of servers, where nobody has set the clock: one that is younger than all that this machine knows of the time is none the
//! worse for it. Expiry counts as before, by the time of rule 13, and from then on by that of the youngest certificate.

use super::Limits;
use rustls::{
    CertificateError, DigitallySignedStruct, Error, SignatureScheme,
    client::{
        WebPkiServerVerifier,
        danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
    },
    pki_types::{CertificateDer, ServerName, UnixTime},
};
use std::{sync::Arc, time::Duration};
use update::Reckoning;

/// A server's certificate and those between it and its authority: each may be younger than the one before.
const MOST_STEPS: u32 = 8;

/// What decides, and when it is.
#[derive(Debug)]
pub(super) struct Patient {
    pub inner: Arc<WebPkiServerVerifier>,
    pub limits: Limits,
}

impl Limits {
    /// What time it is for certificates. Plausible is enough here: what comes over the network is judged by its own signatures.
    pub(super) fn reckoned(&self, synchronised: bool) -> Reckoning {
        Reckoning::of(self.wall.now_ms().div_euclid(1000), synchronised, self.time_floor)
    }
}

impl ServerCertVerifier for Patient {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let verified = |at| self.inner.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, at);
        let known = self.limits.reckoned(self.limits.synchronised);
        let mut at = now;
        for _ in 0..MOST_STEPS {
            match verified(at) {
                Err(Error::InvalidCertificate(CertificateError::NotValidYetContext { not_before, .. }))
                    if !known.fresh && not_before > at && not_before.as_secs() <= known.latest() =>
                {
                    at = UnixTime::since_unix_epoch(Duration::from_secs(not_before.as_secs()));
                }
                judged => return judged,
            }
        }
        verified(at)
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.inner.verify_tls12_signature(message, cert, dss)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.inner.verify_tls13_signature(message, cert, dss)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.inner.supported_verify_schemes()
    }
}
