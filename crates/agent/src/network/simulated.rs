//! A simulated network of profiles and two interfaces, in memory. It reverts on timeout like the real one.

use super::{
    AccessPoint, ActivationPlan, ConnectionProfile, Network, NetworkCheckpoint, ProfileChange, WifiScan, named, taken,
};
use base::{
    error::{ErrorCode, ToolError},
    os::network_manager::edit::new_uuid,
};
use futures::future::{BoxFuture, FutureExt, ready};
use std::{
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio::time::Instant;

/// UUID, name and interface of each profile at first.
const PROFILES: [(&str, &str, &str); 3] = [
    ("00000000-0000-4000-8000-000000000001", "simulated-wired", "eth0"),
    ("00000000-0000-4000-8000-000000000002", "simulated-static", "eth0"),
    ("00000000-0000-4000-8000-000000000003", "simulated-wifi", "wlan0"),
];

/// At first "simulated-wired" is active on eth0.
pub struct SimulatedNetwork(Mutex<State>);

struct State {
    /// All profiles, each with the interface it is for.
    profiles: Vec<ConnectionProfile>,
    active: Vec<ConnectionProfile>,
    made: i64,
    back: Option<WayBack>,
    fault: Option<ToolError>,
}

struct WayBack {
    checkpoint: NetworkCheckpoint,
    at: Instant,
    profiles: Vec<ConnectionProfile>,
    active: Vec<ConnectionProfile>,
}

impl Default for SimulatedNetwork {
    fn default() -> Self {
        let profiles: Vec<ConnectionProfile> = PROFILES
            .iter()
            .map(|(uuid, name, interface)| ConnectionProfile {
                uuid: (*uuid).into(),
                name: (*name).into(),
                interfaces: vec![(*interface).into()],
            })
            .collect();
        let active = profiles[..1].to_vec();
        Self(Mutex::new(State { profiles, active, made: 0, back: None, fault: None }))
    }
}

impl SimulatedNetwork {
    /// Names of the active profiles.
    pub fn active(&self) -> Vec<String> {
        self.lock().active.iter().map(|profile| profile.name.clone()).collect()
    }

    /// Names of all profiles.
    pub fn profiles(&self) -> Vec<String> {
        self.lock().profiles.iter().map(|profile| profile.name.clone()).collect()
    }

    /// Makes the next activation fail.
    pub fn fail_next(&self, error: ToolError) {
        self.lock().fault = Some(error);
    }

    /// The state as of now: expired changes are reverted.
    fn lock(&self) -> MutexGuard<'_, State> {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(back) = state.back.take_if(|back| Instant::now() >= back.at) {
            state.revert(back);
        }
        state
    }
}

impl State {
    fn stands(&self, checkpoint: &NetworkCheckpoint) -> bool {
        self.back.as_ref().is_some_and(|back| back.checkpoint == *checkpoint)
    }

    fn revert(&mut self, back: WayBack) {
        (self.profiles, self.active) = (back.profiles, back.active);
    }

    /// A profile, without the interface it is for, and that.
    fn find(&self, wanted: &str) -> Result<(ConnectionProfile, String), ToolError> {
        let found = named(&self.profiles, wanted, |each| (&each.uuid, &each.name))?;
        let interface = found.interfaces.first().cloned().unwrap_or_default();
        Ok((ConnectionProfile { interfaces: Vec::new(), ..found.clone() }, interface))
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
        let state = self.lock();
        let found = state.find(wanted).and_then(|(profile, interface)| {
            if device.is_some_and(|device| device != interface) {
                return Err(ToolError::invalid(format!("{} is for {interface} alone", profile.name))
                    .with("parameter", "device"));
            }
            let (device, before) = (device.map(str::to_owned), state.active.clone());
            Ok(ActivationPlan { profile, path: Some(interface), device, before })
        });
        ready(found).boxed()
    }

    fn plan_edit<'a>(
        &'a self,
        change: &'a ProfileChange,
        adds: bool,
    ) -> BoxFuture<'a, Result<ActivationPlan, ToolError>> {
        let state = self.lock();
        let (name, before) = (change.connection.clone(), state.active.clone());
        let planned = if adds {
            match state.profiles.iter().any(|each| each.name == name) {
                true => Err(taken(&name)),
                false => new_uuid().map(|uuid| ActivationPlan {
                    profile: ConnectionProfile { uuid, name, interfaces: Vec::new() },
                    path: None,
                    device: change.device.clone(),
                    before,
                }),
            }
        } else {
            state.find(&name).map(|(mut profile, interface)| {
                let active = state.active.iter().find(|each| each.uuid == profile.uuid);
                profile.interfaces = active.map(|each| each.interfaces.clone()).unwrap_or_default();
                ActivationPlan { profile, path: Some(interface), device: None, before }
            })
        };
        ready(planned).boxed()
    }

    fn edit<'a>(
        &'a self,
        plan: &'a ActivationPlan,
        change: &'a ProfileChange,
        _keep: bool,
    ) -> BoxFuture<'a, Result<String, ToolError>> {
        let interface = plan.path.clone().unwrap_or_else(|| {
            let usual = if change.ssid.is_some() { "wlan0" } else { "eth0" };
            let interface = change.device.clone().unwrap_or_else(|| usual.into());
            let interfaces = vec![interface.clone()];
            self.lock().profiles.push(ConnectionProfile { interfaces, ..plan.profile.clone() });
            interface
        });
        ready(Ok(interface)).boxed()
    }

    fn save<'a>(&'a self, uuid: &'a str) -> BoxFuture<'a, Result<(), ToolError>> {
        ready(self.lock().find(uuid).map(drop)).boxed()
    }

    fn scan<'a>(&'a self, device: Option<&'a str>, rescan: bool) -> BoxFuture<'a, Result<WifiScan, ToolError>> {
        let scan = WifiScan { interfaces: vec!["wlan0".into()], fresh: rescan, access_points: access_points() };
        let found = match device {
            None | Some("wlan0") => Ok(scan),
            Some(other) => Err(ToolError::not_found(format!("{other} is no Wi-Fi adapter of the simulated machine"))
                .with("parameter", "device")
                .with("provided_value", other)),
        };
        ready(found).boxed()
    }

    fn checkpoint(&self, timeout: Duration, _adds: bool) -> BoxFuture<'_, Result<NetworkCheckpoint, ToolError>> {
        let mut state = self.lock();
        let made = if state.back.is_some() {
            Err(ToolError::new(ErrorCode::Conflict, "another change of the network waits to be confirmed"))
        } else {
            state.made += 1;
            let checkpoint = NetworkCheckpoint { path: "/simulated".into(), created: state.made };
            state.back = Some(WayBack {
                checkpoint: checkpoint.clone(),
                at: Instant::now() + timeout,
                profiles: state.profiles.clone(),
                active: state.active.clone(),
            });
            Ok(checkpoint)
        };
        ready(made).boxed()
    }

    fn activate<'a>(&'a self, plan: &'a ActivationPlan) -> BoxFuture<'a, Result<Vec<String>, ToolError>> {
        let mut state = self.lock();
        // The previous profile of that interface is inactive, even when the new one does not start.
        let interface = plan.path.clone().unwrap_or_default();
        state.active.retain(|active| !active.interfaces.contains(&interface));
        let done = match state.fault.take() {
            Some(fault) => Err(fault),
            None => {
                let interfaces = vec![interface];
                state.active.push(ConnectionProfile { interfaces: interfaces.clone(), ..plan.profile.clone() });
                Ok(interfaces)
            }
        };
        ready(done).boxed()
    }

    fn revert_in<'a>(&'a self, to: &'a NetworkCheckpoint, timeout: Duration) -> BoxFuture<'a, Result<(), ToolError>> {
        let mut state = self.lock();
        let done = match &mut state.back {
            Some(back) if back.checkpoint == *to => {
                back.at = Instant::now() + timeout;
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
            if let Some(back) = state.back.take()
                && !keep
            {
                state.revert(back);
            }
            Ok(())
        } else {
            Err(gone())
        };
        ready(done).boxed()
    }
}

/// What is heard: a network with two access points, a neighbour's, an open one.
fn access_points() -> Vec<AccessPoint> {
    let heard = |ssid: &str, last: u8, signal_percent, (frequency_mhz, channel), security: &[&str]| AccessPoint {
        interface: "wlan0".into(),
        ssid: Some(ssid.into()),
        bssid: format!("02:00:00:00:00:{last:02X}"),
        signal_percent,
        frequency_mhz,
        channel: Some(channel),
        security: security.iter().map(|word| (*word).to_owned()).collect(),
        in_use: false,
    };
    vec![
        heard("simulated", 1, 88, (5180, 36), &["wpa2", "wpa3"]),
        heard("simulated", 2, 71, (2437, 6), &["wpa2"]),
        heard("simulated-guests", 4, 70, (2437, 6), &["open"]),
        heard("neighbour", 3, 34, (2412, 1), &["wpa2"]),
    ]
}
