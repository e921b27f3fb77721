//! The certificate that a router presents, before it is pinned.

use crate::{client::root_cause, tls::pin};
use appliance::certificate::Fingerprint;
use base::error::ToolError;
use std::time::Duration;

const LIMIT: Duration = Duration::from_secs(10);

/// The fingerprint of the certificate that answers at `address`. Nothing but the beginning of a handshake is sent: it is
/// broken off when the certificate was seen.
///
/// # Errors
/// `unavailable` if nothing speaks TLS there.
pub async fn presented(address: &str) -> Result<Fingerprint, ToolError> {
    let internal = |why: String| ToolError::internal(format!("TLS cannot be set up: {why}"));
    // No certificate has this fingerprint, so none is accepted.
    let (config, seen) = pin::watching(Fingerprint::of(&[])).map_err(|error| internal(error.to_string()))?;
    let client = reqwest::Client::builder()
        .tls_backend_preconfigured(config)
        .no_proxy()
        .timeout(LIMIT)
        .build()
        .map_err(|error| internal(root_cause(&error)))?;
    let refused = client.get(format!("https://{address}/")).send().await;
    seen.get().copied().ok_or_else(|| {
        let why = refused.err().map_or_else(|| "nothing".into(), |error| root_cause(&error));
        ToolError::unavailable(format!("no router presents a certificate at {address}: {why}"))
            .hint("enable the service www-ssl on the router with a certificate, and check address, port and firewall")
    })
}
