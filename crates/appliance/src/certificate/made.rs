//! Self-signed certificates, for owners without one: ECDSA P-256, recognised by clients by the fingerprint.

use super::Fingerprint;
use base::{
    error::ToolError,
    os::{Root, groups, whole},
};
use contract::config::{SERVER_USER, Tls};
use rcgen::{CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, KeyPair, KeyUsagePurpose, PublicKeyData};
use rustls::pki_types::{CertificateDer, pem::PemObject};
use std::{
    fs::{self, File, OpenOptions},
    io::{self, Write},
    os::unix::fs::{DirBuilderExt, OpenOptionsExt},
    path::Path,
};
use time::macros::datetime;

/// The result of [`init`].
pub struct CreatedCertificate {
    pub fingerprint: Fingerprint,
    /// Names and addresses that clients may use.
    pub names: Vec<String>,
}

/// Creates a key and a certificate for `names` and writes them to the configured files, key first, each atomically.
///
/// # Errors
/// `failed_precondition` when a file exists and `replace` is not set; `invalid_argument` for a name that is not valid
/// in a certificate; `unavailable` when a file cannot be written.
pub fn init(tls: &Tls, names: Vec<String>, replace: bool) -> Result<CreatedCertificate, ToolError> {
    for path in [&tls.certificate, &tls.key] {
        if !replace && path.exists() {
            return Err(ToolError::precondition(format!("there is {} already", path.display())).hint(
                "`raspi-mcp tls show` says its fingerprint; --replace makes a new one, which clients then have to be told",
            ));
        }
    }
    let Pair { certificate, key, fingerprint } = make(names.clone())?;
    put(&tls.key, key.as_bytes(), 0o600)?;
    put(&tls.certificate, certificate.as_bytes(), 0o644)?;
    Ok(CreatedCertificate { fingerprint, names })
}

/// A certificate and its key, both PEM.
pub struct Pair {
    pub certificate: String,
    pub key: String,
    pub fingerprint: Fingerprint,
}

/// Creates a key and a self-signed certificate for `names`.
///
/// # Errors
/// `invalid_argument` for a name that is not valid in a certificate; `internal` without random numbers.
pub fn make(names: Vec<String>) -> Result<Pair, ToolError> {
    let refused = |error: rcgen::Error| ToolError::invalid(format!("no certificate for {}: {error}", names.join(", ")));
    let key = KeyPair::generate().map_err(|error| ToolError::internal(format!("no key was made: {error}")))?;
    let mut params = CertificateParams::new(names.clone()).map_err(refused)?;
    params.distinguished_name.push(DnType::CommonName, "raspi-mcp");
    params.is_ca = IsCa::ExplicitNoCa;
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    // A Pi has no battery-backed clock, so the time may be 1970 here. The dates are fixed, and clients check the
    // fingerprint.
    params.not_before = datetime!(2020-01-01 00:00 UTC);
    params.not_after = datetime!(2049-12-31 23:59:59 UTC);
    let certificate = params.self_signed(&key).map_err(refused)?;
    Ok(Pair {
        certificate: certificate.pem(),
        key: key.serialize_pem(),
        fingerprint: Fingerprint::of(certificate.der()),
    })
}

/// Writes a temporary file and renames it: a running server sees either the old file or the new one, and only its user
/// can read the key. Returns when it is on the card under its name: a certificate that a client has seen is there after
/// a power cut.
fn put(path: &Path, bytes: &[u8], mode: u32) -> Result<(), ToolError> {
    let failed = |error: io::Error| {
        ToolError::unavailable(format!("cannot write {}: {error}", path.display()))
            .hint("run it as root, or as the user of the server")
    };
    let folder = path.parent().unwrap_or(Path::new("/"));
    let owner = server_user();
    if !folder.exists() {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(failed)?;
        give(folder, owner).map_err(failed)?;
    }
    let beside = whole::staged(path);
    let _ = fs::remove_file(&beside);
    let write = || -> io::Result<()> {
        let mut file = OpenOptions::new().write(true).create_new(true).mode(mode).open(&beside)?;
        file.write_all(bytes)?;
        give(&beside, owner)?;
        file.sync_all()?;
        fs::rename(&beside, path)?;
        File::open(folder)?.sync_all()
    };
    write().map_err(|error| {
        let _ = fs::remove_file(&beside);
        failed(error)
    })
}

/// The server's user, to whom root gives the files.
fn server_user() -> Option<u32> {
    rustix::process::geteuid().is_root().then(|| groups::user_id(&Root::system(), SERVER_USER)).flatten()
}

fn give(path: &Path, owner: Option<u32>) -> io::Result<()> {
    owner.map_or(Ok(()), |uid| std::os::unix::fs::lchown(path, Some(uid), None))
}

/// A key of a connection: ECDSA P-256.
pub struct ConnectionKey {
    /// PKCS #8 in PEM.
    pub secret: String,
    /// DER of the SubjectPublicKeyInfo.
    pub public: Vec<u8>,
}

/// Makes a key whose certificate somebody else will sign.
///
/// # Errors
/// `internal` without random numbers.
pub fn connection_key() -> Result<ConnectionKey, ToolError> {
    let key = KeyPair::generate().map_err(|error| ToolError::internal(format!("no key was made: {error}")))?;
    Ok(ConnectionKey { secret: key.serialize_pem(), public: key.subject_public_key_info() })
}

/// Whether a certificate (PEM) is for this key (PEM).
pub fn is_for(certificate: &str, key: &str) -> bool {
    let (Ok(key), Ok(der)) = (KeyPair::from_pem(key), CertificateDer::from_pem_slice(certificate.as_bytes())) else {
        return false;
    };
    let public = key.subject_public_key_info();
    der.windows(public.len()).any(|part| part == public)
}
