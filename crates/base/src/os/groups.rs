//! Group membership from `/etc/passwd` and `/etc/group`: sufficient for an appliance, without NSS libraries in the
//! process.
//!
//! Both are read line by line, as bytes: one that is not UTF-8 (a full name in Latin-1) hides no other account, and two
//! names are the same only if their bytes are.

use crate::os::Root;
use std::{
    collections::BTreeSet,
    io,
    ops::ControlFlow::{self, Continue},
    str,
};

const USERS: &str = "etc/passwd";
const GROUPS: &str = "etc/group";

/// Whether the user `uid` with primary group `gid` is in `group`.
pub fn contains(root: &Root, group: &str, uid: u32, gid: u32) -> bool {
    let name = user(root, |user| user.uid == uid).map(|user| user.name);
    first(root, GROUPS, |line| {
        let line = Group::of(line).filter(|line| line.name == group.as_bytes())?;
        (line.gid == gid || name.as_deref().is_some_and(|name| line.has(name))).then_some(())
    })
    .is_some()
}

/// The login name of `uid`; `None` also for one that is not UTF-8, which nothing here can name.
pub fn user_name(root: &Root, uid: u32) -> Option<String> {
    String::from_utf8(user(root, |user| user.uid == uid)?.name).ok()
}

/// The id of the user `name`.
pub fn user_id(root: &Root, name: &str) -> Option<u32> {
    user(root, |user| user.name == name.as_bytes()).map(|user| user.uid)
}

/// The ids of the user `name` and of its primary group.
pub fn user_ids(root: &Root, name: &str) -> Option<(u32, u32)> {
    user(root, |user| user.name == name.as_bytes()).and_then(|user| Some((user.uid, user.gid?)))
}

/// All login names by id; of several with one id the first. Bytes that are not UTF-8 become U+FFFD: for display only.
///
/// # Errors
/// Those of reading `/etc/passwd`.
pub fn each_user(root: &Root, mut each: impl FnMut(u32, &str)) -> io::Result<()> {
    let ended = root.each_line::<()>(USERS, |line| {
        if let Some(user) = User::of(line) {
            each(user.uid, &String::from_utf8_lossy(user.name));
        }
        Continue(())
    });
    ended.map(drop)
}

/// The id of the group `name`.
pub fn id(root: &Root, name: &str) -> Option<u32> {
    first(root, GROUPS, |line| Group::of(line).filter(|line| line.name == name.as_bytes()).map(|line| line.gid))
}

/// Whether there is a group `name`.
pub fn is_group(root: &Root, name: &str) -> bool {
    members(root, name).is_some()
}

/// The ids of the groups of the user `name`, including the primary one.
pub fn of_user(root: &Root, name: &str) -> BTreeSet<u32> {
    let primary = user(root, |user| user.name == name.as_bytes()).and_then(|user| user.gid);
    let mut others = Vec::new();
    let _ = root.each_line::<()>(GROUPS, |line| {
        others.extend(Group::of(line).filter(|line| line.has(name.as_bytes())).map(|line| line.gid));
        Continue(())
    });
    crate::sort::set(others.into_iter().chain(primary))
}

/// The listed members of `group`; `None` when there is no such group. Bytes that are not UTF-8 become U+FFFD.
pub fn members(root: &Root, group: &str) -> Option<Vec<String>> {
    first(root, GROUPS, |line| {
        let line = Group::of(line).filter(|line| line.name == group.as_bytes())?;
        let members = line.members().filter(|member| !member.is_empty());
        Some(members.map(|member| String::from_utf8_lossy(member).into_owned()).collect())
    })
}

/// What `found` makes of the first line of which it makes something.
fn first<T>(root: &Root, file: &str, mut found: impl FnMut(&[u8]) -> Option<T>) -> Option<T> {
    let read = root.each_line(file, |line| found(line).map_or(Continue(()), ControlFlow::Break));
    read.inspect_err(|fault| {
        if fault.kind() != io::ErrorKind::NotFound {
            tracing::warn!(%fault, "nothing is known of the accounts there");
        }
    })
    .ok()
    .flatten()
}

/// The first user whom `is` accepts.
fn user(root: &Root, is: impl Fn(&User<&[u8]>) -> bool) -> Option<User<Vec<u8>>> {
    first(root, USERS, |line| {
        let user = User::of(line).filter(&is)?;
        Some(User { name: user.name.to_owned(), uid: user.uid, gid: user.gid })
    })
}

/// `name:password:uid:gid:full name:home:shell`
struct User<Name> {
    name: Name,
    uid: u32,
    /// Absent where it is no number.
    gid: Option<u32>,
}

impl<'a> User<&'a [u8]> {
    fn of(line: &'a [u8]) -> Option<Self> {
        let mut fields = line.split(|byte| *byte == b':');
        Some(Self { name: fields.next()?, uid: number(fields.nth(1)?)?, gid: fields.next().and_then(number) })
    }
}

/// `name:password:gid:member,member`
struct Group<'a> {
    name: &'a [u8],
    gid: u32,
    members: &'a [u8],
}

impl<'a> Group<'a> {
    fn of(line: &'a [u8]) -> Option<Self> {
        let mut fields = line.split(|byte| *byte == b':');
        let name = fields.next()?;
        let gid = number(fields.nth(1)?)?;
        Some(Self { name, gid, members: fields.next()? })
    }

    fn members(&self) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        self.members.split(|byte| *byte == b',').map(<[u8]>::trim_ascii_end)
    }

    fn has(&self, user: &[u8]) -> bool {
        !user.is_empty() && self.members().any(|member| member == user)
    }
}

fn number(field: &[u8]) -> Option<u32> {
    str::from_utf8(field).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn machine(passwd: &[u8], group: &[u8]) -> (tempfile::TempDir, Root) {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("etc")).unwrap();
        fs::write(dir.path().join(USERS), passwd).unwrap();
        fs::write(dir.path().join(GROUPS), group).unwrap();
        let root = Root::at(dir.path());
        (dir, root)
    }

    #[test]
    fn a_byte_that_is_not_utf8_hides_no_other_account() {
        let (_dir, root) = machine(
            b"root:x:0:0::/:/bin/sh\nann:x:1000:1000:Ann M\xfcller:/home/ann:/bin/sh\nraspi-mcp:x:998:997::/:\n",
            b"root:x:0:\nm\xfcsik:x:50:ann\nraspi-mcp-admin:x:996:ann,bob\n",
        );
        assert_eq!(user_id(&root, "raspi-mcp"), Some(998));
        assert_eq!(user_ids(&root, "ann"), Some((1000, 1000)));
        assert_eq!(user_name(&root, 1000).as_deref(), Some("ann"));
        assert_eq!(members(&root, "raspi-mcp-admin"), Some(vec!["ann".to_owned(), "bob".to_owned()]));
        assert!(contains(&root, "raspi-mcp-admin", 1000, 1000) && is_group(&root, "root"));
        assert_eq!(of_user(&root, "ann"), BTreeSet::from([50, 996, 1000]));
    }

    #[test]
    fn two_names_that_look_alike_as_text_are_two_accounts() {
        let (_dir, root) = machine(
            b"m\xfcller:x:1000:1000::/:\nm\xe9ller:x:1001:1001::/:\nm\xef\xbf\xbdller:x:1002:1002::/:\n:x:1003:1003::/:\n",
            b"admins:x:996:m\xfcller\nempty:x:995:\n",
        );
        let is_in = |uid| contains(&root, "admins", uid, uid);
        assert_eq!([is_in(1000), is_in(1001), is_in(1002)], [true, false, false]);
        assert!(!contains(&root, "empty", 1003, 1003), "an account without a name is in no group");
        assert_eq!(user_name(&root, 1000), None);
        assert_eq!(user_id(&root, "m\u{fffd}ller"), Some(1002));
        let mut shown = Vec::new();
        each_user(&root, |uid, name| shown.push((uid, name.to_owned()))).unwrap();
        assert_eq!(shown[0], (1000, "m\u{fffd}ller".to_owned()));
    }

    #[test]
    fn a_directory_of_many_accounts_is_read_in_parts() {
        let mut passwd: Vec<u8> = (2000..22_000_u32)
            .flat_map(|uid| format!("user{uid}:x:{uid}:{uid}:A User:/home/user{uid}:/bin/sh\n").into_bytes())
            .collect();
        passwd.extend(b"raspi-mcp:x:998:997::/:\n");
        assert!(passwd.len() > 1 << 20);
        let (_dir, root) = machine(&passwd, b"");
        assert_eq!(user_id(&root, "raspi-mcp"), Some(998));
        assert_eq!(user_id(&root, "nobody-of-that-name"), None);
    }
}
