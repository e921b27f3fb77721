//! Checks that a folder of the server does not overlap with others.

use crate::config::settings::Settings;
use base::os::real_path::resolved;
use std::path::{Path, PathBuf};

/// The faults of the path `dir`, which `key` sets. It may be in the state folder, but not in a folder of the system,
/// the sockets or the agent, and the state folder must not be in it. `next` is the advice for the message.
pub fn own_folder(key: &str, dir: &Path, settings: &Settings, next: &str) -> Vec<String> {
    let (places, shown) = (&settings.places, dir.display());
    let (dir, state) = (resolved(dir), resolved(&places.state_dir));
    let guarded = [&places.runtime_dir, &places.agent_state_dir].into_iter().cloned();
    let system = ["/etc", "/usr", "/run", "/dev", "/proc", "/sys"].map(PathBuf::from);
    // A folder in the state folder is always accepted.
    let in_state = dir.starts_with(&state) && dir != state;
    let around = guarded.chain(system).find(|other| !in_state && dir.starts_with(resolved(other)));
    let around = around.map(|other| format!("{key} is {shown}, which lies in {}; {next}", other.display()));
    let holds = format!("{key} is {shown}, which holds the server's state; {next}");
    around.into_iter().chain(state.starts_with(&dir).then_some(holds)).collect()
}
