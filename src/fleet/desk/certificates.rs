//! The fleet's authority and the certificates that it signs: ECDSA P-256 (RFC 5480), X.509 (RFC 5280).

use base::{error::ToolError, signing::p256_point};
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair, KeyUsagePurpose,
    PKCS_ECDSA_P256_SHA256, PublicKeyData, SignatureAlgorithm,
};
use std::time::Duration;
use time::OffsetDateTime;

/// How long an authority is valid.
const AUTHORITY: Duration = Duration::from_secs(20 * 365 * 86_400);
/// How long other certificates are.
pub const VALID: Duration = Duration::from_secs(2 * 365 * 86_400);
/// They are valid from the day before: clocks differ.
const BEFORE: Duration = Duration::from_secs(86_400);

/// A certificate and, where it was made here, its key. PEM.
pub struct Issued {
    pub certificate: String,
    pub key: Option<String>,
    /// Hexadecimal.
    pub serial: String,
    pub expires: OffsetDateTime,
}

/// Makes the authority of a fleet, or signs it anew for the `key` that it has (PEM): what it signed before stays valid.
///
/// # Errors
/// `internal` without random numbers; `invalid_argument` for a key that is none.
pub fn authority(fleet: &str, key: Option<&str>) -> Result<Issued, ToolError> {
    let mut params = CertificateParams::new(Vec::new()).map_err(|error| failed(&error))?;
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    params.distinguished_name.push(DnType::CommonName, format!("fleet {fleet}"));
    let expires = validity(&mut params, AUTHORITY);
    let key = key_pair(key)?;
    let certificate = params.self_signed(&key).map_err(|error| failed(&error))?;
    Ok(Issued { certificate: certificate.pem(), key: Some(key.serialize_pem()), serial: String::new(), expires })
}

/// The key in this PEM, or a new one.
fn key_pair(pem: Option<&str>) -> Result<KeyPair, ToolError> {
    match pem {
        None => KeyPair::generate().map_err(|error| failed(&error)),
        Some(pem) => KeyPair::from_pem(pem)
            .map_err(|error| ToolError::invalid(format!("the certificate's key is no key in PEM: {error}"))),
    }
}

/// A public key of somebody else.
struct Point<'a>(&'a [u8]);

impl PublicKeyData for Point<'_> {
    fn der_bytes(&self) -> &[u8] {
        self.0
    }

    fn algorithm(&self) -> &'static SignatureAlgorithm {
        &PKCS_ECDSA_P256_SHA256
    }
}

/// What signs: the authority's certificate and key.
pub struct Authority(Issuer<'static, KeyPair>);

impl Authority {
    /// Reads both in PEM.
    ///
    /// # Errors
    /// `invalid_argument`.
    pub fn read(fleet: &str, key: &str) -> Result<Self, ToolError> {
        let key = KeyPair::from_pem(key)
            .map_err(|error| ToolError::invalid(format!("ca.key is no key of an authority: {error}")))?;
        let mut params = CertificateParams::new(Vec::new()).map_err(|error| failed(&error))?;
        params.distinguished_name.push(DnType::CommonName, format!("fleet {fleet}"));
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        Ok(Self(Issuer::new(params, key)))
    }

    /// Signs a certificate for a `key` of this folder (PEM), or for one that is made here.
    ///
    /// # Errors
    /// `invalid_argument` for a name that cannot be in a certificate, or a key that is none.
    pub fn make(&self, names: Vec<String>, is_server: bool, key: Option<&str>) -> Result<Issued, ToolError> {
        let key = key_pair(key)?;
        let issued = self.sign(names, is_server, &key)?;
        Ok(Issued { key: Some(key.serialize_pem()), ..issued })
    }

    /// Signs a client's certificate for a public key: DER of its SubjectPublicKeyInfo.
    ///
    /// # Errors
    /// `invalid_argument` for something that is no such key.
    pub fn certify(&self, name: String, public_key: &[u8]) -> Result<Issued, ToolError> {
        let point = p256_point(public_key)
            .ok_or_else(|| ToolError::invalid("the public key in the request is no P-256 key"))?;
        self.sign(vec![name], false, &Point(point))
    }

    fn sign(&self, names: Vec<String>, is_server: bool, key: &impl PublicKeyData) -> Result<Issued, ToolError> {
        let mut params = CertificateParams::new(names)
            .map_err(|error| ToolError::invalid(format!("a name cannot be in a certificate: {error}")))?;
        params.is_ca = IsCa::ExplicitNoCa;
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = match is_server {
            true => vec![ExtendedKeyUsagePurpose::ServerAuth],
            false => vec![ExtendedKeyUsagePurpose::ClientAuth],
        };
        let expires = validity(&mut params, VALID);
        let mut serial = [0; 16];
        ring::rand::SecureRandom::fill(&ring::rand::SystemRandom::new(), &mut serial)
            .map_err(|_| ToolError::internal("the kernel gives no random bytes"))?;
        // Positive, and not zero.
        serial[0] = serial[0] & 0x7f | 1;
        params.serial_number = Some(serial.to_vec().into());
        let certificate = params.signed_by(key, &self.0).map_err(|error| failed(&error))?;
        Ok(Issued { certificate: certificate.pem(), key: None, serial: base::canonical::hex(&serial), expires })
    }
}

fn validity(params: &mut CertificateParams, long: Duration) -> OffsetDateTime {
    let now = OffsetDateTime::now_utc().replace_nanosecond(0).unwrap_or_else(|_| OffsetDateTime::now_utc());
    params.not_before = now - BEFORE;
    params.not_after = now + long;
    params.not_after
}

fn failed(error: &rcgen::Error) -> ToolError {
    ToolError::internal(format!("no certificate was made: {error}"))
}
