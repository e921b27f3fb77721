//! A server on all interfaces, as its owner would open it: TLS with a certificate of its own, and a token.

use super::{Door, Pi, Wire};
use appliance::certificate::{self, Fingerprint};
use contract::{
    config::{Settings, TokenSetting},
    meta::Role,
};
use raspi_mcp::tls::pin;
use std::{net::SocketAddr, path::Path};
use tempfile::TempDir;

/// What outlives one run of the server: its certificate, and the owner's token.
pub struct Owner {
    folder: TempDir,
    pub pin: Fingerprint,
    pub token: String,
    setting: TokenSetting,
}

/// One run of it.
pub struct Secure {
    pub pi: Pi,
    pub pin: Fingerprint,
    pub token: String,
    owner: Option<Owner>,
}

impl Owner {
    pub fn new() -> Self {
        let folder = TempDir::new().unwrap();
        let (token, setting) = super::token("laptop", Role::Admin);
        let mut settings = super::simulated(&folder);
        files(&mut settings, folder.path());
        let names = ["localhost", "127.0.0.1", "pi.test"].map(String::from).to_vec();
        let pin = certificate::init(&settings.tls, names, false).unwrap().fingerprint;
        Self { folder, pin, token, setting }
    }

    /// Starts it; `change` after TLS and the token are set.
    pub async fn starts(&self, change: impl FnOnce(&mut Settings)) -> Secure {
        let pi = Pi::with(|settings| {
            settings.http.listen = ([0, 0, 0, 0], 0).into();
            settings.tls.enabled = true;
            files(settings, self.folder.path());
            settings.access.tokens.push(self.setting.clone());
            change(settings);
        })
        .await;
        Secure { pi, pin: self.pin, token: self.token.clone(), owner: None }
    }

    /// The setting of its token.
    pub fn setting(&self) -> &TokenSetting {
        &self.setting
    }

    pub fn folder(&self) -> &Path {
        self.folder.path()
    }
}

fn files(settings: &mut Settings, folder: &Path) {
    settings.tls.certificate = folder.join("tls/certificate.pem");
    settings.tls.key = folder.join("tls/key.pem");
}

impl Secure {
    pub async fn start() -> Self {
        Self::of(Owner::new(), |_| {}).await
    }

    /// One of `owner`, which keeps it.
    pub async fn of(owner: Owner, change: impl FnOnce(&mut Settings)) -> Self {
        let secure = owner.starts(change).await;
        Self { owner: Some(owner), ..secure }
    }

    /// Whose it is.
    pub fn owner(&self) -> &Owner {
        self.owner.as_ref().expect("started without one")
    }

    /// Where to connect.
    pub fn address(&self) -> SocketAddr {
        SocketAddr::from(([127, 0, 0, 1], self.pi.address().port()))
    }

    pub fn url(&self, path: &str) -> String {
        format!("https://{}{path}", self.address())
    }

    /// A client that pins the certificate.
    pub fn client(&self) -> reqwest::Client {
        pinned(self.pin).build().unwrap()
    }

    /// A conversation with the owner's token.
    pub fn on(&self, door: Door) -> Wire {
        let path = if door == Door::Api { "/api/mcp" } else { "/mcp" };
        let mut wire = Wire::http(door, self.url(path));
        wire.post().client = self.client();
        wire.post().headers = vec![("authorization".into(), format!("Bearer {}", self.token))];
        wire
    }
}

pub fn pinned(to: Fingerprint) -> reqwest::ClientBuilder {
    let _ = rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::builder().no_proxy().tls_backend_preconfigured(pin::client_config(to).unwrap())
}
