//! A machine with its agent on a socket: the way in of a person at the machine.

use crate::agent::Pi;
use agent::{AgentLink, Client, bind, serve};
use tokio_util::sync::{CancellationToken, DropGuard};

pub struct Console {
    pub pi: Pi,
    pub agent: AgentLink,
    _stop: DropGuard,
}

impl Console {
    pub fn new() -> Self {
        let pi = Pi::now();
        let stop = CancellationToken::new();
        let listener = bind(&pi.settings.socket, false).unwrap();
        tokio::spawn(serve(listener, pi.agent(), stop.clone()));
        let agent = AgentLink::Socket(Client::new(&pi.settings.socket));
        Self { pi, agent, _stop: stop.drop_guard() }
    }
}
