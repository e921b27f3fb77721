//! The port to the machine's network: profiles to activate, and a way back that needs nobody.

mod real;
mod simulated;

pub use real::RealNetwork;
pub use simulated::SimulatedNetwork;

use base::error::ToolError;
pub use base::os::network_manager::activation::Checkpoint;
use futures::future::BoxFuture;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// What can be done to the network.
pub trait Network: Send + Sync {
    /// Finds the profile that `wanted` names, by UUID or else by name, and what is active now. Changes nothing.
    ///
    /// # Errors
    /// `not_found`; `invalid_argument` when several have that name or it is for another device; `capability_missing`
    /// without NetworkManager.
    fn plan<'a>(&'a self, wanted: &'a str, device: Option<&'a str>) -> BoxFuture<'a, Result<Plan, ToolError>>;
    /// Remembers everything as it is, and goes back to it by itself after `timeout`, whatever becomes of this process.
    ///
    /// # Errors
    /// `conflict` when another such change is under way, `capability_missing` when it cannot go back.
    fn checkpoint(&self, timeout: Duration) -> BoxFuture<'_, Result<Checkpoint, ToolError>>;
    /// Activates it and waits until it is; the caller bounds the wait. Answers with the interfaces it is active on.
    ///
    /// # Errors
    /// `failed_precondition` when it cannot be activated.
    fn activate<'a>(&'a self, plan: &'a Plan) -> BoxFuture<'a, Result<Vec<String>, ToolError>>;
    /// Goes back `timeout` from now.
    ///
    /// # Errors
    /// `unavailable`: then it goes back when it was to before.
    fn revert_in<'a>(&'a self, to: &'a Checkpoint, timeout: Duration) -> BoxFuture<'a, Result<(), ToolError>>;
    /// Whether it has neither been kept nor gone back.
    ///
    /// # Errors
    /// `unavailable` when that cannot be known.
    fn stands<'a>(&'a self, checkpoint: &'a Checkpoint) -> BoxFuture<'a, Result<bool, ToolError>>;
    /// Keeps everything as it is now, or goes back at once.
    ///
    /// # Errors
    /// `not_found` when it does not stand any more.
    fn end<'a>(&'a self, checkpoint: &'a Checkpoint, keep: bool) -> BoxFuture<'a, Result<(), ToolError>>;
}

/// A profile about to be activated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    pub profile: Profile,
    /// Where NetworkManager has it.
    pub path: String,
    /// The interface the caller chose.
    pub device: Option<String>,
    /// Every profile that is active now.
    pub before: Vec<Profile>,
}

/// A profile, as it is shown and kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    pub uuid: String,
    pub name: String,
    /// Where it is active.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_uuid_goes_before_a_name_and_a_name_must_be_one() {
        let all = [("u-1", "home"), ("u-2", "work"), ("u-3", "work"), ("u-4", "U-1")];
        let find = |wanted: &str| named(&all, wanted, |each| *each).map(|each| each.0).map_err(|error| error.code);
        assert_eq!(find("U-1"), Ok("u-1"));
        assert_eq!(find("home"), Ok("u-1"));
        assert_eq!(find("work"), Err(base::error::ErrorCode::InvalidArgument));
        assert_eq!(find("hom"), Err(base::error::ErrorCode::NotFound));
        assert_eq!(find("home\0"), Err(base::error::ErrorCode::NotFound));
    }
}
