//! Verifies certificates of servers while the clock is not set. A certificate whose validity starts later than the time
//! that this machine knows is accepted, if that start is plausible ([`update::Reckoning::latest`]). Expiry is checked
//! by the time that [`Reckoning`] gives, and then by the start of the youngest certificate.

use super::DownloadLimits;
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

/// Maximum number of certificates from the server's to its authority; each may be younger than the one before.
const MOST_STEPS: u32 = 8;

/// The verifier, with the limits that determine its time.
#[derive(Debug)]
pub(super) struct Patient {
    pub inner: Arc<WebPkiServerVerifier>,
    pub limits: DownloadLimits,
}

impl DownloadLimits {
    /// The time for certificates. A plausible time is sufficient, because what is downloaded has signatures of its own.
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
