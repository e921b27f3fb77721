//! A new index before it has its name. Several processes replace one index, and each may hang at any moment and go on later, so a
//! lock alone does not keep two apart. Whoever writes puts the new index into a file of its own, then removes all such files of
//! others, then looks at the index that is there, and last renames its file over it. A rename of a file that is gone fails.

use super::INDEX;
use base::os::whole;
use std::{fs, io, path::Path};

/// What the name of a new index begins with; a random part follows.
pub const NEW_INDEX_PREFIX: &str = ".index.signed.";

/// Removes the new indexes of all others, those of [`super::Tree`] ([`whole::staged`]) among them, from the folder of a
/// channel. `own`: the one of the caller.
///
/// # Errors
/// Those of the file system.
pub fn remove_others(channel: &Path, own: &Path) -> io::Result<()> {
    let of_a_tree = whole::staged(&channel.join(INDEX));
    for entry in fs::read_dir(channel)? {
        let path = entry?.path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if (name.starts_with(NEW_INDEX_PREFIX) || path == of_a_tree) && path != own {
            whole::remove(&path)?;
        }
    }
    Ok(())
}
