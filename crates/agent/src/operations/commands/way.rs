//! Checks the path to a program: every folder and link on it, because a user who may change one of them could replace
//! the program.

use std::{
    collections::VecDeque,
    ffi::OsString,
    fs::{self, Metadata},
    io,
    os::unix::fs::MetadataExt,
    path::{Component, Path, PathBuf},
};

/// Limit of links; the kernel's is the same (path_resolution(7)).
const MOST_LINKS: usize = 40;
const STICKY: u32 = 0o1000;

/// Why a path is rejected.
#[derive(Debug)]
pub(super) enum PathError {
    /// Users other than root and the agent may change this.
    Open(PathBuf),
    Io(io::Error),
}

/// Resolves the links in a path. Only root, or the user that the agent runs as, may be able to redirect it.
pub(super) fn followed(path: &Path) -> Result<PathBuf, PathError> {
    let mut left = names(path);
    let (mut here, mut links) = (PathBuf::from("/"), 0);
    safe(&here, &look(&here)?)?;
    while let Some(name) = left.pop_front() {
        if name == ".." {
            here.pop();
            continue;
        }
        let next = here.join(&name);
        let about = look(&next)?;
        if !about.is_symlink() {
            if about.is_dir() {
                safe(&next, &about)?;
            }
            here = next;
            continue;
        }
        // In a sticky folder the owner of a link can replace it.
        if !is_owned(&about) {
            return Err(PathError::Open(next));
        }
        links += 1;
        if links > MOST_LINKS {
            return Err(PathError::Io(io::Error::other("too many links")));
        }
        let target = fs::read_link(&next).map_err(PathError::Io)?;
        if target.is_absolute() {
            here = PathBuf::from("/");
        }
        for name in names(&target).into_iter().rev() {
            left.push_front(name);
        }
    }
    Ok(here)
}

fn names(path: &Path) -> VecDeque<OsString> {
    let named = |part: Component<'_>| match part {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some("..".into()),
        _ => None,
    };
    path.components().filter_map(named).collect()
}

fn look(path: &Path) -> Result<Metadata, PathError> {
    fs::symlink_metadata(path).map_err(PathError::Io)
}

fn safe(folder: &Path, about: &Metadata) -> Result<(), PathError> {
    // In a folder that all may write, the sticky bit protects the entries of others; the next component is checked for
    // its owner.
    let sticky = about.mode() & STICKY != 0;
    if is_owned(about) && (sticky || is_closed(about)) { Ok(()) } else { Err(PathError::Open(folder.to_owned())) }
}

fn is_owned(about: &Metadata) -> bool {
    about.uid() == 0 || about.uid() == rustix::process::geteuid().as_raw()
}

/// Whether only root and the agent may write it. Write access by an access control list shows in the group's bits
/// (acl(5)).
pub(super) fn is_closed(about: &Metadata) -> bool {
    is_owned(about) && about.mode() & 0o022 == 0
}
