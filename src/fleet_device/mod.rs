//! This device's part of a fleet: it connects to the broker, reports, tells results and asks, hears its owner, and can be
//! reached (docs/fleet.md).
//!
//! Nothing of it exists while no fleet is configured. Knows broker, services and the HTTP listener; nothing knows it but
//! daemon.rs. The broker is no authority: statuses are signed by the agent, orders are checked by it, and what comes out of a
//! tunnel is a network caller like any other.

mod hear;
mod log;
pub mod membership;
mod queue;
mod report;
mod tunnels;

use crate::{
    broker::{Broker, BrokerOptions},
    rpc::router::Server,
    services::Services,
    tls::client_certificate,
    transport::http::App,
};
use base::error::ToolError;
use contract::config::sections::FleetSettings;
use fleet_protocol::subject::{Subjects, inbox};
use std::sync::Arc;
use tokio::sync::Notify;

/// What its parts share.
struct FleetDevice {
    services: Arc<Services>,
    broker: Broker,
    subjects: Subjects,
    /// Asks for a report now.
    report: Notify,
}

impl FleetDevice {
    fn settings(&self) -> &FleetSettings {
        &self.services.settings.fleet
    }
}

/// Starts it, until the server stops, if this device belongs to a fleet. `app`: the HTTP listener, for tunnels.
pub fn begin(server: &Arc<Server>, app: Option<Arc<App>>) {
    let services = Arc::clone(&server.pipeline.services);
    if !services.settings.fleet.is_on() {
        return;
    }
    let stop = server.stop.clone();
    base::task::spawn(stop.run_until_cancelled_owned(async move {
        if let Err(error) = run(services, app).await {
            tracing::error!(target: "fleet", error = error.advice(), "this device is not connected to its fleet");
        }
    }));
}

async fn run(services: Arc<Services>, app: Option<Arc<App>>) -> Result<(), ToolError> {
    let settings = &services.settings.fleet;
    client_certificate::check(&settings.ca, &settings.certificate, &settings.key)?;
    let broker = Broker::connect(BrokerOptions {
        servers: settings.servers.clone(),
        authority: settings.ca.clone(),
        certificate: settings.certificate.clone(),
        key: settings.key.clone(),
        name: settings.device.clone(),
        inbox: inbox(&settings.device),
        persistent: true,
    })
    .await?;
    let subjects = Subjects::of(&settings.name);
    let heard = broker.subscribe(subjects.device(&settings.device)).await?;
    let device = Arc::new(FleetDevice { services, broker, subjects, report: Notify::new() });
    let tunnels = tunnels::Tunnels::new(app.as_ref());
    futures::join!(report::run(&device), log::run(&device), hear::run(&device, heard, tunnels));
    Ok(())
}
