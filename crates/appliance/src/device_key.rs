//! The agent's signing key in the agent-state area, so that a device keeps its ID when its data partition is lost.

use update::slots::StateRecord;

/// Its key in [`StateRecord::kept`].
const KEY: &str = "device-key";

/// The key, PKCS #8, if there is one.
pub fn kept(state: &StateRecord) -> Option<&Vec<u8>> {
    state.kept.get(KEY)
}

/// The state with this key.
pub fn to_keep(der: &[u8], state: &StateRecord) -> StateRecord {
    let mut next = state.clone();
    next.kept.insert(KEY.into(), der.to_vec());
    next
}

/// After a reset it is another device.
pub fn forget(state: &mut StateRecord) {
    state.kept.remove(KEY);
}
