//! The files of a client with a certificate of its own, which trusts one authority: how a device and a console meet the
//! fleet's broker.

use super::provider;
use base::error::ToolError;
use rustls::{
    ClientConfig, RootCertStore,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
};
use std::path::Path;

/// Checks three files in PEM: the authority, the certificate (with its chain, if any), and its private key.
///
/// # Errors
/// `invalid_argument` that names the file and what is wrong with it.
pub fn check(authority: &Path, certificate: &Path, key: &Path) -> Result<(), ToolError> {
    let mut roots = RootCertStore::empty();
    for certificate in certificates(authority)? {
        roots.add(certificate).map_err(|error| wrong(authority, &error.to_string()))?;
    }
    let secret = PrivateKeyDer::from_pem_file(key).map_err(|error| wrong(key, &error.to_string()))?;
    ClientConfig::builder_with_provider(provider())
        .with_safe_default_protocol_versions()
        .map_err(|error| ToolError::internal(format!("TLS cannot be set up: {error}")))?
        .with_root_certificates(roots)
        .with_client_auth_cert(certificates(certificate)?, secret)
        .map(|_| ())
        .map_err(|error| wrong(certificate, &format!("it does not go with its key: {error}")))
}

fn certificates(file: &Path) -> Result<Vec<CertificateDer<'static>>, ToolError> {
    let read = CertificateDer::pem_file_iter(file).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    match read {
        Ok(read) if !read.is_empty() => Ok(read),
        Ok(_) => Err(wrong(file, "it holds no certificate")),
        Err(error) => Err(wrong(file, &error.to_string())),
    }
}

fn wrong(file: &Path, why: &str) -> ToolError {
    ToolError::invalid(format!("{} cannot be used: {why}", file.display()))
        .with("path", file.display().to_string())
        .hint("`raspi-mcp fleet join` writes the files of a device, `raspi-mcp fleet init` those of a console")
}
