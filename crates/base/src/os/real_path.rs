//! Resolves the symbolic links of a path.

use std::path::{Component, Path, PathBuf};

/// `path` without symbolic links, as far as it exists; the rest is kept as written.
pub fn resolved(path: &Path) -> PathBuf {
    let mut rest = Vec::new();
    for there in path.ancestors() {
        if let Ok(mut whole) = there.canonicalize() {
            whole.extend(rest.into_iter().rev());
            return whole;
        }
        rest.extend(there.components().next_back().filter(|part| matches!(part, Component::Normal(_))));
    }
    path.to_owned()
}
