//! What a file has beside its bytes and its permission bits: access control lists and attributes of users (acl(5),
//! xattr(7)). A file that replaces another one takes them over, so that nobody gains or loses a right by a new version.

use rustix::{
    fd::AsFd,
    fs::{XattrFlags, fgetxattr, fgetxattr_query, flistxattr, fremovexattr, fsetxattr},
    io::Errno,
};
use std::ffi::{CStr, CString};

/// The access control list; without this attribute the permission bits are all there is.
const ACL: &CStr = c"system.posix_acl_access";
/// Attributes of the file's users, which mean nothing to the kernel.
const OF_USERS: &[u8] = b"user.";
/// The kernel's own bounds for all names, and for one value (XATTR_LIST_MAX, XATTR_SIZE_MAX), in bytes.
const LONGEST: usize = 64 * 1024;
/// The tag of the owning group in a list.
const GROUP_OBJ: u16 = 0x04;

/// Gives `to`, a new file on the same file system, the access control list and the users' attributes of `from`. If `from`
/// has no list, `to` has none afterwards: a folder's default list may have given it one. Without `keeps_group` the
/// owning group, which is another one then, gets no right from the list.
///
/// # Errors
/// Those of fgetxattr(2) and fsetxattr(2): what cannot be copied, or an `EINVAL` for a list of an unknown form.
pub fn copy(from: &impl AsFd, to: &impl AsFd, keeps_group: bool) -> Result<(), Errno> {
    let mut names = vec![0; LONGEST];
    let length = match flistxattr(from, &mut names[..]) {
        // The file system has none.
        Err(Errno::OPNOTSUPP | Errno::NOSYS) => return Ok(()),
        length => length?,
    };
    let mut value = vec![0; LONGEST];
    for name in names[..length].split(|byte| *byte == 0).filter(|name| name.starts_with(OF_USERS)) {
        let name = CString::new(name).map_err(|_| Errno::INVAL)?;
        let length = fgetxattr(from, &name, &mut value[..])?;
        fsetxattr(to, &name, &value[..length], XattrFlags::empty())?;
    }
    match fgetxattr(from, ACL, &mut value[..]) {
        Ok(length) => {
            let list = &mut value[..length];
            if !keeps_group {
                without_group(list)?;
            }
            fsetxattr(to, ACL, list, XattrFlags::empty())
        }
        Err(Errno::NODATA | Errno::OPNOTSUPP) => match fremovexattr(to, ACL) {
            Err(Errno::NODATA | Errno::OPNOTSUPP) => Ok(()),
            ended => ended,
        },
        Err(fault) => Err(fault),
    }
}

/// Whether the file has an access control list: its group's permission bits are the list's mask then.
///
/// # Errors
/// Those of fgetxattr(2).
pub fn has_list(file: &impl AsFd) -> Result<bool, Errno> {
    match fgetxattr_query(file, ACL) {
        Ok(_) => Ok(true),
        Err(Errno::NODATA | Errno::OPNOTSUPP | Errno::NOSYS) => Ok(false),
        Err(fault) => Err(fault),
    }
}

/// Takes the owning group's rights out of a list: version 2, then entries of tag, rights and id (posix_acl_xattr.h).
fn without_group(list: &mut [u8]) -> Result<(), Errno> {
    let (version, entries) = list.split_at_mut_checked(4).ok_or(Errno::INVAL)?;
    if version != [2, 0, 0, 0] || entries.len() % 8 != 0 {
        return Err(Errno::INVAL);
    }
    for entry in entries.chunks_exact_mut(8).filter(|entry| entry[..2] == GROUP_OBJ.to_le_bytes()) {
        entry[2..4].fill(0);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{self, File};

    /// `user::rw-`, `user:1000:rw-`, `group::r--`, `mask::rw-`, `other::---`.
    fn list(group: u8) -> Vec<u8> {
        let none = [0xff; 4];
        let entry = |tag: u8, rights: u8, id: [u8; 4]| [&[tag, 0, rights, 0][..], &id].concat();
        let id = 1000_u32.to_le_bytes();
        let entries =
            [entry(1, 6, none), entry(2, 6, id), entry(4, group, none), entry(0x10, 6, none), entry(0x20, 0, none)];
        [&[2, 0, 0, 0][..], &entries.concat()].concat()
    }

    fn held(file: &File, name: &CStr) -> Option<Vec<u8>> {
        let mut value = vec![0; 1024];
        let length = fgetxattr(file, name, &mut value[..]).ok()?;
        value.truncate(length);
        Some(value)
    }

    #[test]
    fn lists_and_attributes_go_along_and_none_is_left_of_others() {
        let dir = tempfile::tempdir().unwrap();
        let make = |name: &str| {
            let path = dir.path().join(name);
            fs::write(&path, name).unwrap();
            File::options().read(true).write(true).open(path).unwrap()
        };
        let (old, new, plain) = (make("old"), make("new"), make("plain"));
        if matches!(fsetxattr(&old, ACL, &list(4), XattrFlags::empty()), Err(Errno::OPNOTSUPP)) {
            println!("not looked at: this file system has no access control lists");
            return;
        }
        assert!(has_list(&old).unwrap() && !has_list(&plain).unwrap());
        let noted = fsetxattr(&old, c"user.note", b"kept", XattrFlags::empty()).is_ok();
        copy(&old, &new, true).unwrap();
        assert_eq!(held(&new, ACL), Some(list(4)));
        assert_eq!(held(&new, c"user.note"), noted.then(|| b"kept".to_vec()));
        copy(&old, &new, false).unwrap();
        assert_eq!(held(&new, ACL), Some(list(0)), "the owning group is another one");
        copy(&plain, &new, true).unwrap();
        assert!(!has_list(&new).unwrap(), "the old file had no list");
    }

    #[test]
    fn a_list_of_another_form_is_refused() {
        for bad in [&[2, 0, 0][..], &[3, 0, 0, 0], &[2, 0, 0, 0, 4, 0, 6, 0, 0]] {
            assert_eq!(without_group(&mut bad.to_vec()), Err(Errno::INVAL), "{bad:?}");
        }
    }
}
