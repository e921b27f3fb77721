//! A simulated network of profiles and two interfaces, in memory. It reverts on timeout like the real one.

use super::{ActivationPlan, ConnectionProfile, Network, NetworkCheckpoint, named};
use base::error::{ErrorCode, ToolError};
use futures::future::{BoxFuture, FutureExt, ready};
use std::{
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio::time::Instant;

/// UUID, name and interface of each profile.
const PROFILES: [(&str, &str, &str); 3] = [
    ("00000000-0000-4000-8000-000000000001", "simulated-wired", "eth0"),
    ("00000000-0000-4000-8000-000000000002", "simulated-static", "eth0"),
    ("00000000-0000-4000-8000-000000000003", "simulated-wifi", "wlan0"),
];

/// At first "simulated-wired" is active on eth0.
pub struct SimulatedNetwork(Mutex<State>);

struct State {
    active: Vec<ConnectionProfile>,
    made: i64,
    back: Option<(NetworkCheckpoint, Instant, Vec<ConnectionProfile>)>,
    fault: Option<ToolError>,
}

impl Default for SimulatedNetwork {
    fn default() -> Self {
        Self(Mutex::new(State { active: vec![profile(0)], made: 0, back: None, fault: None }))
    }
}

fn profile(at: usize) -> ConnectionProfile {
    let (uuid, name, interface) = PROFILES[at];
    ConnectionProfile { uuid: uuid.into(), name: name.into(), interfaces: vec![interface.into()] }
}

impl SimulatedNetwork {
    /// Names of the active profiles.
    pub fn active(&self) -> Vec<String> {
        self.lock().active.iter().map(|profile| profile.name.clone()).collect()
    }

    /// Makes the next activation fail.
    pub fn fail_next(&self, error: ToolError) {
        self.lock().fault = Some(error);
    }

    /// The state as of now: expired changes are reverted.
    fn lock(&self) -> MutexGuard<'_, State> {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, _, before)) = state.back.take_if(|(_, at, _)| Instant::now() >= *at) {
            state.active = before;
        }
        state
    }
}

impl State {
    fn stands(&self, checkpoint: &NetworkCheckpoint) -> bool {
        self.back.as_ref().is_some_and(|(each, _, _)| each == checkpoint)
    }
}

fn gone() -> ToolError {
    ToolError::not_found("the change has been taken back or confirmed already")
}

impl Network for SimulatedNetwork {
    fn plan<'a>(
        &'a self,
        wanted: &'a str,
        device: Option<&'a str>,
    ) -> BoxFuture<'a, Result<ActivationPlan, ToolError>> {
        let found = named(&PROFILES, wanted, |(uuid, name, _)| (uuid, name)).and_then(|(uuid, name, interface)| {
            if device.is_some_and(|device| device != *interface) {
                return Err(ToolError::invalid(format!("{name} is for {interface} alone")).with("parameter", "device"));
            }
            Ok(ActivationPlan {
                profile: ConnectionProfile { uuid: (*uuid).into(), name: (*name).into(), interfaces: Vec::new() },
                path: (*interface).into(),
                device: device.map(str::to_owned),
                before: self.lock().active.clone(),
            })
        });
        ready(found).boxed()
    }

    fn checkpoint(&self, timeout: Duration) -> BoxFuture<'_, Result<NetworkCheckpoint, ToolError>> {
        let mut state = self.lock();
        let made = if state.back.is_some() {
            Err(ToolError::new(ErrorCode::Conflict, "another change of the network waits to be confirmed"))
        } else {
            state.made += 1;
            let checkpoint = NetworkCheckpoint { path: "/simulated".into(), created: state.made };
            let before = state.active.clone();
            state.back = Some((checkpoint.clone(), Instant::now() + timeout, before));
            Ok(checkpoint)
        };
        ready(made).boxed()
    }

    fn activate<'a>(&'a self, plan: &'a ActivationPlan) -> BoxFuture<'a, Result<Vec<String>, ToolError>> {
        let mut state = self.lock();
        // The previous profile of that interface is inactive, even when the new one does not start.
        state.active.retain(|active| !active.interfaces.contains(&plan.path));
        let done = match state.fault.take() {
            Some(fault) => Err(fault),
            None => {
                let interfaces = vec![plan.path.clone()];
                state.active.push(ConnectionProfile { interfaces: interfaces.clone(), ..plan.profile.clone() });
                Ok(interfaces)
            }
        };
        ready(done).boxed()
    }

    fn revert_in<'a>(&'a self, to: &'a NetworkCheckpoint, timeout: Duration) -> BoxFuture<'a, Result<(), ToolError>> {
        let mut state = self.lock();
        let done = match &mut state.back {
            Some((checkpoint, at, _)) if checkpoint == to => {
                *at = Instant::now() + timeout;
                Ok(())
            }
            _ => Err(gone()),
        };
        ready(done).boxed()
    }

    fn stands<'a>(&'a self, checkpoint: &'a NetworkCheckpoint) -> BoxFuture<'a, Result<bool, ToolError>> {
        ready(Ok(self.lock().stands(checkpoint))).boxed()
    }

    fn end<'a>(&'a self, checkpoint: &'a NetworkCheckpoint, keep: bool) -> BoxFuture<'a, Result<(), ToolError>> {
        let mut state = self.lock();
        let done = if state.stands(checkpoint) {
            if let Some((_, _, before)) = state.back.take()
                && !keep
            {
                state.active = before;
            }
            Ok(())
        } else {
            Err(gone())
        };
        ready(done).boxed()
    }
}
