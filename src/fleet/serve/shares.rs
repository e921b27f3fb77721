//! How many calls one device may have at once, so that devices that hang do not take the places of calls of others.

use base::error::ToolError;
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Mutex, MutexGuard, PoisonError},
};

/// Calls of one device at once.
const AT_ONCE: usize = 2;
/// Of one that did not answer its last call.
const AFTER_A_HANG: usize = 1;

/// The calls that are under way.
#[derive(Default)]
pub struct DeviceShares(Mutex<State>);

#[derive(Default)]
struct State {
    under_way: BTreeMap<String, usize>,
    /// Devices that did not answer their last call.
    hanging: BTreeSet<String>,
}

/// The place of one call. Dropped before [`DevicePlace::answered`], the device did not answer.
#[must_use]
pub struct DevicePlace<'a> {
    shares: &'a DeviceShares,
    device: &'a str,
    is_answered: bool,
}

impl DeviceShares {
    /// # Errors
    /// `resource_exhausted` while the device has its share of calls.
    pub fn take<'a>(&'a self, device: &'a str) -> Result<DevicePlace<'a>, ToolError> {
        let mut state = self.lock();
        let share = if state.hanging.contains(device) { AFTER_A_HANG } else { AT_ONCE };
        let calls = state.under_way.get(device).copied().unwrap_or_default();
        if calls >= share {
            let message = format!("{calls} calls of this device have no answer yet, and it may have {share} at once");
            return Err(ToolError::exhausted(message)
                .hint("wait for one to end, at most a minute, and try again; other devices can be called meanwhile")
                .with("limit", share)
                .with("limit_of", "device"));
        }
        state.under_way.insert(device.to_owned(), calls + 1);
        Ok(DevicePlace { shares: self, device, is_answered: false })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl DevicePlace<'_> {
    /// The device answered, whatever its answer is.
    pub fn answered(mut self) {
        self.is_answered = true;
    }
}

impl Drop for DevicePlace<'_> {
    fn drop(&mut self) {
        let mut state = self.shares.lock();
        let calls = state.under_way.remove(self.device).unwrap_or_default();
        if calls > 1 {
            state.under_way.insert(self.device.to_owned(), calls - 1);
        }
        if self.is_answered {
            state.hanging.remove(self.device);
        } else {
            state.hanging.insert(self.device.to_owned());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_that_hung_has_one_call_until_it_answers_one() {
        let shares = DeviceShares::default();
        let (first, second) = (shares.take("attic").unwrap(), shares.take("attic").unwrap());
        let refused = shares.take("attic").err().unwrap();
        assert_eq!((&refused.details["limit"], &refused.details["limit_of"]), (&2.into(), &"device".into()));
        shares.take("shed").unwrap().answered();
        drop(first);
        assert_eq!(shares.take("attic").err().unwrap().details["limit"], 1);
        drop(second);
        let third = shares.take("attic").unwrap();
        assert!(shares.take("attic").is_err());
        third.answered();
        let _two = (shares.take("attic").unwrap(), shares.take("attic").unwrap());
    }
}
