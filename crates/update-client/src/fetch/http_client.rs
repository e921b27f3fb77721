//! The HTTP client, with the limits that all its requests share.

use super::{DownloadLimits, certificate::Patient, fault::root_cause, pace::Pace};
use base::error::ToolError;
use reqwest::{Client, Proxy, header, redirect};
use rustls::{
    ClientConfig, RootCertStore,
    client::WebPkiServerVerifier,
    pki_types::{CertificateDer, UnixTime, pem::PemObject},
    time_provider::TimeProvider,
};
use std::{fmt, path::Path, sync::Arc, time::Duration};
use update::FileLocation;

/// Maximum number of redirects; a moved file needs one or two.
const REDIRECTS: usize = 5;

/// Created for one download or check of a channel and then dropped, because the certificate store takes memory.
#[derive(Debug)]
pub struct HttpClient {
    pub(super) client: Client,
    pub(super) limits: DownloadLimits,
    pub(super) pace: Pace,
}

impl HttpClient {
    /// # Errors
    /// `failed_precondition` when there are no certificates of authorities, or the proxy cannot be used.
    pub fn new(limits: DownloadLimits) -> Result<Arc<Self>, ToolError> {
        let tls = tls(&limits)?;
        Self::with(limits, tls)
    }

    /// For a bundle at this place. A local file needs no certificates of authorities: a machine without them can be
    /// updated from a USB stick.
    ///
    /// # Errors
    /// Those of [`Self::new`], the first only for an address.
    pub fn for_place(limits: DownloadLimits, place: &FileLocation) -> Result<Arc<Self>, ToolError> {
        match place {
            FileLocation::Web(_) => Self::new(limits),
            FileLocation::File(_) => Self::with(limits, trusting_nobody()?),
        }
    }

    fn with(limits: DownloadLimits, tls: ClientConfig) -> Result<Arc<Self>, ToolError> {
        let mut headers = header::HeaderMap::new();
        // Compressed answers would have other lengths than the requested ranges.
        headers.insert(header::ACCEPT_ENCODING, header::HeaderValue::from_static("identity"));
        let mut builder = Client::builder()
            .user_agent(concat!("raspi-mcp/", env!("CARGO_PKG_VERSION")))
            .default_headers(headers)
            .tls_backend_preconfigured(tls)
            .https_only(true)
            .no_proxy()
            .redirect(redirect::Policy::custom(follow))
            .connect_timeout(limits.connect)
            .pool_max_idle_per_host(limits.requests)
            .pool_idle_timeout(Duration::from_secs(30));
        if let Some(proxy) = &limits.proxy {
            let proxy = Proxy::all(proxy).map_err(|error| {
                ToolError::precondition(format!("update.proxy cannot be used: {}", root_cause(&error)))
                    .hint("write it like http://proxy.lan:3128")
            })?;
            builder = builder.proxy(proxy);
        }
        let client =
            builder.build().map_err(|error| ToolError::internal(format!("no HTTP client: {}", root_cause(&error))))?;
        Ok(Arc::new(Self { client, pace: Pace::new(limits.bandwidth), limits }))
    }

    pub fn limits(&self) -> &DownloadLimits {
        &self.limits
    }
}

/// Follows redirects only to https, without loops, and at most [`REDIRECTS`] times.
fn follow(attempt: redirect::Attempt<'_>) -> redirect::Action {
    let to = attempt.url();
    if to.scheme() != "https" {
        let message = format!("it points to {}://, which can be read and changed on the way", to.scheme());
        return attempt.error(Refused(message));
    }
    if attempt.previous().iter().any(|before| before == to) {
        return attempt.error(Refused("it points in a circle".into()));
    }
    if attempt.previous().len() > REDIRECTS {
        return attempt.error(Refused(format!("it points on more than {REDIRECTS} times")));
    }
    attempt.follow()
}

#[derive(Debug)]
struct Refused(String);

impl fmt::Display for Refused {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

impl std::error::Error for Refused {}

fn tls(limits: &DownloadLimits) -> Result<ClientConfig, ToolError> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let authorities = limits.ca_file.as_deref().map_or_else(of_system, of_file)?;
    let inner = WebPkiServerVerifier::builder_with_provider(Arc::new(authorities), Arc::clone(&provider))
        .build()
        .map_err(|error| no_tls(&error))?;
    let config = ClientConfig::builder_with_details(provider, Arc::new(Clock(limits.clone())))
        .with_safe_default_protocol_versions()
        .map_err(|error| no_tls(&error))?;
    let verifier = Arc::new(Patient { inner, limits: limits.clone() });
    Ok(config.dangerous().with_custom_certificate_verifier(verifier).with_no_client_auth())
}

/// TLS that believes no server.
fn trusting_nobody() -> Result<ClientConfig, ToolError> {
    let config = ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| no_tls(&error))?;
    Ok(config.with_root_certificates(RootCertStore::empty()).with_no_client_auth())
}

fn no_tls(error: &dyn std::error::Error) -> ToolError {
    ToolError::internal(format!("TLS cannot be set up: {error}"))
}

fn of_system() -> Result<RootCertStore, ToolError> {
    let mut store = RootCertStore::empty();
    store.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    if store.is_empty() {
        return Err(ToolError::precondition(
            "this system has no certificates of authorities, so no server of updates can prove itself",
        )
        .hint("install ca-certificates, or set update.ca_file"));
    }
    Ok(store)
}

fn of_file(path: &Path) -> Result<RootCertStore, ToolError> {
    let bad = |why: String| {
        ToolError::precondition(format!("update.ca_file {}: {why}", path.display()))
            .with("path", path.display().to_string())
            .hint("it must hold the authorities' certificates as PEM")
    };
    let mut store = RootCertStore::empty();
    for certificate in CertificateDer::pem_file_iter(path).map_err(|error| bad(error.to_string()))? {
        let certificate = certificate.map_err(|error| bad(error.to_string()))?;
        store.add(certificate).map_err(|error| bad(error.to_string()))?;
    }
    if store.is_empty() { Err(bad("it holds no certificate".into())) } else { Ok(store) }
}

/// The clock for certificates: the time that [`update::Reckoning`] gives.
#[derive(Debug)]
struct Clock(DownloadLimits);

impl TimeProvider for Clock {
    fn current_time(&self) -> Option<UnixTime> {
        Some(UnixTime::since_unix_epoch(Duration::from_secs(self.0.reckoned(true).now)))
    }
}
