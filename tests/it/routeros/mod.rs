//! Routers: the client and what it reads, against simulated routers of three versions over real TLS.

mod changes;
mod client;
mod plan;
mod reads;

use appliance::certificate::Fingerprint;
use raspi_mcp::{
    client::Trust,
    routeros::{Device, RouterClient, device::Secret},
};
use routeros_simulator::{PASSWORD, Profile, Router, server::Listener};

/// A router that listens, and a client that pins it.
pub struct Bench {
    pub router: Router,
    pub listener: Listener,
    pub client: RouterClient,
}

pub fn device(listener: &Listener, pin: Fingerprint) -> Device {
    Device {
        id: "attic".into(),
        address: listener.address().to_string(),
        trust: Trust::Pin(pin),
        user: "raspi".into(),
        password: Secret::new(PASSWORD),
    }
}

impl Bench {
    pub async fn new(profile: Profile) -> Self {
        let router = Router::new(profile);
        let listener = Listener::bind(router.clone(), "127.0.0.1:0").await.unwrap();
        let client = RouterClient::new(device(&listener, Fingerprint::of(listener.certificate()))).unwrap();
        Self { router, listener, client }
    }
}
