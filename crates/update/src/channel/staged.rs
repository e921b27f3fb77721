//! A new index before it has its name. Several processes replace one index, and each may hang at any moment and go on later, so a
//! lock alone does not keep two apart. Whoever writes puts the new index into a file of its own, then removes all such files of
//! others, then looks at the index that is there, and last renames its file over it. A rename of a file that is gone fails.

use base::os::whole;
use std::{fs, io, path::Path};

/// What the name of a new index begins with; a random part follows.
pub const STAGED: &str = ".index.signed.";
/// The new index of [`super::Tree`], which has the folder's lock ([`whole::replace`]).
const OF_A_TREE: &str = "index.new";

/// Removes the new indexes of all others from the folder of a channel. `own`: the one of the caller.
///
/// # Errors
/// Those of the file system.
pub fn remove_others(channel: &Path, own: &Path) -> io::Result<()> {
    for entry in fs::read_dir(channel)? {
        let path = entry?.path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if (name.starts_with(STAGED) || name == OF_A_TREE) && path != own {
            whole::remove(&path)?;
        }
    }
    Ok(())
}
