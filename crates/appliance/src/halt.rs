//! The halt in the agent-state area, so that it outlives the data partition and a restored copy of it.

use contract::halt::HaltState;
use update::slots::StateRecord;

/// Its key in [`StateRecord::kept`].
const KEY: &str = "halt";

/// What is kept; `None` if nothing ever was.
///
/// # Errors
/// Why it cannot be read.
pub fn kept(state: &StateRecord) -> Result<Option<HaltState>, String> {
    let bytes = state.kept.get(KEY);
    bytes.map(|bytes| serde_json::from_slice(bytes)).transpose().map_err(|error| error.to_string())
}

/// The state with `halt`; `None` if it is kept already.
pub fn to_keep(halt: &HaltState, state: &StateRecord) -> Option<StateRecord> {
    if kept(state).is_ok_and(|kept| kept.as_ref() == Some(halt)) {
        return None;
    }
    let mut next = state.clone();
    // Strings and numbers only, so this cannot fail.
    next.kept.insert(KEY.into(), serde_json::to_vec(halt).unwrap_or_default());
    Some(next)
}

/// After a reset nothing is left of the owner, who alone could lift it.
pub fn forget(state: &mut StateRecord) {
    state.kept.remove(KEY);
}

#[cfg(test)]
mod tests {
    use super::*;
    use contract::halt::Halted;

    #[test]
    fn it_is_kept_once_read_again_and_forgotten() {
        let empty = StateRecord::default();
        assert_eq!(kept(&empty), Ok(None));
        let halted = Halted { by: "pi".into(), how: "raspi-mcp halt".into(), since_ms: 7, reason: None };
        let halt = HaltState { halted: Some(halted), lifted: None };
        let mut state = to_keep(&halt, &empty).unwrap();
        assert_eq!(kept(&state), Ok(Some(halt.clone())));
        assert_eq!(to_keep(&halt, &state), None, "the card is not written for nothing");
        state.kept.insert(KEY.into(), b"{".to_vec());
        assert!(kept(&state).is_err() && to_keep(&halt, &state).is_some());
        forget(&mut state);
        assert_eq!(kept(&state), Ok(None));
    }
}
