//! Group membership from `/etc/passwd` and `/etc/group`: sufficient for an appliance, without NSS libraries in the
//! process.

use crate::os::Root;
use std::collections::BTreeSet;

/// Whether the user `uid` with primary group `gid` is in `group`.
pub fn contains(root: &Root, group: &str, uid: u32, gid: u32) -> bool {
    let (Ok(groups), name) = (root.read("etc/group"), user_name(root, uid)) else { return false };
    groups.lines().filter_map(parse).any(|line| {
        line.name == group
            && (line.gid == gid
                || name.as_deref().is_some_and(|name| line.members.split(',').any(|member| member == name)))
    })
}

/// The login name of `uid`.
pub fn user_name(root: &Root, uid: u32) -> Option<String> {
    let users = root.read("etc/passwd").ok()?;
    users.lines().find_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next()?;
        (fields.nth(1)?.parse() == Ok(uid)).then(|| name.to_owned())
    })
}

/// The id of the user `name`.
pub fn user_id(root: &Root, name: &str) -> Option<u32> {
    let users = root.read("etc/passwd").ok()?;
    users.lines().find_map(|line| {
        let mut fields = line.split(':');
        (fields.next()? == name).then(|| fields.nth(1)?.parse().ok())?
    })
}

/// The ids of the user `name` and of its primary group.
pub fn user_ids(root: &Root, name: &str) -> Option<(u32, u32)> {
    let users = root.read("etc/passwd").ok()?;
    users.lines().find_map(|line| {
        let mut fields = line.split(':');
        if fields.next()? != name {
            return None;
        }
        let uid = fields.nth(1)?.parse().ok()?;
        Some((uid, fields.next()?.parse().ok()?))
    })
}

/// Whether there is a group `name`.
pub fn is_group(root: &Root, name: &str) -> bool {
    members(root, name).is_some()
}

/// The ids of the groups of the user `name`, including the primary one.
pub fn of_user(root: &Root, name: &str) -> BTreeSet<u32> {
    let (users, groups) = (root.read("etc/passwd").unwrap_or_default(), root.read("etc/group").unwrap_or_default());
    let primary = users
        .lines()
        .filter(|line| line.split(':').next() == Some(name))
        .find_map(|line| line.split(':').nth(3)?.parse().ok());
    let others = groups.lines().filter_map(parse).filter(|line| line.members.split(',').any(|member| member == name));
    crate::sort::set(others.map(|line| line.gid).chain(primary))
}

/// The listed members of `group`; `None` when there is no such group.
pub fn members(root: &Root, group: &str) -> Option<Vec<String>> {
    let groups = root.read("etc/group").ok()?;
    let line = groups.lines().filter_map(parse).find(|line| line.name == group)?;
    Some(line.members.split(',').filter(|member| !member.is_empty()).map(str::to_owned).collect())
}

struct Line<'a> {
    name: &'a str,
    gid: u32,
    members: &'a str,
}

fn parse(line: &str) -> Option<Line<'_>> {
    let mut fields = line.split(':');
    let name = fields.next()?;
    let gid = fields.nth(1)?.parse().ok()?;
    Some(Line { name, gid, members: fields.next()? })
}
