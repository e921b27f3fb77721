//! A remote server reached over HTTP: its address, the certificate it must present, and the token it requires.

use crate::tls::pin;
use appliance::certificate::Fingerprint;
use base::{error::ToolError, redact::shown_address, reload_on_change::ReloadOnChange};
use reqwest::{Certificate, Client, ClientBuilder, Url, redirect};
use std::{error::Error, fs, io, path::PathBuf, sync::Arc, time::Duration};

/// Connect timeout: connecting takes longer only if nothing answers.
const CONNECT: Duration = Duration::from_secs(10);
/// TCP keep-alive interval: a vanished peer is detected after about four of these.
const KEEPALIVE: Duration = Duration::from_secs(30);
/// Used without `--token-file`. Never a flag: all users of a machine can read its command lines.
pub const TOKEN_VARIABLE: &str = "RASPI_MCP_TOKEN";
/// Read timeout: longer than any tool may run, including an approval before it. A server that is silent for so long is
/// gone.
const SILENCE: Duration = Duration::from_secs(900);
/// What follows when a request was sent and no answer came.
pub const MAY_HAVE_BEEN_DONE: &str = "what was asked may have been done; look before asking again";
const LARGEST_TOKEN: usize = 16 * 1024;

/// How to reach a server.
pub struct Remote {
    pub url: Url,
    pub client: Client,
    token: Option<Token>,
}

/// How a server proves its identity.
#[derive(Clone)]
pub enum Trust {
    /// By an authority that this machine trusts.
    System,
    /// By one of these authorities.
    Authorities(Arc<[Certificate]>),
    /// By the fingerprint of its certificate.
    Pin(Fingerprint),
}

enum Token {
    Fixed(String),
    /// Reloaded when it changes: expiring tokens are replaced in place.
    File(ReloadOnChange<String>),
}

impl Remote {
    /// `path`: added to a URL without one.
    ///
    /// # Errors
    /// `invalid_argument` for an address, pin or token that cannot be used, or a token that would be sent unencrypted.
    pub fn new(
        url: &str,
        path: &str,
        pin: Option<Fingerprint>,
        token_file: Option<PathBuf>,
    ) -> Result<Self, ToolError> {
        let mut url: Url = url.parse().map_err(|error| {
            ToolError::invalid(format!("--url {}: {error}", shown_address(url)))
                .hint("write it like https://pi.local:8765")
        })?;
        if url.path() == "/" {
            url.set_path(path);
        }
        let token = token(token_file)?;
        Self::reached(url, &pin.map_or(Trust::System, Trust::Pin), token)
    }

    /// A server from an inventory, with its token; ignores the environment variable.
    ///
    /// # Errors
    /// As [`Remote::new`].
    pub fn listed(url: Url, trust: &Trust, token: Option<String>) -> Result<Self, ToolError> {
        Self::reached(url, trust, token.map(Token::Fixed))
    }

    fn reached(url: Url, trust: &Trust, token: Option<Token>) -> Result<Self, ToolError> {
        // reqwest is built without a crypto library of its own: use ring.
        let _ = rustls::crypto::ring::default_provider().install_default();
        admits(&url, matches!(trust, Trust::Pin(_)), token.is_some())?;
        let builder = match url.scheme() {
            "https" => encrypted(trust)?,
            // Loads no certificates: on a small image without any, building the client would fail.
            _ => Client::builder().tls_certs_only([]),
        };
        // Bypasses proxies, which must not see requests for this machine, nor what is not encrypted.
        let builder = if is_local(&url) || url.scheme() != "https" { builder.no_proxy() } else { builder };
        let client = builder
            .connect_timeout(CONNECT)
            .read_timeout(SILENCE)
            .tcp_keepalive(KEEPALIVE)
            // A token is sent only to its own server, so redirects are not followed.
            .redirect(redirect::Policy::none())
            .build()
            .map_err(|error| ToolError::internal(format!("no HTTP client: {}", root_cause(&error))))?;
        Ok(Self { url, client, token })
    }

    /// The token for the Authorization header.
    pub fn token(&self) -> Option<Arc<String>> {
        match self.token.as_ref()? {
            Token::Fixed(token) => Some(Arc::new(token.clone())),
            Token::File(file) => Some(file.get()),
        }
    }

    /// Explains a request that failed: without a connection nothing was sent; otherwise the server may have done what it asked.
    pub fn failed(&self, error: &reqwest::Error) -> ToolError {
        if error.is_connect() || error.is_builder() {
            return self.offline(error);
        }
        let address = self.url.origin().ascii_serialization();
        ToolError::unavailable(format!(
            "the connection to {address} broke before the answer came: {}",
            root_cause(error)
        ))
        .hint(MAY_HAVE_BEEN_DONE)
    }

    /// Explains to a person that a server cannot be reached.
    pub fn offline(&self, error: &dyn std::error::Error) -> ToolError {
        let address = self.url.origin().ascii_serialization();
        ToolError::unavailable(format!("no server answers at {address}: {}", root_cause(error)))
            .hint("start one with `raspi-mcp serve`, or check the address")
    }
}

/// Whether such a server may be contacted.
///
/// # Errors
/// `invalid_argument`: a user or a password, another scheme, a pin without TLS, a token that would be sent unencrypted.
pub fn admits(url: &Url, is_pinned: bool, has_token: bool) -> Result<(), ToolError> {
    if !url.username().is_empty() || url.password().is_some() {
        return Err(ToolError::invalid("the address has a user name or a password, which no server of ours takes")
            .hint("write only https://HOST:PORT, and give a token with --token-file"));
    }
    match url.scheme() {
        "https" => Ok(()),
        "http" if is_pinned => Err(ToolError::invalid("a pin is about a certificate, and http:// has none")
            .hint("write the address with https://")),
        "http" if has_token && !is_local(url) => {
            Err(ToolError::invalid("the token would travel to another machine unencrypted")
                .hint("write the address with https://, or come through an SSH tunnel"))
        }
        "http" => Ok(()),
        other => Err(ToolError::invalid(format!("the address begins with {other}://"))
            .hint("a server is at http:// on this machine, at https:// elsewhere")),
    }
}

/// A client that accepts only such a server's certificate. Needs rustls' default provider.
///
/// # Errors
/// `internal` if TLS cannot be set up.
pub fn encrypted(trust: &Trust) -> Result<ClientBuilder, ToolError> {
    Ok(match trust {
        Trust::System => Client::builder(),
        Trust::Authorities(certificates) => Client::builder().tls_certs_only(certificates.iter().cloned()),
        Trust::Pin(pin) => {
            let config = pin::client_config(*pin)
                .map_err(|error| ToolError::internal(format!("TLS cannot be set up: {error}")))?;
            Client::builder().tls_backend_preconfigured(config)
        }
    })
}

fn token(file: Option<PathBuf>) -> Result<Option<Token>, ToolError> {
    let Some(file) = file else {
        let Ok(text) = std::env::var(TOKEN_VARIABLE) else { return Ok(None) };
        let token = checked(&text).map_err(|why| ToolError::invalid(format!("{TOKEN_VARIABLE}: {why}")))?;
        return Ok(Some(Token::Fixed(token)));
    };
    let read = |files: &[PathBuf]| {
        let named = |why: String| format!("--token-file {}: {why}", files[0].display());
        let text = fs::read_to_string(&files[0]).map_err(|error| named(error.to_string()))?;
        checked(&text).map_err(|why| named(why.into()))
    };
    ReloadOnChange::new(vec![file], read).map(|file| Some(Token::File(file))).map_err(ToolError::invalid)
}

/// Checks that a token is valid in a header (RFC 6750, 2.1).
///
/// # Errors
/// What is wrong with it, without repeating it.
pub fn checked(text: &str) -> Result<String, &'static str> {
    let token = text.trim();
    if token.is_empty() || token.len() > LARGEST_TOKEN || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err("it holds no token: one line of printable characters without spaces");
    }
    Ok(token.to_owned())
}

fn is_local(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost" || bare.parse().is_ok_and(contract::config::is_loopback)
}

/// The innermost cause of a network error: the outer layers only say that something failed.
pub fn root_cause(error: &dyn std::error::Error) -> String {
    error.source().map_or_else(|| error.to_string(), root_cause)
}

/// The TLS error inside a request error. An `io::Error` does not list its inner error among its sources.
pub fn tls_fault(error: &reqwest::Error) -> Option<&rustls::Error> {
    let mut at: Option<&(dyn Error + 'static)> = Some(error);
    while let Some(error) = at {
        let held = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        let fault = held.and_then(|held| held.downcast_ref()).or_else(|| error.downcast_ref());
        if fault.is_some() {
            return fault;
        }
        at = held.map_or_else(|| error.source(), |held| Some(held as &(dyn Error + 'static)));
    }
    None
}
