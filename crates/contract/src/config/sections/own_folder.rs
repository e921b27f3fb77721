//! A folder that the server keeps for itself must lie apart from everybody else's.

use crate::config::settings::Settings;
use base::os::real_path::resolved;
use std::path::{Path, PathBuf};

/// What is wrong with the place of the folder `dir`, which `key` sets: it may lie in the state, and in no folder of the system, the sockets or
/// the agent; and the state must not lie in it. `next` says what to do about it.
pub fn own_folder(key: &str, dir: &Path, settings: &Settings, next: &str) -> Vec<String> {
    let (places, shown) = (&settings.places, dir.display());
    let (dir, state) = (resolved(dir), resolved(&places.state_dir));
    let guarded = [&places.runtime_dir, &places.agent_state_dir].into_iter().cloned();
    let system = ["/etc", "/usr", "/run", "/dev", "/proc", "/sys"].map(PathBuf::from);
    // Wherever the state is, a folder in it is as good.
    let in_state = dir.starts_with(&state) && dir != state;
    let around = guarded.chain(system).find(|other| !in_state && dir.starts_with(resolved(other)));
    let around = around.map(|other| format!("{key} is {shown}, which lies in {}; {next}", other.display()));
    let holds = format!("{key} is {shown}, which holds the server's state; {next}");
    around.into_iter().chain(state.starts_with(&dir).then_some(holds)).collect()
}
