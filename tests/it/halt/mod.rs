//! A halt through both halves: what runs, what does not, who hears of it, and what it outlives (docs/halt.md).

mod follow;
mod matrix;
mod outputs;

use crate::support::served::{Pi, simulated};
use agent::{
    AgentLink, Client,
    operations::halt::{HaltRequest, LiftHalt, SetHalt},
};
use contract::{config::Settings, halt::Halted};
use serde_json::Value;

/// The person at the machine: by the agent's socket, as the user that the simulated machine belongs to.
fn console(settings: &Settings) -> AgentLink {
    AgentLink::Socket(Client::new(&settings.places.agent_socket))
}

fn of(pi: &Pi) -> AgentLink {
    console(&pi.server().pipeline.services.settings)
}

async fn halt(console: &AgentLink) -> Halted {
    let request = HaltRequest { reason: Some("the pump leaks".into()), authorization: None };
    console.call::<SetHalt>(request).await.unwrap().halted
}

async fn lift(console: &AgentLink) {
    assert!(console.get::<LiftHalt>().await.unwrap().lifted);
}

/// Waits until the server half knows whether the machine is halted.
async fn known(pi: &Pi, halted: bool) {
    let services = &pi.server().pipeline.services;
    let mut changes = services.halt.changes();
    let heard = changes.wait_for(|state| state.halted.is_some() == halted);
    crate::support::served::soon(heard).await.unwrap();
}

fn is_halt(error: &Value) -> bool {
    error["error_code"] == "failed_precondition" && error["details"]["halted"] == true
}
