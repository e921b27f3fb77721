//! Makes what NetworkManager stored outlive a power failure. It does not flush its files: one that is new is empty on ext4 until the
//! kernel writes it back, half a minute later.

use crate::{
    error::ToolError,
    os::{Root, blocking},
};
use std::{fs::File, io};

/// NetworkManager's folder for connections made by users and tools.
pub const STORED: &str = "etc/NetworkManager/system-connections";

/// Flushes all connections, and their folder. Without that folder there is nothing to do.
///
/// # Errors
/// `unavailable` when the card does not take them: the change is made, and a power failure may undo it.
pub async fn flush(root: Root) -> Result<(), ToolError> {
    let flushed = move || {
        files(&root).map_err(|fault| {
        ToolError::unavailable(format!("/{STORED} cannot be written to the card: {fault}"))
            .hint("the connection is used, but a power failure may undo it: look at the kernel's log, the card may be failing")
    })
    };
    blocking::run("network", move |_| flushed()).await.map_err(ToolError::maybe_changed)
}

fn files(root: &Root) -> io::Result<()> {
    let names = match root.list(STORED) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        names => names?,
    };
    let folder = root.path(STORED);
    for name in names {
        match File::open(folder.join(name)) {
            Ok(file) => file.sync_all()?,
            // Deleted meanwhile, or a link to nowhere.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    File::open(folder)?.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn files_and_links_to_nowhere_are_flushed_and_no_folder_is_nothing() {
        let home = tempfile::tempdir().unwrap();
        let root = Root::at(home.path());
        files(&root).unwrap();
        let folder = home.path().join(STORED);
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("home.nmconnection"), "[connection]\n").unwrap();
        std::os::unix::fs::symlink("/nowhere", folder.join("gone.nmconnection")).unwrap();
        files(&root).unwrap();
        fs::remove_dir_all(&folder).unwrap();
        fs::write(&folder, "no folder").unwrap();
        assert!(files(&root).is_err());
    }
}
