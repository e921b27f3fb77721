//! The server's certificate: read from files, checked, and reloaded when they change.

use super::provider;
use appliance::certificate::Fingerprint;
use base::reload_on_change::ReloadOnChange;
use contract::config::Tls;
use rustls::{
    ServerConfig,
    client::verify_server_name,
    pki_types::{CertificateDer, PrivateKeyDer, ServerName, pem::PemObject},
    server::{ParsedCertificate, ServerSessionMemoryCache},
};
use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    sync::Arc,
};

/// Most sessions that can be resumed without a full handshake; about 4 kB each.
const RESUMABLE: usize = 32;

/// Certificate and key: the newest valid ones.
pub struct ServedCertificate(ReloadOnChange<TlsIdentity>);

/// One version of them.
pub struct TlsIdentity {
    pub config: Arc<ServerConfig>,
    pub fingerprint: Fingerprint,
    certificate: CertificateDer<'static>,
}

impl ServedCertificate {
    /// # Errors
    /// A sentence for the person who starts the server: which file, what is wrong, what to do.
    pub fn load(tls: &Tls) -> Result<Self, String> {
        ReloadOnChange::new(vec![tls.certificate.clone(), tls.key.clone()], read).map(Self)
    }

    pub fn now(&self) -> Arc<TlsIdentity> {
        self.0.get()
    }
}

impl TlsIdentity {
    /// Whether the certificate is valid for this name or address.
    pub fn is_for(&self, host: &str) -> bool {
        let bare = host.trim_start_matches('[').trim_end_matches(']');
        let (Ok(name), Ok(certificate)) = (ServerName::try_from(bare), ParsedCertificate::try_from(&self.certificate))
        else {
            return false;
        };
        verify_server_name(&certificate, &name).is_ok()
    }
}

fn read(files: &[PathBuf]) -> Result<TlsIdentity, String> {
    let [certificate, key] = files else { return Err("two files make an identity".into()) };
    let chain = chain(certificate)?;
    let secret = secret(key)?;
    let first = chain[0].clone();
    let mut config = ServerConfig::builder_with_provider(provider())
        .with_safe_default_protocol_versions()
        .map_err(|error| format!("TLS cannot be set up: {error}"))?
        .with_no_client_auth()
        .with_single_cert(chain, secret)
        .map_err(|error| {
            format!(
                "tls.certificate {} and tls.key {} do not go together: {error}",
                certificate.display(),
                key.display()
            )
        })?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    config.session_storage = ServerSessionMemoryCache::new(RESUMABLE);
    Ok(TlsIdentity { config: Arc::new(config), fingerprint: Fingerprint::of(&first), certificate: first })
}

/// The certificates in a file, the server's own first.
///
/// # Errors
/// A sentence that names the file.
pub fn chain(path: &Path) -> Result<Vec<CertificateDer<'static>>, String> {
    let named = |why: String| format!("tls.certificate {}: {why}", path.display());
    let missing = |why: &str| named(format!("{why}; \"raspi-mcp tls init\" makes a certificate and its key"));
    let pem = fs::read(path).map_err(|error| missing(&error.to_string()))?;
    let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&pem).collect();
    let chain = chain.map_err(|error| named(format!("it is not PEM: {error}")))?;
    if chain.is_empty() {
        return Err(missing("it holds no certificate"));
    }
    Ok(chain)
}

fn secret(path: &Path) -> Result<PrivateKeyDer<'static>, String> {
    let shown = path.display();
    let mode = fs::metadata(path).map_err(|error| format!("tls.key {shown}: {error}"))?.permissions().mode();
    if mode & 0o007 != 0 {
        return Err(format!("tls.key {shown}: everybody on this machine may read it; run: chmod 600 {shown}"));
    }
    let pem = fs::read(path).map_err(|error| format!("tls.key {shown}: {error}"))?;
    PrivateKeyDer::from_pem_slice(&pem).map_err(|error| format!("tls.key {shown}: it holds no private key: {error}"))
}
