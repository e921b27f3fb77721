//! The port to the machine's network: activating profiles, with an automatic revert.

mod real;
mod simulated;

pub use real::RealNetwork;
pub use simulated::SimulatedNetwork;

use base::error::{ErrorCode, ToolError};
pub use base::os::network_manager::{
    activation::NetworkCheckpoint,
    change::ProfileChange,
    scan::{AccessPoint, WifiScan},
};
use futures::future::BoxFuture;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// What can be done to the network.
pub trait Network: Send + Sync {
    /// Finds the profile `wanted`, by UUID or else by name, and what is active now. Changes nothing.
    ///
    /// # Errors
    /// `not_found`; `invalid_argument` when several have that name or it is for another device; `capability_missing`
    /// without NetworkManager.
    fn plan<'a>(&'a self, wanted: &'a str, device: Option<&'a str>)
    -> BoxFuture<'a, Result<ActivationPlan, ToolError>>;
    /// Plans a change of the profile that it names, or with `adds` a new profile. Changes nothing.
    ///
    /// # Errors
    /// As [`Network::plan`]; `conflict` when there is a profile of the new one's name; `failed_precondition` for a
    /// profile that cannot have this change.
    fn plan_edit<'a>(
        &'a self,
        change: &'a ProfileChange,
        adds: bool,
    ) -> BoxFuture<'a, Result<ActivationPlan, ToolError>>;
    /// Makes the planned change: in memory, or on the card too if it is to be kept. Returns the profile's object path.
    ///
    /// # Errors
    /// `invalid_argument` when it makes no valid profile.
    fn edit<'a>(
        &'a self,
        plan: &'a ActivationPlan,
        change: &'a ProfileChange,
        keep: bool,
    ) -> BoxFuture<'a, Result<String, ToolError>>;
    /// Writes the profile with that UUID, as it is in memory, to the card.
    ///
    /// # Errors
    /// `not_found` when it is gone.
    fn save<'a>(&'a self, uuid: &'a str) -> BoxFuture<'a, Result<(), ToolError>>;
    /// The Wi-Fi networks around: scans with the adapter of that interface, or with all, unless `rescan` is false.
    ///
    /// # Errors
    /// `capability_missing` without NetworkManager or Wi-Fi, `failed_precondition` while it is switched off.
    fn scan<'a>(&'a self, device: Option<&'a str>, rescan: bool) -> BoxFuture<'a, Result<WifiScan, ToolError>>;
    /// Takes a checkpoint of the current state, which is restored after `timeout` even if this process ends. With
    /// `adds`, a profile that is added meanwhile is removed then.
    ///
    /// # Errors
    /// `conflict` when another such change is under way, `capability_missing` when it could not be restored.
    fn checkpoint(&self, timeout: Duration, adds: bool) -> BoxFuture<'_, Result<NetworkCheckpoint, ToolError>>;
    /// Activates the profile and waits until it is active; the caller bounds the wait. Returns the interfaces it is
    /// active on.
    ///
    /// # Errors
    /// `failed_precondition` when it cannot be activated.
    fn activate<'a>(&'a self, plan: &'a ActivationPlan) -> BoxFuture<'a, Result<Vec<String>, ToolError>>;
    /// Sets the revert to `timeout` from now.
    ///
    /// # Errors
    /// `unavailable`: then the earlier time of the revert remains.
    fn revert_in<'a>(&'a self, to: &'a NetworkCheckpoint, timeout: Duration) -> BoxFuture<'a, Result<(), ToolError>>;
    /// Whether it was neither kept nor reverted yet.
    ///
    /// # Errors
    /// `unavailable` when that cannot be determined.
    fn stands<'a>(&'a self, checkpoint: &'a NetworkCheckpoint) -> BoxFuture<'a, Result<bool, ToolError>>;
    /// Keeps the current state, or reverts at once.
    ///
    /// # Errors
    /// `not_found` when the checkpoint no longer exists.
    fn end<'a>(&'a self, checkpoint: &'a NetworkCheckpoint, keep: bool) -> BoxFuture<'a, Result<(), ToolError>>;
}

/// A profile about to be activated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ActivationPlan {
    pub profile: ConnectionProfile,
    /// Its D-Bus object path; `None` for one that is to be added.
    pub path: Option<String>,
    /// The interface that the caller chose, or where it is in use.
    pub device: Option<String>,
    /// All active profiles.
    pub before: Vec<ConnectionProfile>,
}

/// A profile, as it is shown and stored. Another release may have stored it: unknown fields are ignored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(expecting = "struct Profile")]
pub struct ConnectionProfile {
    pub uuid: String,
    pub name: String,
    /// The interfaces it is active on.
    pub interfaces: Vec<String>,
}

/// The one profile of `all` that `wanted` names.
fn named<'a, T>(all: &'a [T], wanted: &str, of: impl Fn(&'a T) -> (&'a str, &'a str)) -> Result<&'a T, ToolError> {
    if let Some(found) = all.iter().find(|each| of(each).0.eq_ignore_ascii_case(wanted)) {
        return Ok(found);
    }
    let found: Vec<&T> = all.iter().filter(|each| of(each).1 == wanted).collect();
    let shown: String = wanted.chars().take(80).collect();
    match found[..] {
        [one] => Ok(one),
        [] => Err(ToolError::not_found(format!("there is no connection {shown:?}"))
            .with("parameter", "connection")
            .with("provided_value", shown)
            .with("known", all.iter().take(32).map(|each| of(each).1).collect::<Vec<_>>())
            .hint("network.list_connections lists them with their UUIDs")),
        _ => Err(ToolError::invalid(format!("{} connections are called {shown:?}", found.len()))
            .with("parameter", "connection")
            .with("uuids", found.iter().take(32).map(|each| of(each).0).collect::<Vec<_>>())
            .hint("name one by its UUID")),
    }
}

/// There is a profile of that name already. NetworkManager would take another; whoever names it later would not.
fn taken(name: &str) -> ToolError {
    ToolError::new(ErrorCode::Conflict, format!("there is a connection {name:?} already"))
        .with("parameter", "connection")
        .hint("choose another name, or change that one with network.update_connection")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_uuid_goes_before_a_name_and_a_name_must_be_one() {
        let all = [("u-1", "home"), ("u-2", "work"), ("u-3", "work"), ("u-4", "U-1")];
        let find = |wanted: &str| named(&all, wanted, |each| *each).map(|each| each.0).map_err(|error| error.code);
        assert_eq!(find("U-1"), Ok("u-1"));
        assert_eq!(find("home"), Ok("u-1"));
        assert_eq!(find("work"), Err(ErrorCode::InvalidArgument));
        assert_eq!(find("hom"), Err(ErrorCode::NotFound));
        assert_eq!(find("home\0"), Err(ErrorCode::NotFound));
    }
}
